"""Linear programs with few rows or columns:  min q'x  s.t.  A x + g = 0 or >= 0,  lower <= x <= upper,  kept alive.

The bounded-variable simplex method on a dense dictionary of plain arrays. A row or column more, other costs and other
offsets keep the basis; the next solve goes on from there. Rows and columns are scaled by powers of two, so that their
largest entries are near 1, and costs by the largest.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.arrays import Index, Mask, Matrix, Vector
from milopt.compilation.status import Termination
from milopt.interrupt import noted_interrupt
from milopt.solvers.native.dense_simplex import kernel as kernel
from milopt.solvers.native.dense_simplex.changes import append_column, append_row, release, reset
from milopt.solvers.native.dense_simplex.tableau import (
    COLUMNS,
    HIGH,
    LOW,
    PRICE,
    ROWS,
    columns_of,
    empty_tableau,
    multipliers_of,
)

Names = npt.NDArray[np.int64]

CHUNK = 20_000_000
"""Entries of the dictionary that are worked on, some 10 ms, before anyone asks for the time or Ctrl-C."""
PASSES = 4
"""Of scaling."""


@dataclass(frozen=True)
class Vertex:
    """Where a solve ended: x and the rows' multipliers z from the last basis."""

    termination: Termination
    reason: str
    x: Vector | None
    z: Vector | None
    pivots: int = 0
    interrupted: bool = False
    """Ended by Ctrl-C."""


