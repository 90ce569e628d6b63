"""From evaluation form to standard form by duality: kernel values only, one column a row of the primal.

For  min 1/2 sum_f c_f ||f||^2 + p_f'f + 1/2 x'Wx + q'x   s.t.  A x + E f + g in K,  l <= x <= u  (c_f > 0) the
multipliers z in K* minimise

    1/2 sum_f 1/c_f ||E_f'z - p_f||_K^2 + 1/2 ||A'z - q + r||_{W^-1}^2 + g'z - l'r+ + u'r-,   r = r+ - r-

where strictly convex columns are eliminated (x = W^-1 (A'z - q + r)), a free linear column becomes the equality
A_j'z = q_j, one with a single bound an inequality (or a bound on z when it occurs in one row only), and one with both
bounds has r+, r- of its own. The dual's multipliers are the primal's columns, and
f = sum_p ((E_f'z - p_f)/c_f)_p K(x_p, .).

Without rows and bounds, stationary points of the one are stationary points of the other whatever the signs of W. With
Q the dual's Hessian and A its k equalities, Schur complements of one system give  negative(primal's reduced Hessian) =
negative(W) + positive(Q on the equalities) + k - (number of multipliers).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.compiled import Compiled, Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.inertia import Inertia
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.quadratic import Piece, Quadratic
from milopt.compilation.separation import Separated, has_cone, separated
from milopt.compilation.smallest_curvature import smallest_curvature
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import NONNEGATIVE, ZERO
from milopt.declaration.programs.semidefinite import is_semidefinite
from milopt.declaration.programs.sparse import from_parts, picked, scaled_rows, taken, transposed, widened, zeros
from milopt.errors import ConvexityError, UnsupportedError

MAX_SADDLE_POINTS = 2000
"""Points up to which a saddle's smallest eigenvalue is found: beyond, it would cost as much as the solution did."""

SMALLEST_DEFINITE_PIVOT = 1e-10
"""Pivots of a Cholesky factor, in proportion to the diagonal, above which a matrix is positive definite."""


def dual_refusal(form: EvaluationForm, stationary: bool = False) -> str | None:
    """Why the dual cannot be formed, or None; `stationary`: its stationary points are wanted, minima or not."""
    for space, ridge in zip(form.spaces, form.objective.ridge, strict=True):
        if ridge <= 0:
            return f"The dual needs ||{space.function.name}||^2 in the objective with a positive weight."
    if has_cone(form):
        return f"The dual of a program with {form.conic[0][1].cone.words}s is not formed; use coordinates."
    if form.integer.any():
        return "A program with integer variables has no dual of this kind."
    free = not form.rows.count and not np.isfinite(form.lower).any() and not np.isfinite(form.upper).any()
    enough = _is_regular if stationary and free else _is_definite
    if not all(enough(square.weight) for square in form.objective.squares):
        return "The dual needs strictly convex squares; one has a zero, negative or singular weight."
    return None


