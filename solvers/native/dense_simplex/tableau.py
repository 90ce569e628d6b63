"""A dense dictionary of a linear program, compiled by numba: every basic variable as a function of the nonbasic ones.

The variables are the columns x and the row values  r = A x + g,  all between bounds. Of the n + m variables, m are
basic:

    basic = T nonbasic + constant,     q'x = price' nonbasic + constant,     x_j has the name j and r_i the name ~i.

The price of a nonbasic r_i is the multiplier of row i. If k of the x_j are basic (the set J), then k of the r_i are
nonbasic (the set I), and the part of T with rows J and columns I is the inverse of A[I, J]. This inverse is used to
correct values and prices from their residuals. A pivot costs O(mn), and so does an additional row or column; for a
dense program with a hundred rows, that is a few microseconds.

All functions have plain arrays as arguments and may be called from other compiled code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milopt.arrays import Matrix, Vector
from milopt.jit import njit, njit_inlined, njit_inner

Index = npt.NDArray[np.int64]

ROWS, COLUMNS, AGE, STALLED_STEPS, PERTURBED, ROUNDS, METHOD = range(7)
"""Positions in `Tableau.size`.

ROWS and COLUMNS are m and n, AGE is the number of pivots since T was refactorised; the other positions
are the state of a solve: steps without progress, whether prices were perturbed, rounds, and the current method.
"""
VALUE, LOW, HIGH, PRICE = range(4)
"""First indices of `Tableau.rows` (without PRICE) and of `Tableau.columns`."""
DONE, BLOCKED, STEP_LIMIT, SMALL_PIVOT = range(4)
"""Results of a sequence of steps.

DONE: no step is left. BLOCKED: no variable blocks the move (primal) or can enter (dual). STEP_LIMIT: the step limit is
reached. SMALL_PIVOT: the pivot is too small to be trusted.
"""
FEASIBILITY_TOLERANCE = 1e-9
"""Tolerance for violations of bounds, relative to 1 + |bound|, and for wrong signs of prices."""
RATIO_TEST_SLACK = 1e-10
"""Violation that Harris's ratio tests allow."""
MIN_PIVOT, DOUBTFUL_PIVOT = 1e-9, 1e-5
"""Smallest entry that is used as a pivot, and entry below which the dictionary is refactorised before the pivot.

DOUBTFUL_PIVOT applies only if there were pivots since the last refactorisation.
"""
RESIDUAL_ROUNDING_LEVEL = 1e-15
"""Relative residual below which no correction is attempted."""
MAX_STALLED_STEPS = 60
"""Anti-cycling measures are used after more than MAX_STALLED_STEPS + m steps without progress."""


class Tableau(NamedTuple):
    """Arrays of a dictionary; A, g, q and T are those of the module docstring.

    Only the first m rows and n columns are in use, so that the dictionary can grow in place.
    """

    A: Matrix
    g: Vector
    q: Vector
    T: Matrix
    basic: Index
    """VariableNames of the basic variables (j for x_j, ~i for r_i), in the order of T's rows."""
    rows: Matrix
    """Value, lower and upper bound (rows VALUE, LOW, HIGH) of the basic variables."""
    nonbasic: Index
    """VariableNames of the nonbasic variables (j for x_j, ~i for r_i), in the order of T's columns."""
    columns: Matrix
    """Value, lower and upper bound and price (rows VALUE, LOW, HIGH, PRICE) of the nonbasic variables."""
    size: Index
    """Sizes, counters and state, at the positions ROWS, COLUMNS, ... of this module."""


def empty_tableau(rows: int, columns: int) -> Tableau:
    """Allocate a tableau for this many rows and columns, none of which is in use."""
    return Tableau(
        A=np.zeros((rows, columns)),
        g=np.zeros(rows),
        q=np.zeros(columns),
        T=np.zeros((rows, columns)),
        basic=np.zeros(rows, dtype=np.int64),
        rows=np.zeros((3, rows)),
        nonbasic=np.zeros(columns, dtype=np.int64),
        columns=np.zeros((4, columns)),
        size=np.zeros(7, dtype=np.int64),
    )


