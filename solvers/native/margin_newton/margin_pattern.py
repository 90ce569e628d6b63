"""Recognise margin programs among evaluation forms, and convert their answers back.

An evaluation form is a margin program if

* it has one function f with a positive weight of ||f||^2, no other term in f, and a kernel with explicit features;
  a kernel without features is allowed if there is a bias, and if there are at most `MAX_FACTORISED_POINTS` points
  (or rows, if they are few, as in programs with one row per bag);
* every row is an inequality with one slack column, which has a positive coefficient; the slack column of a row is the
  column with the fewest entries among those with positive coefficients only;
* a slack column has no upper bound, and the cost  q xi + W/2 xi^2  with q >= 0 or W > 0 and, if W = 0, a lower bound;
* of the other columns in rows, all are free and without linear cost, and at most one is not regularised by a square:
  the bias.

A row is  a xi + E f + e b + g >= 0  with the slack xi and the bias b. Let l be the least minimiser of the cost of xi
within its bounds. The row then means  t = xi - l >= v = -(g + a l + E f + e b) / a,  and the cost of t is, up to a
constant,  (q + W l) t + W/2 t^2.  Other columns with a square are treated like coefficients of f.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.cones import NONNEGATIVE
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.programs.sparse import row_lengths, scale_rows, take_rows, transpose
from milopt.solvers.native.margin_newton.margin_newton import MarginAnswer
from milopt.solvers.native.margin_newton.margin_program import MarginProgram, MarginRows

MAX_FACTORISED_POINTS = 3000
"""Number of points or rows up to which the matrix of a kernel without features is factorised, in about one second."""
MIN_POINTS_PER_ROW = 4
"""Number of points per row from which the matrix of the rows is factorised, and not the one of the points."""


@dataclass(frozen=True)
class MarginColumns:
    """Roles of the columns of an evaluation form that is a margin program."""

    slack_of_row: Index
    """Slack column of each row."""
    coefficient: Vector
    """Coefficient of the slack column in each row."""
    floor: Vector
    """Per column, the smallest value worth taking if it is a slack; 0 for other columns."""
    curvature: Vector
    """Per column, W in its term W/2 x_j^2 of the objective."""
    regularised: Index
    """Columns with a square that are in rows and are not slacks."""
    bias: int
    """The free column without a square, -1 if there is none."""


def margin_columns(form: EvaluationForm) -> MarginColumns | None:
    """Return the roles of the columns, or None if the form is not a margin program."""
    o = form.objective
    if len(form.spaces) != 1 or form.integer.any() or o.ridge[0] <= 0 or o.p[0].any() or not form.rows.count:
        return None
    if any(block.cone is not NONNEGATIVE for block in form.blocks if block.count):
        return None
    if not _has_cheap_coordinates(form):
        return None
    curvature = _column_curvature(form)
    if curvature is None:
        return None
    slacks = _slack_entries(form, curvature)
    if slacks is None:
        return None
    entry, slack_of_row = slacks
    is_slack = np.zeros(form.n, dtype=bool)
    is_slack[slack_of_row] = True
    A = form.rows.A
    others = np.ones(A.nnz, dtype=bool)
    others[entry] = False
    shared = np.unique(A.indices[others & (A.data != 0)])
    if is_slack[shared].any():
        return None
    is_free = (form.lower[shared] == -np.inf) & (form.upper[shared] == np.inf) & (o.q[shared] == 0)
    plain = shared[curvature[shared] == 0]
    if not is_free.all() or plain.size > 1:
        return None
    unused = np.ones(form.n, dtype=bool)
    unused[shared] = False
    floor = _least_minimisers(form, curvature)
    if not np.isfinite(floor[unused]).all():
        return None
    bias = int(plain[0]) if plain.size else -1
    if bias < 0 and not form.spaces[0].function.kernel.has_features:
        return None  # The dual is a QP with bounds only, for which native has a faster algorithm.
    regularised = shared[curvature[shared] > 0].astype(np.intp)
    return MarginColumns(slack_of_row, A.data[entry], np.where(unused, floor, 0.0), curvature, regularised, bias)


def has_few_rows(form: EvaluationForm) -> bool:
    """Return True if coordinates of the rows are much cheaper than coordinates of the points."""
    return form.rows.count * MIN_POINTS_PER_ROW <= form.spaces[0].count


def _has_cheap_coordinates(form: EvaluationForm) -> bool:
    """Return True if the kernel has features, or if the points or rows are few enough to factorise their matrix."""
    space = form.spaces[0]
    kernel = space.function.kernel
    size = form.rows.count if has_few_rows(form) else space.count
    return space.count > 0 and (kernel.has_features or (kernel.is_semidefinite and size <= MAX_FACTORISED_POINTS))


def _column_curvature(form: EvaluationForm) -> Vector | None:
    """Return W of the terms W/2 x_j^2 of the objective; None if it has other quadratic terms or a negative W."""
    curvature = np.zeros(form.n)
    for square in form.objective.squares:
        A = square.rows.A
        if square.weight.ndim != 1 or square.rows.g.any() or any(e.nnz for e in square.rows.E):
            return None
        if (row_lengths(A) > 1).any():
            return None
        met = np.flatnonzero(row_lengths(A))
        at = A.indptr[met]
        np.add.at(curvature, A.indices[at], square.weight[met] * A.data[at] ** 2)
    return None if (curvature < 0).any() else curvature


def _least_minimisers(form: EvaluationForm, curvature: Vector) -> Vector:
    """Return, per column, the smallest minimiser of q x + W/2 x^2 over its bounds; infinite if there is none."""
    q, lower = form.objective.q, form.lower
    curved = curvature > 0
    best = np.where(curved, -q / np.where(curved, curvature, 1.0), np.where(q < 0, np.inf, -np.inf))
    floor = np.maximum(lower, best)
    idle = (q == 0) & ~curved & (lower == -np.inf)
    return np.where(idle, np.minimum(0.0, form.upper), np.where(floor > form.upper, np.inf, floor))


def _slack_entries(form: EvaluationForm, curvature: Vector) -> tuple[Index, Index] | None:
    """Return the entry of A and the column that are the slack of each row; None if a row has none."""
    A = form.rows.A
    nonzero = A.data != 0
    usage = np.bincount(A.indices[nonzero], minlength=form.n)
    has_negative = np.zeros(form.n, dtype=bool)
    has_negative[A.indices[A.data < 0]] = True
    has_cost = (form.objective.q > 0) & np.isfinite(form.lower) | (curvature > 0) | np.isfinite(form.lower)
    allowed = ~has_negative & has_cost & (form.upper == np.inf)
    rank = np.where(allowed[A.indices] & nonzero, usage[A.indices], form.n + A.nnz + 1)
    lengths = np.diff(A.indptr)
    if not lengths.all():
        return None
    least = np.minimum.reduceat(rank, A.indptr[:-1])
    if (least > A.nnz + form.n).any():
        return None
    chosen: npt.NDArray[np.bool_] = rank == np.repeat(least, lengths)
    if (np.add.reduceat(chosen.astype(np.intp), A.indptr[:-1]) != 1).any():
        return None
    entry = np.flatnonzero(chosen)
    return entry, A.indices[entry].astype(np.intp)


@dataclass(frozen=True)
class MarginPattern:
    """Margin program recognised in an evaluation form, with the maps of rows and columns back to the form."""

    form: EvaluationForm
    columns: MarginColumns
    order: Index
    """Row of the form of each row of the program."""
    slacks: Index
    """Slack column of each group."""
    program: MarginProgram

    @classmethod
    def recognise(cls, form: EvaluationForm, features: FeatureRows, combinations: sp.csr_array) -> MarginPattern | None:
        """Return the form as a margin program, None if it is none; `combinations` of `features` are its rows."""
        roles = margin_columns(form)
        if roles is None:
            return None
        o, rows, ridge = form.objective, form.rows, form.objective.ridge[0]
        order = np.argsort(roles.slack_of_row, kind="stable").astype(np.intp)
        slacks, group_starts = np.unique(roles.slack_of_row[order], return_index=True)
        scale = roles.coefficient[order]
        floor = roles.floor[roles.slack_of_row[order]]
        A = take_rows(rows.A, order)
        bias = np.zeros(order.size) if roles.bias < 0 else _dense_column(A, roles.bias) / scale
        extra = None
        if roles.regularised.size:
            unit = np.sqrt(ridge / roles.curvature[roles.regularised])
            extra = sp.csr_array(scale_rows(A, 1.0 / scale)[:, roles.regularised] @ sp.diags_array(unit))
        program = MarginProgram(
            MarginRows(features, scale_rows(take_rows(combinations, order), 1.0 / scale), extra),
            -rows.g[order] / scale - floor,
            bias,
            roles.bias >= 0,
            np.append(group_starts, order.size).astype(np.intp),
            np.maximum(o.q[slacks] + roles.curvature[slacks] * roles.floor[slacks], 0.0) / ridge,
            roles.curvature[slacks] / ridge,
        )
        return cls(form, roles, order, slacks.astype(np.intp), program)

    def point(self, answer: MarginAnswer, space: KernelSpace) -> PrimalDualPoint:
        """Return the point of the evaluation form with the multipliers of all rows.

        `space` is the space of the program's function.
        """
        form, roles, ridge = self.form, self.columns, self.form.objective.ridge[0]
        z = np.zeros(form.rows.count)
        z[self.order] = ridge * answer.a / roles.coefficient[self.order]
        x = roles.floor.copy()
        x[self.slacks] += np.maximum(answer.maxima, 0.0)
        if roles.bias >= 0:
            x[roles.bias] = answer.b
        if roles.regularised.size:
            more = answer.w[-roles.regularised.size :]
            x[roles.regularised] = more * np.sqrt(ridge / roles.curvature[roles.regularised])
        if space.features is not None:
            return PrimalDualPoint(x, (answer.w[: space.size].copy(),), z)
        return PrimalDualPoint(x, (np.asarray(transpose(form.rows.E[0]) @ z) / ridge,), z)


def _dense_column(A: sp.csr_array, column: int) -> Vector:
    """Return a column of a sparse matrix as a vector."""
    result = np.zeros(A.shape[0])
    at = np.flatnonzero(A.indices == column)
    np.add.at(result, np.searchsorted(A.indptr, at, side="right") - 1, A.data[at])
    return result
