"""A flat program made from some rows of an evaluation form, and the way back from its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from milopt.compilation.evaluation_form import EvaluationForm, Index
from milopt.compilation.quadratic import Vector
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.cones import SECOND_ORDER
from milopt.outcome.inertia import Inertia


@dataclass(frozen=True)
class Point:
    """A primal and dual point of an evaluation form: columns, kernel coefficients of each function, row multipliers."""

    x: Vector
    coefficients: tuple[Vector, ...]
    z: Vector | None


class Compiled(ABC):
    """A standard form over the `active` rows of an evaluation form."""

    form: StandardForm
    active: Index

    @abstractmethod
    def recover(self, x: Vector, z: Vector | None) -> Point:
        """The evaluation form's point behind the standard form's answer."""

    def completed(self, point: Point, x: Vector) -> Point | None:
        """The point with what the standard form left out of it, where it left out something."""
        return None

    def inertia(self, found: Inertia) -> Inertia | None:
        """Of the evaluation form's reduced Hessian, from that of the standard form's; None where it does not tell."""
        return found


def row_blocks(form: EvaluationForm, active: Index, start: int = 0) -> list[RowBlock]:
    """Row blocks of active rows (none of a second-order cone), one for each run of rows of one block."""
    block_of = np.searchsorted(form.starts, active, side="right") - 1
    cuts = np.flatnonzero(block_of[1:] != block_of[:-1]) + 1
    result: list[RowBlock] = []
    for first, stop in pairwise([0, *cuts.tolist(), active.size]) if active.size else ():
        block = form.blocks[block_of[first]]
        local = active[first:stop] - form.starts[block_of[first]]
        instance = block.instance[local]
        shown = instance if (instance >= 0).any() else None
        result.append(RowBlock(block.name, block.cone, start + first, start + stop, block.declared[local], shown))
    return result


def split_cones(form: EvaluationForm, active: Index) -> tuple[Index, list[int]]:
    """The active rows outside second-order cones, and the blocks that are such cones (always whole)."""
    cones = [k for k, block in enumerate(form.blocks) if block.cone is SECOND_ORDER]
    if not cones:
        return active, cones
    block_of = np.searchsorted(form.starts, active, side="right") - 1
    return active[~np.isin(block_of, cones)], cones
