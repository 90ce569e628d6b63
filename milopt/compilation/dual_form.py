"""Dual form: the dual program in standard form, which contains functions only through their kernel matrices.

For

    min 1/2 sum_f c_f ||f||^2 + p_f'f + 1/2 x'Wx + q'x   s.t.  A x + E f + g in K,  l <= x <= u     (c_f > 0)

the multipliers z in K*, one per row, minimise (f stands for the vector of its values at its points, except in ||f||)

    1/2 sum_f 1/c_f ||E_f'z - p_f||_K^2 + 1/2 ||A'z - q + r||_{W^-1}^2 + g'z - l'r+ + u'r-,   r = r+ - r-

Here ||a||_K^2 = a'Ka with the kernel matrix K of the points of f, and r+ >= 0 and r- >= 0 are the reduced costs of the
lower and upper bounds. Columns with curvature (W_jj is not 0) are eliminated:  x = W^-1 (A'z - q + r).  The other
columns are linear, and their bounds decide what they become. A linear column j without bounds becomes the equality
A_j'z = q_j. A linear column with one bound becomes an inequality, or a bound on z_i if the column occurs in row i only.
A linear column with both bounds becomes the equality A_j'z + r+_j - r-_j = q_j, with r+_j and r-_j as columns of the
dual. The multipliers of the dual give the values of the linear columns, and  f = sum_p ((E_f'z - p_f)/c_f)_p K(x_p, .).

Without rows and bounds, both programs have the same stationary points, whatever the signs of W. Let Q be the Hessian of
the dual and k the number of its independent equalities. Two Schur complements of the same matrix give

    negative(reduced Hessian of the primal) = negative(W) + positive(Q on the null space of the equalities) + k - m,

where negative() and positive() count eigenvalues and m is the number of multipliers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.compiled_form import CompiledForm, PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.inertia import Inertia
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.separation import SeparableProgram, has_nonpolyhedral_cone, separate_squares
from milopt.compilation.smallest_curvature import smallest_curvature
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import NONNEGATIVE, ZERO
from milopt.declaration.kernels.gram import inner_products
from milopt.declaration.programs.semidefinite import is_semidefinite
from milopt.declaration.programs.sparse import (
    from_parts,
    scale_rows,
    selection_matrix,
    take_rows,
    transpose,
    widen,
    zeros,
)
from milopt.errors import ConvexityError, UnsupportedError

MAX_EIGENVALUE_POINTS = 2000
"""Largest number of points for which the smallest eigenvalue at a saddle point is computed.

