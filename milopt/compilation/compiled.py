"""A flat program made from some rows of an evaluation form, and the way back from its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from milopt.arrays import Index, Vector
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.inertia import Inertia
from milopt.compilation.standard_form import RowBlock, StandardForm


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
    """Return row blocks of active rows, one for each run of rows of one block; cones are whole if not polyhedral."""
    block_of = np.searchsorted(form.starts, active, side="right") - 1
    cuts = np.flatnonzero(block_of[1:] != block_of[:-1]) + 1
    result: list[RowBlock] = []
    for first, stop in pairwise([0, *cuts.tolist(), active.size]) if active.size else ():
        block = form.blocks[block_of[first]]
        local = active[first:stop] - form.starts[block_of[first]]
        instance = block.instance[local]
        shown = instance if (instance >= 0).any() else None
        sizes = None if block.cone.is_polyhedral else block.sizes
        declared = block.declared[local]
        place = (start + first, start + stop)
        result.append(RowBlock(block.name, block.cone, *place, declared=declared, instance=shown, sizes=sizes))
    return result


def split_cones(form: EvaluationForm, active: Index) -> tuple[Index, list[int]]:
    """Return the active rows in polyhedral cones, and the blocks of other cones, which are always whole."""
    cones = [k for k, block in enumerate(form.blocks) if not block.cone.is_polyhedral]
    if not cones:
        return active, cones
    block_of = np.searchsorted(form.starts, active, side="right") - 1
    return active[~np.isin(block_of, cones)], cones