class Dual(Compiled):
    """The dual over the active rows; columns are their multipliers, then r+ and r- where they are needed."""

    def __init__(self, source: EvaluationForm, spaces: Sequence[KernelSpace], active: Index) -> None:
        reason = dual_refusal(source, stationary=True)
        if reason is not None:
            raise UnsupportedError(reason)
        self.source = source
        self.spaces = list(spaces)
        self.active = active
        self.primal = separated(source, active)
        self._A = self.primal.rows.A.tocsc()
        self._pulls = from_parts(self._A.data, self._A.indices, self._A.indptr, self._A.shape[::-1])
        self._classify()
        self.form = self._standard_form()

    # -- which column of the primal becomes what -----------------------------------------------------------------

    def _classify(self) -> None:
        s = self.primal
        low, high, linear = np.isfinite(s.lower), np.isfinite(s.upper), s.is_linear
        both = low & high
        self._low = np.flatnonzero(low & (~linear | both))
        self._high = np.flatnonzero(high & (~linear | both))
        one_sided = linear & (low ^ high)
        # A column that occurs in one row only bounds that row's multiplier; a second such column stays a row.
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
    def _rows(self) -> int:
        return self.primal.rows.count

    @property
    def _width(self) -> int:
        return int(self._rows + self._low.size + self._high.size)

    def _standard_form(self) -> StandardForm:
        s = self.primal
        one = np.flatnonzero(self._one_sided)
        at = np.zeros(s.n)
        at[one] = np.where(np.isfinite(s.lower), s.lower, s.upper)[one]
        q = np.concatenate([s.rows.g + self._A @ at, -s.lower[self._low], s.upper[self._high]])
        pieces, linear, constant = self._quadratic()
        blocks, F, g = self._constraints()
        lower, upper = self._bounds()
        return StandardForm(
            name=f"{self.source.name} (dual)",
            P=Quadratic(self._width, pieces),
            q=q + linear,
            constant=constant - float(at @ s.q) - s.constant,
            F=F,
            g=g,
            lower=lower,
            upper=upper,
            integer=np.zeros(self._width, dtype=bool),
            columns=self._columns(),
            rows=blocks,
            maximize=not self.source.maximize,
            known_convex=True,
        )

    def _bounds(self) -> tuple[Vector, Vector]:
        s = self.primal
        lower = np.where(s.equality, -np.inf, 0.0)
        upper = np.full(self._rows, np.inf)
        entry = self._A.data[self._A.indptr[self._bounding]]
        limit = s.q[self._bounding] / entry
        # x_j >= l gives q_j - a z_i >= 0, and x_j <= u gives a z_i - q_j >= 0.
        above = (entry > 0) == np.isfinite(s.lower[self._bounding])
        row = self._bounded_row
        upper[row[above]] = limit[above]
        lower[row[~above]] = np.maximum(lower[row[~above]], limit[~above])
        extra = self._width - self._rows
        return np.concatenate([lower, np.zeros(extra)]), np.concatenate([upper, np.full(extra, np.inf)])

    def _quadratic(self) -> tuple[tuple[Piece, ...], Vector, float]:
        """Kernel norms and eliminated columns: (pieces, linear part, constant)."""
        s, o = self.primal, self.source.objective
        pieces: list[Piece] = []
        linear, constant = np.zeros(self._width), 0.0
        own_rows = s.rows.count == self.active.size
        for k, (space, e, p, ridge) in enumerate(zip(self.spaces, s.rows.E, o.p, o.ridge, strict=True)):
            met = p != 0.0
            met[e.indices] = True
            used = np.flatnonzero(met)
            if own_rows and used.size > e.shape[0] and not p.any():
                unit = picked(np.arange(e.shape[0]), self._width)
                product = space.reduced(self.source.rows.E[k], self.active)
                _check_kernel(space, product)
                pieces.append(Piece(unit, product if ridge == 1 else product / ridge))
            elif used.size:
                square = space.square(used)
                _check_kernel(space, square.gram)
                weight = square.gram if ridge == 1 else square.gram / ridge
                pieces.append(Piece(widened(_used_columns(e, square.points), self._width), weight))
                if p.any():
                    target = weight @ p[square.points]
                    linear -= transposed(pieces[-1].rows) @ target
                    constant += 0.5 * float(p[square.points] @ target)
        for group in s.groups:
            pieces.append(Piece(self._pull(group.columns), group.inverse))
            target = group.times(s.q[group.columns])
            linear -= transposed(pieces[-1].rows) @ target
            constant += 0.5 * float(s.q[group.columns] @ target)
        return tuple(pieces), linear, constant

    def _pull(self, columns: Index) -> sp.csr_array:
        """A_j'z + r+_j - r-_j for some columns, over the dual's columns."""
        main = widened(taken(self._pulls, columns), self._width)
        if not self._low.size and not self._high.size:
            return main
        low, high = np.searchsorted(self._low, columns), np.searchsorted(self._high, columns)
        has_low, has_high = np.isin(columns, self._low), np.isin(columns, self._high)
        at = np.concatenate([self._rows + low[has_low], self._rows + self._low.size + high[has_high]])
        data = np.concatenate([np.ones(has_low.sum()), -np.ones(has_high.sum())])
        place = np.concatenate([np.flatnonzero(has_low), np.flatnonzero(has_high)])
        extra = sp.csr_array((data, (place, at)), shape=(columns.size, self._width))
        return sp.csr_array(main + extra)

    def _constraints(self) -> tuple[tuple[RowBlock, ...], sp.csr_array, Vector]:
        """q_j - A_j'z - r+_j + r-_j in {0} or R+, block by block; with the other sign for an upper bound alone."""
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
        F = scaled_rows(self._pull(index), -sign) if index.size else zeros(0, self._width)
        return tuple(blocks), F, sign * s.q[index]

    def _columns(self) -> tuple[ColumnBlock, ...]:
        middle = self._rows + self._low.size
        bounds = (ColumnBlock("lower", self._rows, middle), ColumnBlock("upper", middle, self._width))
        return (*self.primal.row_columns, *(block for block in bounds if block.size))

    # -- the way back --------------------------------------------------------------------------------------------

    def recover(self, x: Vector, z: Vector | None) -> Point:
        """The dual's columns are the primal's multipliers, its multipliers the primal's columns."""
        s, o = self.primal, self.source.objective
        multipliers = x[: self._rows]
        coefficients = tuple(
            np.asarray(transposed(e) @ multipliers - p) / ridge
            for e, p, ridge in zip(s.rows.E, o.p, o.ridge, strict=True)
        )
        primal = np.zeros(s.n)
        for group in s.groups:
            primal[group.columns] = group.times(self._pull(group.columns) @ x - s.q[group.columns])
        if z is not None:
            self._recover_linear(primal, x, z, s)
        full = np.zeros(self.source.rows.count)
        full[self.active] = multipliers[: self.active.size]
        return Point(primal[: self.source.n], coefficients, full)

    def inertia(self, found: Inertia) -> Inertia | None:
        """See the module; only where there are no rows, whose dependence on each other would count too."""
        s, form = self.primal, self.source
        if form.rows.count:
            return None
        count = self._rows
        equalities = count - found.positive - found.zero - found.negative
        negative = sum(_negatives(group.inverse) for group in s.groups) + found.positive + equalities - count
        zero = found.zero + int(self._equality.sum()) - equalities
        size = sum(space.count for space in self.spaces) + form.n
        small = negative and sum(space.count for space in self.spaces) <= MAX_SADDLE_POINTS
        smallest = smallest_curvature(form, self.spaces) if small else None
        return Inertia(size - zero - negative, zero, negative, smallest)

    def _recover_linear(self, primal: Vector, x: Vector, z: Vector, s: Separated) -> None:
        index = self._row_columns
        has_lower = np.isfinite(s.lower[index])
        moved = np.where(has_lower, s.lower[index] + z, s.upper[index] - z)
        primal[index] = np.where(self._equality[index], z, moved)
        # The reduced cost of a bounded multiplier is the distance of the column that bounds it from its own bound.
        j, i = self._bounding, self._bounded_row
        if not j.size:
            return
        reduced = (self.form.P.times(x) + self.form.q - self.form.F.T @ z)[i]
        distance = -reduced / self._A.data[self._A.indptr[j]]
        low = np.isfinite(s.lower[j])
        base = np.where(low, s.lower[j], s.upper[j])
        primal[j] = base + np.where(low, np.maximum(distance, 0.0), np.minimum(distance, 0.0))