For more points, computing the eigenvalue would take as long as solving the program.
"""

MIN_DEFINITE_PIVOT = 1e-10
"""Smallest squared pivot of a Cholesky factor, relative to the diagonal entry, of a positive definite matrix."""


def dual_unsupported_reason(form: EvaluationForm, stationary: bool = False) -> str | None:
    """Return the reason why an evaluation form has no dual form, or None if it has one.

    If `stationary` is True, the dual is used only to find stationary points; the entries of diagonal weights may then
    be negative, if there are no rows and no bounds.
    """
    for space, ridge in zip(form.spaces, form.objective.ridge, strict=True):
        if ridge <= 0:
            return f"The dual needs ||{space.function.name}||^2 in the objective with a positive weight."
    if has_nonpolyhedral_cone(form):
        cone = form.conic_blocks[0][1].cone
        return f"The dual of a program with {cone.display_name}s is not formed; use the primal form."
    if form.integer.any():
        return "A program with integer variables has no dual of this kind."
    free = not form.rows.count and not np.isfinite(form.lower).any() and not np.isfinite(form.upper).any()
    enough = _is_invertible if stationary and free else _is_definite
    if not all(enough(square.weight) for square in form.objective.squares):
        return "The dual needs strictly convex squares; one has a zero, negative or singular weight."
    return None


class DualForm(CompiledForm):
    """Dual program of the `active` rows of an evaluation form.

    The columns of the dual are the multipliers of these rows and of the rows s - w = 0 that `separate_squares` adds for
    squares s'Ws. They are followed by r+ and r-, the reduced costs of bounds, of some primal columns.
    """

    def __init__(self, source: EvaluationForm, spaces: Sequence[KernelSpace], active: Index) -> None:
        reason = dual_unsupported_reason(source, stationary=True)
        if reason is not None:
            raise UnsupportedError(reason)
        self.source = source
        self.spaces = list(spaces)
        self.active = active
        self.primal = separate_squares(source, active)
        self._A = self.primal.rows.A.tocsc()
        self._transpose = from_parts(self._A.data, self._A.indices, self._A.indptr, self._A.shape[::-1])
        self._classify_columns()
        self.form = self._standard_form()

    # -- from primal columns to dual rows and columns --------------------------------------------------------------

    def _classify_columns(self) -> None:
        """Classify primal columns by what they become in the dual.

        Columns with curvature are eliminated; linear columns become an equality, an inequality or a bound on a
        multiplier. Columns with curvature or with two bounds also have a dual column, r+ or r-, per finite bound.
        """
        s = self.primal
        low, high, linear = np.isfinite(s.lower), np.isfinite(s.upper), s.is_linear
        both = low & high
        self._lower_columns = np.flatnonzero(low & (~linear | both))
        self._upper_columns = np.flatnonzero(high & (~linear | both))
        one_sided = linear & (low ^ high)
        # A linear column that has one bound and occurs in a single row i becomes a bound on the multiplier z_i. Further
        # columns of this kind in the same row i become inequalities of the dual.
        alone = np.flatnonzero(one_sided & (np.diff(self._A.indptr) == 1))
        row = self._A.indices[self._A.indptr[alone]]
        _, first = np.unique(row, return_index=True)
        self._bounding = alone[first]
        self._bounded_row = row[first]
        self._inequality = one_sided.copy()
        self._inequality[self._bounding] = False
        self._one_sided = one_sided
        self._equality = linear & ((low & high) | (~low & ~high))

    @property
    def _row_count(self) -> int:
        """Number of primal rows (including the rows s - w = 0), which is the number of multipliers."""
        return self.primal.rows.count

    @property
    def _column_count(self) -> int:
        """Number of columns of the dual."""
        return int(self._row_count + self._lower_columns.size + self._upper_columns.size)

    def _standard_form(self) -> StandardForm:
        """Return the dual program in standard form."""
        s = self.primal
        one_sided = np.flatnonzero(self._one_sided)
        at = np.zeros(s.n)
        at[one_sided] = np.where(np.isfinite(s.lower), s.lower, s.upper)[one_sided]
        q = np.concatenate([s.rows.g + self._A @ at, -s.lower[self._lower_columns], s.upper[self._upper_columns]])
        pieces, linear, constant = self._quadratic_objective_parts()
        blocks, F, g = self._constraints()
        lower, upper = self._bounds()
        return StandardForm(
            name=f"{self.source.name} (dual)",
            P=Quadratic(self._column_count, pieces),
            q=q + linear,
            constant=constant - float(at @ s.q) - s.constant,
            F=F,
            g=g,
            lower=lower,
            upper=upper,
            integer=np.zeros(self._column_count, dtype=bool),
            columns=self._columns(),
            rows=blocks,
            maximize=not self.source.maximize,
            known_convex=True,
        )

    def _bounds(self) -> tuple[Vector, Vector]:
        """Return (lower, upper), the bounds of the columns of the dual."""
        s = self.primal
        lower = np.where(s.equality, -np.inf, 0.0)
        upper = np.full(self._row_count, np.inf)
        entry = self._A.data[self._A.indptr[self._bounding]]
        limit = s.q[self._bounding] / entry
        # x_j >= l gives q_j - a z_i >= 0, and x_j <= u gives a z_i - q_j >= 0.
        above = (entry > 0) == np.isfinite(s.lower[self._bounding])
        row = self._bounded_row
        upper[row[above]] = limit[above]
        lower[row[~above]] = np.maximum(lower[row[~above]], limit[~above])
        extra = self._column_count - self._row_count
        return np.concatenate([lower, np.zeros(extra)]), np.concatenate([upper, np.full(extra, np.inf)])

    def _quadratic_objective_parts(self) -> tuple[tuple[QuadraticPiece, ...], Vector, float]:
        """Return (pieces, linear, constant): what kernel norms and eliminated columns add to the objective of the dual.

        `pieces` add to its quadratic form P, `linear` to its vector q.
        """
        s, o = self.primal, self.source.objective
        pieces: list[QuadraticPiece] = []
        linear, constant = np.zeros(self._column_count), 0.0
        own_rows = s.rows.count == self.active.size
        for k, (space, e, p, ridge) in enumerate(zip(self.spaces, s.rows.E, o.p, o.ridge, strict=True)):
            met = p != 0.0
            met[e.indices] = True
            used = np.flatnonzero(met)
            if own_rows and used.size > e.shape[0] and not p.any():
                unit = selection_matrix(np.arange(e.shape[0]), self._column_count)
                product = space.combination_gram(self.source.rows.E[k], self.active)
                _check_kernel_semidefinite(space, product)
                pieces.append(QuadraticPiece(unit, product if ridge == 1 else product / ridge))
            elif space.features is not None and used.size > e.shape[0]:
                combined = space.features.combine(e)
                pieces.append(
                    QuadraticPiece(
                        selection_matrix(np.arange(e.shape[0]), self._column_count),
                        inner_products(combined, combined) / ridge,
                    )
                )
                target = space.from_points(p)
                linear[: e.shape[0]] -= np.asarray(combined @ target) / ridge
                constant += 0.5 * float(target @ target) / ridge
            elif used.size:
                square = space.symmetric_gram(used)
                _check_kernel_semidefinite(space, square.gram)
                weight = square.gram if ridge == 1 else square.gram / ridge
                pieces.append(
                    QuadraticPiece(widen(_transpose_used_columns(e, square.points), self._column_count), weight)
                )
                if p.any():
                    target = weight @ p[square.points]
                    linear -= transpose(pieces[-1].rows) @ target
                    constant += 0.5 * float(p[square.points] @ target)
        for group in s.groups:
            pieces.append(QuadraticPiece(self._dual_rows(group.columns), group.inverse))
            target = group.apply_inverse_weight(s.q[group.columns])
            linear -= transpose(pieces[-1].rows) @ target
            constant += 0.5 * float(s.q[group.columns] @ target)
        return tuple(pieces), linear, constant

    def _dual_rows(self, columns: Index) -> sp.csr_array:
        """Return the rows A_j'z + r+_j - r-_j, one per primal column j in `columns`, over the columns of the dual."""
        main = widen(take_rows(self._transpose, columns), self._column_count)
        if not self._lower_columns.size and not self._upper_columns.size:
            return main
        low, high = np.searchsorted(self._lower_columns, columns), np.searchsorted(self._upper_columns, columns)
        has_low, has_high = np.isin(columns, self._lower_columns), np.isin(columns, self._upper_columns)
        at = np.concatenate(
            [self._row_count + low[has_low], self._row_count + self._lower_columns.size + high[has_high]]
        )
        data = np.concatenate([np.ones(has_low.sum()), -np.ones(has_high.sum())])
        place = np.concatenate([np.flatnonzero(has_low), np.flatnonzero(has_high)])
        extra = sp.csr_array((data, (place, at)), shape=(columns.size, self._column_count))
        return sp.csr_array(main + extra)

    def _constraints(self) -> tuple[tuple[RowBlock, ...], sp.csr_array, Vector]:
        """Return (blocks, F, g) of the rows of the dual: q_j - A_j'z - r+_j + r-_j = 0 or >= 0 for linear columns j.

        The rows of columns that have only an upper bound are negated. As a side effect, `_row_columns` is set to the
        column j of each row.
        """
        s = self.primal
        blocks: list[RowBlock] = []
        chosen: list[Index] = [np.zeros(0, dtype=np.intp)]
        start = 0
        for column in s.columns:
            span = np.arange(column.start, column.stop)
            for flags, cone in ((self._equality, ZERO), (self._inequality, NONNEGATIVE)):
                mine = span[flags[span]]
                if mine.size:
                    chosen.append(mine)
                    stop = start + mine.size
                    blocks.append(RowBlock(column.name, cone, start, stop, declared=mine - column.start))
                    start = stop
        self._row_columns = np.concatenate(chosen)
        index = self._row_columns
        sign = np.where(self._inequality[index] & ~np.isfinite(s.lower[index]), -1.0, 1.0)
        F = scale_rows(self._dual_rows(index), -sign) if index.size else zeros(0, self._column_count)
        return tuple(blocks), F, sign * s.q[index]

    def _columns(self) -> tuple[ColumnBlock, ...]:
        """Return the column blocks of the dual."""
        middle = self._row_count + self._lower_columns.size
        bounds = (ColumnBlock("lower", self._row_count, middle), ColumnBlock("upper", middle, self._column_count))
        return (*self.primal.row_columns, *(block for block in bounds if block.size))

    # -- from dual points to primal points -------------------------------------------------------------------------

    def recover(self, x: Vector, z: Vector | None) -> PrimalDualPoint:
        """Return the primal point that corresponds to a point (x, z) of the dual.

        The first columns x of the dual are the multipliers of the primal; the functions f and the eliminated columns
        are computed from x. The linear columns of the primal are computed from the multipliers z of the dual; they are
        0 if `z` is None.
        """
        s, o = self.primal, self.source.objective
        multipliers = x[: self._row_count]
        coefficients = tuple(
            space.from_points(np.asarray(transpose(e) @ multipliers - p) / ridge)
            for space, e, p, ridge in zip(self.spaces, s.rows.E, o.p, o.ridge, strict=True)
        )
        primal = np.zeros(s.n)
        for group in s.groups:
            primal[group.columns] = group.apply_inverse_weight(self._dual_rows(group.columns) @ x - s.q[group.columns])
        if z is not None:
            self._recover_linear_columns(primal, x, z, s)
        full = np.zeros(self.source.rows.count)
        full[self.active] = multipliers[: self.active.size]
        return PrimalDualPoint(primal[: self.source.n], coefficients, full)

    def convert_inertia(self, form_inertia: Inertia) -> Inertia | None:
        """Return the inertia of the primal's reduced Hessian, given that of the dual (see the module docstring).

        Return None if the primal has rows, because linearly dependent rows would change the count.
        """
        s, form = self.primal, self.source
        if form.rows.count:
            return None
        count = self._row_count
        equalities = count - form_inertia.positive - form_inertia.zero - form_inertia.negative
        negative = (
            sum(_count_negative_weights(group.inverse) for group in s.groups)
            + form_inertia.positive
            + equalities
            - count
        )
        zero = form_inertia.zero + int(self._equality.sum()) - equalities
        size = sum(space.count for space in self.spaces) + form.n
        small = negative and sum(space.count for space in self.spaces) <= MAX_EIGENVALUE_POINTS
        smallest = smallest_curvature(form, self.spaces) if small else None
        return Inertia(size - zero - negative, zero, negative, smallest)

    def _recover_linear_columns(self, primal: Vector, x: Vector, z: Vector, s: SeparableProgram) -> None:
        """Set the entries of `primal` that are linear columns of `s`, in place, from a point (x, z) of the dual."""
        index = self._row_columns
        has_lower = np.isfinite(s.lower[index])
        moved = np.where(has_lower, s.lower[index] + z, s.upper[index] - z)
        primal[index] = np.where(self._equality[index], z, moved)
        # If column j became a bound on z_i, then x_j minus its own bound is the reduced cost of z_i divided by -A_ij.
        j, i = self._bounding, self._bounded_row
        if not j.size:
            return
        reduced = (self.form.P.times(x) + self.form.q - self.form.F.T @ z)[i]
        distance = -reduced / self._A.data[self._A.indptr[j]]
        low = np.isfinite(s.lower[j])
        base = np.where(low, s.lower[j], s.upper[j])
        primal[j] = base + np.where(low, np.maximum(distance, 0.0), np.minimum(distance, 0.0))