@njit_inner
def exchange_variables(t: Tableau, p: int, q: int, norms: Vector) -> None:
    """Exchange the p-th basic with the q-th nonbasic variable, in place.

    T, names and bounds are updated; the caller sets values and prices. `norms` is updated to 1 + the squared norms of
    T's rows; pass an empty array if they are not needed.
    """
    rows, columns, T, basic, nonbasic, size = t.rows, t.columns, t.T, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    # Use a separate row and no views of T, so that the compiler can rule out aliasing.
    row, inverse = np.empty(n), 1.0 / T[p, q]
    for j in range(n):
        row[j] = -inverse * T[p, j]
    row[q] = inverse
    T[p, q] = 0.0
    for i in range(m):
        factor = T[i, q]
        if factor == 0.0:
            continue
        T[i, q] = 0.0
        if norms.size == 0:
            for j in range(n):
                T[i, j] += factor * row[j]
        else:
            norm = 1.0
            for j in range(n):
                entry = T[i, j] + factor * row[j]
                T[i, j] = entry
                norm += entry * entry
            norms[i] = norm
    norm = 1.0
    for j in range(n):
        T[p, j] = row[j]
        norm += row[j] * row[j]
    if norms.size > 0:
        norms[p] = norm
    basic[p], nonbasic[q] = nonbasic[q], basic[p]
    rows[LOW, p], columns[LOW, q] = columns[LOW, q], rows[LOW, p]
    rows[HIGH, p], columns[HIGH, q] = columns[HIGH, q], rows[HIGH, p]
    size[AGE] += 1


@njit
def primal_values(t: Tableau) -> Vector:
    """Return x, one value per column, collected from the basic and the nonbasic variables."""
    basic, nonbasic, size = t.basic, t.nonbasic, t.size
    x = np.zeros(size[COLUMNS])
    for j in range(size[COLUMNS]):
        if nonbasic[j] >= 0:
            x[nonbasic[j]] = t.columns[VALUE, j]
    for i in range(size[ROWS]):
        if basic[i] >= 0:
            x[basic[i]] = t.rows[VALUE, i]
    return x


@njit
def row_multipliers(t: Tableau) -> Vector:
    """Return the multipliers z, one per row: the price if the row value is nonbasic, and 0 if it is basic."""
    nonbasic, size = t.nonbasic, t.size
    z = np.zeros(size[ROWS])
    for j in range(size[COLUMNS]):
        if nonbasic[j] < 0:
            z[~nonbasic[j]] = t.columns[PRICE, j]
    return z


@njit_inner
def _row_values(t: Tableau, x: Vector) -> Vector:
    """Return the row values A x + g."""
    size = t.size
    m, n = size[ROWS], size[COLUMNS]
    r = np.empty(m)
    for i in range(m):
        row = t.A[i]
        total = 0.0
        for j in range(n):
            total += row[j] * x[j]
        r[i] = total + t.g[i]
    return r


@njit_inner
def _reduced_costs(t: Tableau, z: Vector) -> Vector:
    """Return the reduced costs q - A'z."""
    size = t.size
    m, n = size[ROWS], size[COLUMNS]
    d = t.q[:n].copy()
    for i in range(m):
        if z[i] != 0.0:
            row, factor = t.A[i], z[i]
            for j in range(n):
                d[j] -= factor * row[j]
    return d


@njit_inner
def refine_values(t: Tableau) -> float:
    """Correct the basic values in place, from the residuals of the nonbasic rows.

    The residual of a row is the difference between A x + g and the stored value of the row. Returns the largest
    residual before the correction, relative to the largest of 1, |x| and the nonbasic row values.
    """
    rows, columns, basic, nonbasic, size = t.rows, t.columns, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    r = _row_values(t, primal_values(t))
    residual, worst, largest = np.zeros(n), 0.0, 1.0
    for j in range(n):
        largest = max(largest, abs(columns[VALUE, j]))
        if nonbasic[j] < 0:
            residual[j] = r[~nonbasic[j]] - columns[VALUE, j]
            worst = max(worst, abs(residual[j]))
    for i in range(m):
        if basic[i] >= 0:
            largest = max(largest, abs(rows[VALUE, i]))
    if worst > RESIDUAL_ROUNDING_LEVEL * largest:
        for i in range(m):
            if basic[i] >= 0:
                row, change = t.T[i], 0.0
                for j in range(n):
                    change += row[j] * residual[j]
                rows[VALUE, i] -= change
        r = _row_values(t, primal_values(t))
    for i in range(m):
        if basic[i] < 0:
            rows[VALUE, i] = r[~basic[i]]
    return worst / largest