class DenseSimplex:
    """One linear program, its dictionary and its basis."""

    def __init__(self, A: Matrix, g: Vector, equality: Mask, q: Vector, lower: Vector, upper: Vector) -> None:
        m, n = A.shape
        self._rows, self._columns = _scales(A)
        self._costs = _cost_scale(q * self._columns)
        self._empty = int(np.sum((lower > upper) | (lower == np.inf) | (upper == -np.inf)))
        self.tableau = t = empty_tableau(m + 16, n + 8)
        t.size[[ROWS, COLUMNS]] = m, n
        t.A[:m, :n] = t.T[:m, :n] = self._rows[:, None] * A * self._columns
        t.g[:m] = self._rows * g
        t.q[:n] = t.columns[PRICE, :n] = q * self._columns / self._costs
        t.basic[:m], t.nonbasic[:n] = ~np.arange(m), np.arange(n)
        t.rows[HIGH, :m] = np.where(equality, 0.0, np.inf)
        floor, ceiling = lower / self._columns, upper / self._columns
        below, above = np.isfinite(floor), np.isfinite(ceiling)
        low = below & (~above | (q > 0.0) | ((q == 0.0) & (np.abs(lower) <= np.abs(upper))))
        t.columns[:3, :n] = np.where(low, floor, np.where(above, ceiling, 0.0)), floor, ceiling

    @property
    def m(self) -> int:
        """How many rows."""
        return int(self.tableau.size[ROWS])

    @property
    def n(self) -> int:
        """How many columns."""
        return int(self.tableau.size[COLUMNS])

    # -- changes -------------------------------------------------------------------------------------------------------

    def set_costs(self, q: Vector) -> None:
        """Other costs of the columns."""
        before, self._costs = self._costs, _cost_scale(q * self._columns)
        self.tableau.q[: self.n] = q * self._columns / self._costs
        self.tableau.columns[PRICE, : self.n] *= before / self._costs

    def set_offsets(self, g: Vector) -> None:
        """Other offsets of the rows."""
        self.tableau.g[: self.m] = self._rows * g

    def add_rows(self, A: Matrix, g: Vector, equality: Mask) -> None:
        """Rows at the end."""
        self._make_room(self.m + g.size, self.n)
        scaled = A * self._columns
        scale = _powers(1.0 / _largest(scaled, axis=1))
        self._rows = np.concatenate([self._rows, scale])
        for row, offset, factor, equal in zip(scaled, g.tolist(), scale.tolist(), equality.tolist(), strict=True):
            append_row(self.tableau, row * factor, offset * factor, 0.0, 0.0 if equal else math.inf)

    def add_columns(self, A: Matrix, q: Vector, lower: Vector, upper: Vector) -> None:
        """Columns at the end."""
        self._make_room(self.m, self.n + q.size)
        scaled = A.T * self._rows
        scale = _powers(1.0 / _largest(scaled, axis=1))
        self._columns = np.concatenate([self._columns, scale])
        self._empty += int(np.sum((lower > upper) | (lower == np.inf) | (upper == -np.inf)))
        costs, floor, ceiling = q * scale / self._costs, lower / scale, upper / scale
        for k, column in enumerate(scaled):
            append_column(self.tableau, column * scale[k], float(costs[k]), float(floor[k]), float(ceiling[k]))

    def replace_rows(self, index: Index, A: Matrix, g: Vector, equality: Mask) -> None:
        """Other coefficients, offsets and kinds of some rows; the dictionary is made afresh for the same basis."""
        t = self.tableau
        scaled = A * self._columns
        self._rows[index] = scale = _powers(1.0 / _largest(scaled, axis=1))
        t.A[index, : self.n] = scaled * scale[:, None]
        t.g[index] = g * scale
        high, new = np.zeros(self.m), np.zeros(self.m, dtype=bool)
        high[index], new[index] = np.where(equality, 0.0, np.inf), True
        for names, bounds in ((t.basic[: self.m], t.rows), (t.nonbasic[: self.n], t.columns)):
            place = np.flatnonzero(_names(names, new))
            bounds[HIGH, place] = high[~names[place]]
        reset(t)

    def delete_rows(self, index: Index) -> None:
        """Some rows go; those that were binding give their place in the basis up."""
        t, m, n = self.tableau, self.m, self.n
        gone = np.zeros(m, dtype=bool)
        gone[index] = True
        leaves, binds = _names(t.basic[:m], gone), np.flatnonzero(_names(t.nonbasic[:n], gone))
        # Without bounds they block no other.
        t.rows[LOW, :m][leaves], t.rows[HIGH, :m][leaves] = -np.inf, np.inf
        t.columns[LOW, binds], t.columns[HIGH, binds] = -np.inf, np.inf
        for j in binds.tolist():
            release(t, j)
        kept, rows = np.flatnonzero(~_names(t.basic[:m], gone)), np.flatnonzero(~gone)
        for values in (t.T, t.basic, t.rows.T):
            values[: kept.size] = values[kept]
        for values in (t.A, t.g):
            values[: rows.size] = values[rows]
        self._rows = self._rows[rows]
        place = np.cumsum(~gone) - 1
        for names in (t.basic[: kept.size], t.nonbasic[:n]):
            named = names < 0
            names[named] = ~place[~names[named]]
        t.size[ROWS] = rows.size

    def _make_room(self, m: int, n: int) -> None:
        old = self.tableau
        rows, columns = old.T.shape
        if m <= rows and n <= columns:
            return
        larger = empty_tableau(max(rows, m + m // 2 + 16), columns if n <= columns else n + n // 4 + 8)
        for before, after in zip(old, larger, strict=True):
            after[tuple(slice(length) for length in before.shape)] = before
        self.tableau = larger

    # -- solving -------------------------------------------------------------------------------------------------------

    def solve(self, time_limit: float | None = None) -> Vertex:
        """Go on from the last basis to the optimum."""
        if self._empty:
            return Vertex(Termination.INFEASIBLE, "a column has no value between its bounds", None, None)
        t, asked = self.tableau, False
        deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
        chunk = max(1, CHUNK // (1 + self.m * self.n))
        most, pivots, end = 10_000 + 50 * (self.m + self.n), 0, kernel.UNFINISHED

        def note() -> None:
            nonlocal asked
            asked = True

        with noted_interrupt(note):
            kernel.start(t)
            while end == kernel.UNFINISHED and pivots < most and not asked and time.perf_counter() < deadline:
                end, taken = kernel.advance(t, chunk)
                pivots += taken
        if end == kernel.UNFINISHED and (asked or pivots < most):
            reason = "interrupted" if asked else "time limit"
            return Vertex(Termination.LIMIT, reason, *self._point(), pivots, asked)
        if end in (kernel.INFEASIBLE, kernel.UNBOUNDED):
            infeasible = end == kernel.INFEASIBLE
            reason = "no column mends a row" if infeasible else "no row blocks a direction"
            termination = Termination.INFEASIBLE if infeasible else Termination.UNBOUNDED
            return Vertex(termination, f"{reason} after {pivots} pivots", None, None, pivots, asked)
        if end == kernel.OPTIMAL:
            return Vertex(Termination.OPTIMAL, f"vertex after {pivots} pivots", *self._point(), pivots, asked)
        reason = "too many pivots" if end == kernel.UNFINISHED else "rounding errors"
        return Vertex(Termination.STALLED, f"{reason} after {pivots} pivots", *self._point(), pivots, asked)

    def _point(self) -> tuple[Vector, Vector]:
        x, z = columns_of(self.tableau), multipliers_of(self.tableau)
        return x * self._columns, z * self._rows * self._costs


def _names(names: Names, rows: Mask) -> Mask:
    """Which of these variables are the values of marked rows."""
    found = names < 0
    found[found] = rows[~names[found]]
    return found


def _scales(A: Matrix) -> tuple[Vector, Vector]:
    """Powers of two by which rows and columns are multiplied, so that the largest entry of each is near 1."""
    rows, columns = np.ones(A.shape[0]), np.ones(A.shape[1])
    size = np.abs(A)
    for _ in range(PASSES):
        rows /= np.sqrt(_largest(size * columns * rows[:, None], axis=1))
        columns /= np.sqrt(_largest(size * columns * rows[:, None], axis=0))
    return _powers(rows), _powers(columns)


def _largest(A: Matrix, axis: int) -> Vector:
    """The largest entry of each row (axis 1) or column (axis 0), 1 where there is none but 0."""
    largest = np.abs(A).max(axis=axis, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def _powers(scale: Vector) -> Vector:
    return np.asarray(np.exp2(np.round(np.log2(scale))))


def _cost_scale(q: Vector) -> float:
    return float(_powers(np.abs(q).max(initial=0.0, keepdims=True))[0]) if np.any(q) else 1.0
