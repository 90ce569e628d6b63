"""An evaluation form whose squares are separable: every other square r'Wr gets columns w = r of its own.

Then each column is strictly convex by itself (or within the group of one square), or linear: what the dual needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.compiled import row_blocks
from milopt.compilation.evaluation_form import EvaluationForm, Square
from milopt.compilation.quadratic import weighted
from milopt.compilation.rows import Rows, stack
from milopt.compilation.standard_form import ColumnBlock
from milopt.declaration.programs.sparse import picked


@dataclass(frozen=True)
class StrictGroup:
    """Columns with a positive definite curvature W, kept as its inverse (a vector when W is diagonal)."""

    columns: Index
    inverse: npt.NDArray[np.float64]

    def times(self, values: Vector) -> Vector:
        """W^-1 values."""
        return weighted(self.inverse, values)


@dataclass(frozen=True)
class Separated:
    """min 1/2 sum_groups x'Wx + q'x + functions + constant  s.t. rows in zero or non-negative cones, l <= x <= u."""

    rows: Rows
    equality: npt.NDArray[np.bool_]
    row_columns: tuple[ColumnBlock, ...]
    """The rows as columns of the dual."""
    lower: Vector
    upper: Vector
    q: Vector
    groups: tuple[StrictGroup, ...]
    columns: tuple[ColumnBlock, ...]
    constant: float

    @property
    def n(self) -> int:
        """How many columns."""
        return int(self.q.size)

    @property
    def is_linear(self) -> npt.NDArray[np.bool_]:
        """Per column, whether it has no curvature."""
        flags = np.ones(self.n, dtype=bool)
        for group in self.groups:
            flags[group.columns] = False
        return flags


def separated(form: EvaluationForm, active: Index) -> Separated:
    """The active rows (all of them in polyhedral cones) with separable squares."""
    o, n = form.objective, form.n
    q, constant, curvature = o.q.copy(), o.constant, np.zeros(n)
    moved: list[Square] = []
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
    parts = [form.rows.take(active).widened(width)]
    columns, groups = list(form.columns), []
    strict = np.flatnonzero(curvature)
    if strict.size:
        groups.append(StrictGroup(strict, 1.0 / curvature[strict]))
    start = n
    for k, square in enumerate(moved):
        count = square.rows.count
        minus = picked(np.arange(start, start + count), width, -1.0)
        rows = square.rows.widened(width)
        parts.append(Rows(sp.csr_array(rows.A + minus), rows.E, rows.g))
        weight = square.weight
        inverse = 1.0 / weight if weight.ndim == 1 else np.asarray(np.linalg.inv(weight), dtype=float)
        groups.append(StrictGroup(np.arange(start, start + count), inverse))
        columns.append(ColumnBlock(f"square{k}", start, start + count))
        names.append(ColumnBlock(f"square{k}", last, last + count))
        last += count
        start += count
    free = np.full(width - n, np.inf)
    return Separated(
        stack(parts),
        np.concatenate([form.equality[active], np.ones(width - n, dtype=bool)]),
        tuple(names),
        np.concatenate([form.lower, -free]),
        np.concatenate([form.upper, free]),
        np.concatenate([q, np.zeros(width - n)]),
        tuple(groups),
        tuple(columns),
        constant,
    )


def _is_separable(square: Square) -> bool:
    """One column a row, no evaluations, a diagonal weight."""
    one_each = bool((np.diff(square.rows.A.indptr) == 1).all())
    return square.weight.ndim == 1 and one_each and not any(e.nnz for e in square.rows.E)


def has_cone(form: EvaluationForm) -> bool:
    """Return True if a block of rows lies in a cone that is not polyhedral."""
    return bool(form.conic)