def _transpose_used_columns(matrix: sp.csr_array, used: Index) -> sp.csr_array:
    """Return the transpose of the columns `used` (ascending) of a matrix; all its other columns must be zero."""
    shape = (matrix.shape[0], used.size)
    kept = from_parts(matrix.data, np.searchsorted(used, matrix.indices), matrix.indptr, shape)
    return transpose(kept).tocsr()


def _check_kernel_semidefinite(space: KernelSpace, gram: npt.NDArray[np.float64]) -> None:
    """Raise a `ConvexityError` if a Gram matrix has a negative eigenvalue that is not a rounding error.

    Gram matrices of kernels that guarantee positive semidefinite Gram matrices are not checked.
    """
    if not space.is_known_semidefinite and not is_semidefinite(gram):
        smallest = float(np.linalg.eigvalsh(gram)[0])
        if smallest < -1e-9 * float(np.abs(gram).max(initial=0.0)):
            raise ConvexityError(space.indefinite_message(gram))


def _is_invertible(weight: npt.NDArray[np.float64]) -> bool:
    """Return True if a diagonal weight has no zero entry, or if a matrix weight is positive definite."""
    return bool(weight.all()) if weight.ndim == 1 else _is_definite(weight)


def _count_negative_weights(inverse: npt.NDArray[np.float64]) -> int:
    """Return the number of negative entries of a diagonal weight, given its inverse; 0 for a definite matrix."""
    return int((inverse < 0).sum()) if inverse.ndim == 1 else 0


def _is_definite(weight: npt.NDArray[np.float64]) -> bool:
    """Return True if a weight is positive definite, by more than rounding errors, so that it can be inverted.

    The Cholesky factorisation of a singular matrix may succeed, with a last pivot that consists of rounding errors.
    Therefore each squared pivot is compared with its diagonal entry.
    """
    if weight.ndim == 1:
        return bool((weight > 0).all())
    diagonal = np.diagonal(weight)
    if (diagonal <= 0).any():
        return False
    try:
        factor = np.linalg.cholesky(weight)
    except np.linalg.LinAlgError:
        return False
    return bool((np.diagonal(factor) ** 2 > MIN_DEFINITE_PIVOT * diagonal).all())
