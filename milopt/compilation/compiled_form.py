"""Base class of compiled forms: some rows of an evaluation form in standard form, with a map back for points."""

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
class PrimalDualPoint:
    """Primal-dual point of an evaluation form."""

    x: Vector
    """Values of the columns."""
    coefficients: tuple[Vector, ...]
    """Per function, its vector (see `KernelSpace`).

    It contains the weights w of the features of its kernel, f = <w, phi(.)>, or, if the kernel has none, coefficients a
    over all its points, f = sum_p a_p K(x_p, .).
    """
    z: Vector | None
    """Multipliers of all rows; None if they are not known."""


class CompiledForm(ABC):
    """Standard form (called the flat form) of the `active` rows of an evaluation form."""

    form: StandardForm
    """Program in standard form, for the solver."""
    active: Index
    """Rows of the evaluation form in the flat form; rows in non-polyhedral cones, always present, may be left out."""

    @abstractmethod
    def recover(self, x: Vector, z: Vector | None) -> PrimalDualPoint:
        """Return the point of the evaluation form that corresponds to a point (x, z) of the flat form."""

    def complete(self, point: PrimalDualPoint, x: Vector) -> PrimalDualPoint | None:
        """Return `point` with the components of functions that the flat form omits; None if it omits none.

        `point` must have been recovered from `x`, the columns of the flat form.
        """
        return None

    def convert_inertia(self, flat_inertia: Inertia) -> Inertia | None:
        """Return the inertia of the evaluation form's reduced Hessian from that of the flat form; None if unknown."""
        return flat_inertia


def row_blocks(form: EvaluationForm, active: Index, start: int = 0) -> list[RowBlock]:
    """Return row blocks for the active rows, one per run of successive active rows of the same block.

    The first block begins at row `start`. If a row of a non-polyhedral cone is active, all rows of the cone must be.
    """
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
    """Return the active rows in polyhedral cones, and the indices of all blocks in other cones, active or not."""
    cones = [k for k, block in enumerate(form.blocks) if not block.cone.is_polyhedral]
    if not cones:
        return active, cones
    block_of = np.searchsorted(form.starts, active, side="right") - 1
    return active[~np.isin(block_of, cones)], cones
