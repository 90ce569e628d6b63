"""Steps of the dual simplex method on a dense dictionary, compiled by numba.

The basic variable with the largest bound violation relative to the norm of its row (steepest edge) leaves the basis.
The dual objective along its edge is piecewise linear: boxed variables whose breakpoints are passed move to their other
bound (long-step ratio test). Among the variables that block within a tolerance (Harris), the one with the largest entry
in the leaving row enters.

After many steps without progress the prices are perturbed once. After as many further steps without progress, Bland's
rule, which cannot cycle, is used until there is progress.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.jit import njit_inner
from milopt.solvers.native.dense_simplex.tableau import (
    AGE,
    BLOCKED,
    COLUMNS,
    DONE,
    DOUBTFUL_PIVOT,
    FEASIBILITY_TOLERANCE,
    HIGH,
    LOW,
    MIN_PIVOT,
    PERTURBED,
    PRICE,
    RATIO_TEST_SLACK,
    ROWS,
    SMALL_PIVOT,
    STALLED_STEPS,
    STEP_LIMIT,
    VALUE,
    Index,
    Tableau,
    bound_violation,
    has_attractive_price,
    is_stalled,
    make_pivot,
    shift_nonbasic,
)

PRICE_PERTURBATION = 1e-6
"""Size of the perturbation of the prices, in the scaled units of the tableau."""


@njit_inner
def make_dual_steps(t: Tableau, max_steps: int) -> tuple[int, int]:
    """Make at most `max_steps` dual steps from feasible prices; return (result, number of steps).

    The result is DONE (all values are within their bounds), BLOCKED (a violated row has no entering column),
    SMALL_PIVOT or STEP_LIMIT.
    """
    rows, columns, size = t.rows, t.columns, t.size
    m, n = size[ROWS], size[COLUMNS]
    norms, index = _row_norms(t), np.zeros(n, dtype=np.int64)
    for count in range(max_steps):
        if is_stalled(t) and size[PERTURBED] == 0:
            _perturb_prices(t)
            size[PERTURBED], size[STALLED_STEPS] = 1, 0
        bland = is_stalled(t)
        p = _leaving_row(t, norms, bland)
        if p == m:
            return DONE, count
        below = bound_violation(t, p)
        q, passed = _entering_column(t, p, below, index, bland)
        if q == n:
            return BLOCKED, count
        if abs(t.T[p, q]) < DOUBTFUL_PIVOT and size[AGE] > 0:
            return SMALL_PIVOT, count
        for k in range(passed):
            _move_to_other_bound(t, index[k])
        if has_attractive_price(t, q, 0.0):
            columns[PRICE, q] = 0.0
        size[STALLED_STEPS] = size[STALLED_STEPS] + 1 if abs(columns[PRICE, q]) <= 1e-13 * abs(t.T[p, q]) else 0
        target = rows[LOW, p] if below > 0.0 else rows[HIGH, p]
        make_pivot(t, p, q, (target - rows[VALUE, p]) / t.T[p, q], target, norms)
        for j in range(n):
            # The wrong sign of the price is within the slack of the ratio test: use 0 until prices are corrected.
            if has_attractive_price(t, j, 0.0):
                columns[PRICE, j] = 0.0
    return STEP_LIMIT, max_steps


@njit_inner
def make_prices_feasible(t: Tableau) -> None:
    """Make all prices feasible: no nonbasic variable has a price at which moving it would decrease the objective.

    A variable with an infeasible price moves to its other bound if both of its bounds are finite. Otherwise its price
    is set to 0 until the prices are corrected again.
    """
    columns = t.columns
    for j in range(t.size[COLUMNS]):
        if has_attractive_price(t, j, 0.0):
            if columns[HIGH, j] - columns[LOW, j] < np.inf:
                _move_to_other_bound(t, j)
            else:
                columns[PRICE, j] = 0.0


@njit_inner
def _move_to_other_bound(t: Tableau, j: int) -> None:
    """Move the j-th nonbasic variable to its other bound, and update the basic values."""
    columns = t.columns
    other = columns[HIGH, j] if columns[VALUE, j] < columns[HIGH, j] else columns[LOW, j]
    shift_nonbasic(t, j, other - columns[VALUE, j])
    columns[VALUE, j] = other


@njit_inner
def _perturb_prices(t: Tableau) -> None:
    """Move the prices of variables at one of their bounds away from 0, by different amounts, so that ties become rare.

    Each price moves in the direction in which it stays feasible. The prices of fixed variables and of variables
    strictly between their bounds do not change.
    """
    columns = t.columns
    for j in range(t.size[COLUMNS]):
        rises, falls = columns[VALUE, j] < columns[HIGH, j], columns[VALUE, j] > columns[LOW, j]
        if rises != falls:
            amount = PRICE_PERTURBATION * (0.5 + (j * 7919 % 1009) / 1009.0)
            columns[PRICE, j] += amount if rises else -amount


@njit_inner
def _row_norms(t: Tableau) -> Vector:
    """Return 1 + the squared norms of T's rows."""
    norms = np.ones(t.size[ROWS])
    for i in range(t.size[ROWS]):
        row, norm = t.T[i], 1.0
        for j in range(t.size[COLUMNS]):
            norm += row[j] * row[j]
        norms[i] = norm
    return norms


