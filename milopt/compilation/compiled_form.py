"""Base class of primal and dual forms: some rows of an evaluation form, in standard form, with a map for points."""

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
    """Values of the columns, functions and multipliers of an evaluation form."""

    x: Vector
    """Values of the columns."""
    coefficients: tuple[Vector, ...]
    """Per function f, its vector (see `KernelSpace`).

    It contains the weights w of the features of its kernel, f = <w, phi(.)>. If the kernel has no features, it contains
    kernel coefficients a, one per point of the function: f = sum_p a_p K(x_p, .).
    """
    z: Vector | None
    """Multipliers of all rows of the evaluation form; None if they are not known."""


class CompiledForm(ABC):
    """Program in standard form that is compiled from the `active` rows of an evaluation form."""

    form: StandardForm
    """The compiled program, for the solver."""
    active: Index
    """Indices of the rows of the evaluation form that `form` contains.

    Rows in non-polyhedral cones are always contained in `form`, whether or not they are listed here.
    """

    @abstractmethod
    def recover(self, x: Vector, z: Vector | None) -> PrimalDualPoint:
        """Return the point of the evaluation form that corresponds to the columns x and multipliers z of `form`."""

    def add_orthogonal_components(self, point: PrimalDualPoint, x: Vector) -> PrimalDualPoint | None:
        """Return `point` with the components of functions that the coordinates in `form` cannot represent.

        Return None if there are no such components. `point` must be the result of `recover` for `x`, the columns of
        `form`.
        """
        return None

    def convert_inertia(self, form_inertia: Inertia) -> Inertia | None:
        """Return the inertia of the evaluation form's reduced Hessian, given that of `form`; None if not known."""
        return form_inertia


def row_blocks(form: EvaluationForm, active: Index, start: int = 0) -> list[RowBlock]:
    """Return row blocks for the active rows, one per run of successive active rows of the same block.

    The first block begins at row `start`. If one row of a non-polyhedral cone is active, all rows of the cone must be
    active.
    """
    block_of = np.searchsorted(form.block_starts, active, side="right") - 1
    cuts = np.flatnonzero(block_of[1:] != block_of[:-1]) + 1
    result: list[RowBlock] = []
    for first, stop in pairwise([0, *cuts.tolist(), active.size]) if active.size else ():
        block = form.blocks[block_of[first]]
        local = active[first:stop] - form.block_starts[block_of[first]]
        instance = block.instance[local]
        shown = instance if (instance >= 0).any() else None
        sizes = None if block.cone.is_polyhedral else block.sizes
        declared = block.declared[local]
        place = (start + first, start + stop)
        result.append(RowBlock(block.name, block.cone, *place, declared=declared, instance=shown, sizes=sizes))
    return result


def split_polyhedral_rows(form: EvaluationForm, active: Index) -> tuple[Index, list[int]]:
    """Return (rows, blocks): the active rows in polyhedral cones, and the indices of all blocks in other cones.

    These blocks are returned whether their rows are active or not.
    """
    cones = [k for k, block in enumerate(form.blocks) if not block.cone.is_polyhedral]
    if not cones:
        return active, cones
    block_of = np.searchsorted(form.block_starts, active, side="right") - 1
    return active[~np.isin(block_of, cones)], cones