def _used_columns(matrix: sp.csr_array, used: Index) -> sp.csr_array:
    """The transpose without the columns of zeros; `used` are the others, or more, in order."""
    shape = (matrix.shape[0], used.size)
    kept = from_parts(matrix.data, np.searchsorted(used, matrix.indices), matrix.indptr, shape)
    return transposed(kept).tocsr()


def _check_kernel(space: KernelSpace, gram: npt.NDArray[np.float64]) -> None:
    if not space.is_known_semidefinite and not is_semidefinite(gram):
        smallest = float(np.linalg.eigvalsh(gram)[0])
        if smallest < -1e-9 * float(np.abs(gram).max(initial=0.0)):
            raise ConvexityError(space.indefinite(gram))


def _is_regular(weight: npt.NDArray[np.float64]) -> bool:
    return bool(weight.all()) if weight.ndim == 1 else _is_definite(weight)


def _negatives(inverse: npt.NDArray[np.float64]) -> int:
    return int((inverse < 0).sum()) if inverse.ndim == 1 else 0


def _is_definite(weight: npt.NDArray[np.float64]) -> bool:
    """Return True if a weight is positive definite beyond rounding, so that it can be inverted.

    A singular matrix may have a Cholesky factor, with a last pivot of rounding errors. The pivots are therefore
    compared with the diagonal, column by column.
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
    return bool((np.diagonal(factor) ** 2 > SMALLEST_DEFINITE_PIVOT * diagonal).all())