@njit_inner
def refine_prices(t: Tableau) -> float:
    """Correct the prices in place, from the reduced costs of the basic columns, which should be 0.

    Returns the largest of these reduced costs before the correction, relative to the largest of 1 and |z|.
    """
    columns, basic, nonbasic, size = t.columns, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    z = row_multipliers(t)
    d = _reduced_costs(t, z)
    change, worst, largest = np.zeros(n), 0.0, 1.0
    for i in range(m):
        largest = max(largest, abs(z[i]))
        if basic[i] >= 0:
            residual = d[basic[i]]
            worst = max(worst, abs(residual))
            if residual != 0.0:
                row = t.T[i]
                for j in range(n):
                    change[j] += residual * row[j]
    if worst > RESIDUAL_ROUNDING_LEVEL * largest:
        for j in range(n):
            if nonbasic[j] < 0:
                columns[PRICE, j] += change[j]
        d = _reduced_costs(t, row_multipliers(t))
    for j in range(n):
        if nonbasic[j] >= 0:
            columns[PRICE, j] = d[nonbasic[j]]
    return worst / largest


@njit_inlined
def shift_nonbasic(t: Tableau, j: int, change: float) -> None:
    """Update the basic values for a change of the j-th nonbasic variable. The caller sets the variable's value."""
    T, rows = t.T, t.rows
    for i in range(t.size[ROWS]):
        rows[VALUE, i] += T[i, j] * change


@njit_inner
def make_pivot(t: Tableau, p: int, q: int, change: float, target: float, norms: Vector) -> None:
    """Move the q-th nonbasic variable by `change`, and exchange it with the p-th basic one, which ends at `target`.

    Values and prices are updated, and `norms` as in `exchange_variables`.
    """
    rows, columns, row = t.rows, t.columns, t.T[p]
    theta = columns[PRICE, q] / row[q]
    for j in range(t.size[COLUMNS]):
        columns[PRICE, j] -= theta * row[j]
    shift_nonbasic(t, q, change)
    rows[VALUE, p] = columns[VALUE, q] + change
    columns[VALUE, q], columns[PRICE, q] = target, theta
    exchange_variables(t, p, q, norms)


@njit_inlined
def is_stalled(t: Tableau) -> bool:
    """Return True if there was no progress for more than MAX_STALLED_STEPS + m steps."""
    return bool(t.size[STALLED_STEPS] > MAX_STALLED_STEPS + t.size[ROWS])


@njit_inlined
def has_attractive_price(t: Tableau, j: int, tolerance: float) -> bool:
    """Return True if moving the j-th nonbasic variable within its bounds would decrease the objective.

    Prices of absolute value up to `tolerance` count as 0.
    """
    value, low, high, price = t.columns[VALUE, j], t.columns[LOW, j], t.columns[HIGH, j], t.columns[PRICE, j]
    return bool((price < -tolerance and value < high) or (price > tolerance and value > low))


@njit_inlined
def bound_violation(t: Tableau, i: int) -> float:
    """Return how far the i-th basic variable is below (> 0) or above (< 0) its bounds; 0 if within the tolerance."""
    value, low, high = t.rows[VALUE, i], t.rows[LOW, i], t.rows[HIGH, i]
    if low - value > FEASIBILITY_TOLERANCE * (1.0 + abs(low)):
        return float(low - value)
    if value - high > FEASIBILITY_TOLERANCE * (1.0 + abs(high)):
        return float(high - value)
    return 0.0
