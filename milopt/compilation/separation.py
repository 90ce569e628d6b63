"""Evaluation form with separable squares: a square s'Ws that is not separable becomes w'Ww with new columns w = s.

A square is separable if its weight is diagonal and each of its rows consists of one column and a constant. After this
change, every column is linear, has a curvature of its own, or belongs to the columns w of exactly one square, as the
dual form requires.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.compiled_form import row_blocks
from milopt.compilation.evaluation_form import EvaluationForm, SquaredTerm
from milopt.compilation.quadratic import apply_weight
from milopt.compilation.rows import Rows, stack_affine_rows
from milopt.compilation.standard_form import ColumnBlock
from milopt.declaration.programs.sparse import selection_matrix


@dataclass(frozen=True)
class StrictGroup:
    """Group of columns with the term 1/2 x'Wx; `inverse` is the inverse of W, or its diagonal if W is diagonal."""

    columns: Index
    inverse: npt.NDArray[np.float64]

    def apply_inverse_weight(self, values: Vector) -> Vector:
        """Return W^-1 times `values`."""
        return apply_weight(self.inverse, values)


@dataclass(frozen=True)
class SeparableProgram:
    """Program with separable squares and rows in polyhedral cones.

        min 1/2 sum_groups x'Wx + q'x + constant   s.t.   rows in zero or non-negative cones,   lower <= x <= upper

    Functions occur in the rows; their terms in the objective are those of the evaluation form and are not stored here.
    """

    rows: Rows
    equality: npt.NDArray[np.bool_]
    """Per row, True if it is an equation (lies in the zero cone)."""
    row_columns: tuple[ColumnBlock, ...]
    """Blocks of rows, described as column blocks, because each row is a column of the dual."""
    lower: Vector
    upper: Vector
    q: Vector
    groups: tuple[StrictGroup, ...]
    columns: tuple[ColumnBlock, ...]
    constant: float

    @property
    def n(self) -> int:
        """Number of columns."""
        return int(self.q.size)

    @property
    def is_linear(self) -> npt.NDArray[np.bool_]:
        """Per column, True if the column is in no group and therefore has no curvature."""
        flags = np.ones(self.n, dtype=bool)
        for group in self.groups:
            flags[group.columns] = False
        return flags


def separate_squares(form: EvaluationForm, active: Index) -> SeparableProgram:
    """Return the separable program of the active rows, all of which must lie in polyhedral cones.

    The rows s - w = 0 that define the new columns w follow the active rows.
    """
    o, n = form.objective, form.n
    q, constant, curvature = o.q.copy(), o.constant, np.zeros(n)
    moved: list[SquaredTerm] = []
    for square in o.squares:
        if not _is_separable(square):
            moved.append(square)
            continue
        column, entry, offset = square.rows.A.indices, square.rows.A.data, square.rows.g
        np.add.at(curvature, column, square.weight * entry**2)
        np.add.at(q, column, square.weight * entry * offset)
        constant += 0.5 * float(square.weight @ offset**2)
    extra = [s.rows.count for s in moved]
    width = n + sum(extra)
    blocks = row_blocks(form, active)
    names = [ColumnBlock(b.name, b.start, b.stop, declared=b.declared, instance=b.instance) for b in blocks]
    last = int(active.size)
    parts = [form.rows.take(active).widen(width)]
    columns, groups = list(form.columns), []
    strict = np.flatnonzero(curvature)
    if strict.size:
        groups.append(StrictGroup(strict, 1.0 / curvature[strict]))
    start = n
    for k, square in enumerate(moved):
        count = square.rows.count
        minus = selection_matrix(np.arange(start, start + count), width, -1.0)
        rows = square.rows.widen(width)
        parts.append(Rows(sp.csr_array(rows.A + minus), rows.E, rows.g))
        weight = square.weight
        inverse = 1.0 / weight if weight.ndim == 1 else np.asarray(np.linalg.inv(weight), dtype=float)
        groups.append(StrictGroup(np.arange(start, start + count), inverse))
        columns.append(ColumnBlock(f"square{k}", start, start + count))
        names.append(ColumnBlock(f"square{k}", last, last + count))
        last += count
        start += count
    free = np.full(width - n, np.inf)
    return SeparableProgram(
        stack_affine_rows(parts),
        np.concatenate([form.is_equality[active], np.ones(width - n, dtype=bool)]),
        tuple(names),
        np.concatenate([form.lower, -free]),
        np.concatenate([form.upper, free]),
        np.concatenate([q, np.zeros(width - n)]),
        tuple(groups),
        tuple(columns),
        constant,
    )


def _is_separable(square: SquaredTerm) -> bool:
    """Return True if the weight of a square is diagonal and each row has exactly one column and no function value."""
    one_each = bool((np.diff(square.rows.A.indptr) == 1).all())
    return square.weight.ndim == 1 and one_each and not any(e.nnz for e in square.rows.E)


def has_nonpolyhedral_cone(form: EvaluationForm) -> bool:
    """Return True if any block of rows of the form lies in a non-polyhedral cone."""
    return bool(form.conic_blocks)