@njit_inner
def _leaving_row(t: Tableau, norms: Vector, bland: bool) -> int:
    """Return the row of the basic variable that leaves the basis, or m if no bound is violated.

    It is the row with the largest violation^2 / `norms`; with `bland`, the violated one with the smallest variable
    name.
    """
    basic, m = t.basic, t.size[ROWS]
    p, best = m, 0.0
    for i in range(m):
        outside = bound_violation(t, i)
        if outside != 0.0:
            score = outside * outside / norms[i]
            if p == m or (basic[i] < basic[p] if bland else score > best):
                p, best = i, score
    return int(p)


@njit_inner
def _entering_column(t: Tableau, p: int, below: float, index: Index, bland: bool) -> tuple[int, int]:
    """Return (q, passed): the column q that enters for row p, and the number of columns whose breakpoints are passed.

    q is n if no column can repair the row. `below` is the violation of row p (> 0 if it is below its lower bound).
    `index` is workspace; on return, its first `passed` entries are the passed columns, which the caller must move to
    their other bounds. With `bland`, the smallest variable name at the first breakpoint enters, and no column is
    passed.
    """
    columns, nonbasic, n = t.columns, t.nonbasic, t.size[COLUMNS]
    price, row, count = columns[PRICE], t.T[p], 0
    for j in range(n):
        entry = row[j] if below > 0.0 else -row[j]
        rises, falls = columns[VALUE, j] < columns[HIGH, j], columns[VALUE, j] > columns[LOW, j]
        if (entry > MIN_PIVOT and rises) or (entry < -MIN_PIVOT and falls):
            index[count] = j
            count += 1
    # Accept a row that can be made feasible up to the tolerance.
    slope = abs(below) - FEASIBILITY_TOLERANCE * (1.0 + abs(t.rows[LOW, p] if below > 0.0 else t.rows[HIGH, p]))
    slack, passed = 0.0 if bland else RATIO_TEST_SLACK, 0
    while passed < count:
        bound = np.inf
        for k in range(passed, count):
            bound = min(bound, (abs(price[index[k]]) + slack) / abs(row[index[k]]))
        q, best, end, slope_decrease = n, 0.0, passed, 0.0
        for k in range(passed, count):
            j = index[k]
            entry = abs(row[j])
            # Use the same division as for `bound`, so that the variable attaining the bound passes despite rounding.
            if abs(price[j]) / entry <= bound:
                if q == n or (nonbasic[j] < nonbasic[q] if bland else entry > best):
                    q, best = j, entry
                slope_decrease += entry * (columns[HIGH, j] - columns[LOW, j])
                index[k], index[end] = index[end], j
                end += 1
        if bland or slope_decrease >= slope:
            return q, passed
        slope -= slope_decrease
        passed = end
    return n, 0
