"""Linear programs with few rows or columns:  min q'x  s.t.  A x + g = 0 or >= 0,  lower <= x <= upper.

The bounded-variable simplex method on a dense dictionary (see `tableau`) that is kept between solves. New rows, new
columns, new costs and new offsets keep the basis, and the next solve starts from this basis. Rows and columns are
scaled by powers of two so that their largest entries are near 1, and the costs by their largest entry. A pivot costs
O(mn), so the method is meant for up to a few hundred rows or columns.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index, Mask, Matrix, Vector
from milopt.compilation.status import Termination
from milopt.interrupt import call_on_interrupt
from milopt.solvers.native.dense_simplex import driver as driver
from milopt.solvers.native.dense_simplex.changes import append_column, append_row, bring_row_into_basis, refactorise
from milopt.solvers.native.dense_simplex.tableau import (
    COLUMNS,
    HIGH,
    LOW,
    PRICE,
    ROWS,
    empty_tableau,
    primal_values,
    row_multipliers,
)

VariableNames = npt.NDArray[np.int64]

ENTRIES_PER_CHUNK = 20_000_000
"""Number of entries of T that pivots update between checks of the clock and of Ctrl-C, about 10 ms of work."""
TABLEAU_SCALING_PASSES = 4
"""Number of passes of the scaling of rows and columns."""


@dataclass(frozen=True)
class SimplexVertex:
    """Result of a solve: x and the multipliers z of the rows at the last basis.

    Both are None if the program is infeasible or unbounded.
    """

    termination: Termination
    reason: str
    x: Vector | None
    z: Vector | None
    pivots: int = 0
    interrupted: bool = False
    """Whether Ctrl-C ended the solve."""


class DenseSimplex:
    """A linear program (see the module docstring) with its simplex dictionary and its basis."""

    def __init__(self, A: Matrix, g: Vector, equality: Mask, q: Vector, lower: Vector, upper: Vector) -> None:
        m, n = A.shape
        self._row_scales, self._column_scales = _row_and_column_scales(A)
        self._cost_scale_factor = _cost_scale(q * self._column_scales)
        self._empty_columns = int(np.sum((lower > upper) | (lower == np.inf) | (upper == -np.inf)))
        self.tableau = t = empty_tableau(m + 16, n + 8)
        t.size[[ROWS, COLUMNS]] = m, n
        t.A[:m, :n] = t.T[:m, :n] = self._row_scales[:, None] * A * self._column_scales
        t.g[:m] = self._row_scales * g
        t.q[:n] = t.columns[PRICE, :n] = q * self._column_scales / self._cost_scale_factor
        t.basic[:m], t.nonbasic[:n] = ~np.arange(m), np.arange(n)
        t.rows[HIGH, :m] = np.where(equality, 0.0, np.inf)
        scaled_lower, scaled_upper = lower / self._column_scales, upper / self._column_scales
        below, above = np.isfinite(scaled_lower), np.isfinite(scaled_upper)
        low = below & (~above | (q > 0.0) | ((q == 0.0) & (np.abs(lower) <= np.abs(upper))))
        t.columns[:3, :n] = np.where(low, scaled_lower, np.where(above, scaled_upper, 0.0)), scaled_lower, scaled_upper

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return int(self.tableau.size[ROWS])

    @property
    def column_count(self) -> int:
        """Number of columns."""
        return int(self.tableau.size[COLUMNS])

    # -- changes -------------------------------------------------------------------------------------------------------

    def set_costs(self, q: Vector) -> None:
        """Replace the costs of all columns."""
        before, self._cost_scale_factor = self._cost_scale_factor, _cost_scale(q * self._column_scales)
        self.tableau.q[: self.column_count] = q * self._column_scales / self._cost_scale_factor
        self.tableau.columns[PRICE, : self.column_count] *= before / self._cost_scale_factor

    def set_offsets(self, g: Vector) -> None:
        """Replace the offsets of all rows."""
        self.tableau.g[: self.row_count] = self._row_scales * g

    def add_rows(self, A: Matrix, g: Vector, equality: Mask) -> None:
        """Append the rows  A x + g = 0 (if marked in `equality`) or >= 0,  whose values become basic."""
        self._reserve_space(self.row_count + g.size, self.column_count)
        scaled = A * self._column_scales
        scale = _nearest_powers_of_two(1.0 / _max_abs(scaled, axis=1))
        self._row_scales = np.concatenate([self._row_scales, scale])
        for row, offset, factor, equal in zip(scaled, g.tolist(), scale.tolist(), equality.tolist(), strict=True):
            append_row(self.tableau, row * factor, offset * factor, 0.0, 0.0 if equal else math.inf)

    def add_columns(self, A: Matrix, q: Vector, lower: Vector, upper: Vector) -> None:
        """Append nonbasic columns with coefficients A (one row per row of the program), costs q and bounds."""
        self._reserve_space(self.row_count, self.column_count + q.size)
        scaled = A.T * self._row_scales
        scale = _nearest_powers_of_two(1.0 / _max_abs(scaled, axis=1))
        self._column_scales = np.concatenate([self._column_scales, scale])
        self._empty_columns += int(np.sum((lower > upper) | (lower == np.inf) | (upper == -np.inf)))
        costs, scaled_lower, scaled_upper = q * scale / self._cost_scale_factor, lower / scale, upper / scale
        for k, column in enumerate(scaled):
            append_column(
                self.tableau, column * scale[k], float(costs[k]), float(scaled_lower[k]), float(scaled_upper[k])
            )

    def replace_rows(self, index: Index, A: Matrix, g: Vector, equality: Mask) -> None:
        """Replace the coefficients A, the offsets g and the kinds (= or >=) of the rows in `index`.

        The dictionary is then computed again for the same basis.
        """
        t = self.tableau
        scaled = A * self._column_scales
        self._row_scales[index] = scale = _nearest_powers_of_two(1.0 / _max_abs(scaled, axis=1))
        t.A[index, : self.column_count] = scaled * scale[:, None]
        t.g[index] = g * scale
        high, new = np.zeros(self.row_count), np.zeros(self.row_count, dtype=bool)
        high[index], new[index] = np.where(equality, 0.0, np.inf), True
        for names, bounds in ((t.basic[: self.row_count], t.rows), (t.nonbasic[: self.column_count], t.columns)):
            place = np.flatnonzero(_is_marked_row(names, new))
            bounds[HIGH, place] = high[~names[place]]
        refactorise(t)

    def delete_rows(self, index: Index) -> None:
        """Delete the rows in `index`. Rows whose values are nonbasic (binding rows) first enter the basis."""
        t, m, n = self.tableau, self.row_count, self.column_count
        is_removed = np.zeros(m, dtype=bool)
        is_removed[index] = True
        leaves, binds = (
            _is_marked_row(t.basic[:m], is_removed),
            np.flatnonzero(_is_marked_row(t.nonbasic[:n], is_removed)),
        )
        # Without bounds, these rows cannot block a pivot.
        t.rows[LOW, :m][leaves], t.rows[HIGH, :m][leaves] = -np.inf, np.inf
        t.columns[LOW, binds], t.columns[HIGH, binds] = -np.inf, np.inf
        for j in binds.tolist():
            bring_row_into_basis(t, j)
        kept, rows = np.flatnonzero(~_is_marked_row(t.basic[:m], is_removed)), np.flatnonzero(~is_removed)
        for values in (t.T, t.basic, t.rows.T):
            values[: kept.size] = values[kept]
        for values in (t.A, t.g):
            values[: rows.size] = values[rows]
        self._row_scales = self._row_scales[rows]
        place = np.cumsum(~is_removed) - 1
        for names in (t.basic[: kept.size], t.nonbasic[:n]):
            named = names < 0
            names[named] = ~place[~names[named]]
        t.size[ROWS] = rows.size

    def _reserve_space(self, m: int, n: int) -> None:
        """Enlarge the arrays of the dictionary, if necessary, to have space for m rows and n columns."""
        old = self.tableau
        rows, columns = old.T.shape
        if m <= rows and n <= columns:
            return
        larger = empty_tableau(max(rows, m + m // 2 + 16), columns if n <= columns else n + n // 4 + 8)
        for before, after in zip(old, larger, strict=True):
            after[tuple(slice(length) for length in before.shape)] = before
        self.tableau = larger

    # -- solving -------------------------------------------------------------------------------------------------------

    def solve(self, time_limit: float | None = None) -> SimplexVertex:
        """Run the simplex method from the last basis, for at most `time_limit` seconds (no limit if None)."""
        if self._empty_columns:
            return SimplexVertex(Termination.INFEASIBLE, "a column has no value between its bounds", None, None)
        t, is_interrupted = self.tableau, False
        deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
        chunk = max(1, ENTRIES_PER_CHUNK // (1 + self.row_count * self.column_count))
        max_pivots, pivots, end = 10_000 + 50 * (self.row_count + self.column_count), 0, driver.UNFINISHED

        def record_interrupt() -> None:
            nonlocal is_interrupted
            is_interrupted = True

        with call_on_interrupt(record_interrupt):
            driver.reset_solve_counters(t)
            while (
                end == driver.UNFINISHED
                and pivots < max_pivots
                and not is_interrupted
                and time.perf_counter() < deadline
            ):
                end, steps_taken = driver.make_simplex_steps(t, chunk)
                pivots += steps_taken
        if end == driver.UNFINISHED and (is_interrupted or pivots < max_pivots):
            reason = "interrupted" if is_interrupted else "time limit"
            return SimplexVertex(Termination.LIMIT, reason, *self._primal_dual_point(), pivots, is_interrupted)
        if end in (driver.INFEASIBLE, driver.UNBOUNDED):
            infeasible = end == driver.INFEASIBLE
            reason = (
                "a row cannot be made feasible" if infeasible else "a direction of descent is not blocked by any row"
            )
            termination = Termination.INFEASIBLE if infeasible else Termination.UNBOUNDED
            return SimplexVertex(termination, f"{reason} after {pivots} pivots", None, None, pivots, is_interrupted)
        if end == driver.OPTIMAL:
            return SimplexVertex(
                Termination.OPTIMAL, f"vertex after {pivots} pivots", *self._primal_dual_point(), pivots, is_interrupted
            )
        reason = "too many pivots" if end == driver.UNFINISHED else "rounding errors"
        return SimplexVertex(
            Termination.STALLED, f"{reason} after {pivots} pivots", *self._primal_dual_point(), pivots, is_interrupted
        )

    def _primal_dual_point(self) -> tuple[Vector, Vector]:
        """Return x and the multipliers z of the rows at the current basis, in the original scaling."""
        x, z = primal_values(self.tableau), row_multipliers(self.tableau)
        return x * self._column_scales, z * self._row_scales * self._cost_scale_factor


def _is_marked_row(names: VariableNames, rows: Mask) -> Mask:
    """Return, for each variable name (see `tableau`), True if it is the name ~i of a row i that is marked in `rows`."""
    is_marked = names < 0
    is_marked[is_marked] = rows[~names[is_marked]]
    return is_marked


def _row_and_column_scales(A: Matrix) -> tuple[Vector, Vector]:
    """Return scales of the rows and of the columns of A: powers of two that bring the largest entries near 1."""
    rows, columns = np.ones(A.shape[0]), np.ones(A.shape[1])
    size = np.abs(A)
    for _ in range(TABLEAU_SCALING_PASSES):
        rows /= np.sqrt(_max_abs(size * columns * rows[:, None], axis=1))
        columns /= np.sqrt(_max_abs(size * columns * rows[:, None], axis=0))
    return _nearest_powers_of_two(rows), _nearest_powers_of_two(columns)


def _max_abs(A: Matrix, axis: int) -> Vector:
    """Return the largest absolute entry of each row (axis 1) or column (axis 0), or 1 if all entries are 0."""
    largest = np.abs(A).max(axis=axis, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def _nearest_powers_of_two(scale: Vector) -> Vector:
    """Return, for each positive entry of `scale`, the power of two with the nearest logarithm."""
    return np.asarray(np.exp2(np.round(np.log2(scale))))


def _cost_scale(q: Vector) -> float:
    """Return the power of two whose logarithm is nearest to that of the largest absolute cost; 1 if all are 0."""
    return float(_nearest_powers_of_two(np.abs(q).max(initial=0.0, keepdims=True))[0]) if np.any(q) else 1.0
