"""Steps of the primal simplex method on a dense dictionary, compiled by numba.

The nonbasic variable with the best price, relative to Devex reference weights, enters the basis. Among the basic
variables that block its move within a tolerance (Harris), the one with the largest entry in its column of T leaves.
After many steps without progress, Bland's rule, which cannot cycle, is used until there is progress.
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
    PRICE,
    RATIO_TEST_SLACK,
    ROWS,
    SMALL_PIVOT,
    STALLED_STEPS,
    STEP_LIMIT,
    VALUE,
    Tableau,
    has_attractive_price,
    is_stalled,
    make_pivot,
    shift_nonbasic,
)


@njit_inner
def make_primal_steps(t: Tableau, max_steps: int) -> tuple[int, int]:
    """Make at most `max_steps` primal steps from values within the bounds; return (result, number of steps).

    The result is DONE (no price is attractive), BLOCKED (no bound limits the entering variable), SMALL_PIVOT or
    STEP_LIMIT.
    """
    T, rows, columns, size = t.T, t.rows, t.columns, t.size
    m, n = size[ROWS], size[COLUMNS]
    norms, reference = np.empty(0), np.ones(n)
    for count in range(max_steps):
        bland = is_stalled(t)
        q = _entering_column(t, reference, bland)
        if q == n:
            return DONE, count
        sign = 1.0 if columns[PRICE, q] < 0.0 else -1.0
        p, length = _blocking_row(t, q, sign, bland)
        own = columns[HIGH, q] - columns[LOW, q]
        if own == np.inf and p == m:
            return BLOCKED, count
        if own <= length:
            shift_nonbasic(t, q, sign * own)
            columns[VALUE, q] = columns[HIGH, q] if sign > 0.0 else columns[LOW, q]
            size[STALLED_STEPS] = 0
            continue
        entry, weight = T[p, q], reference[q]
        if abs(entry) < DOUBTFUL_PIVOT and size[AGE] > 0:
            return SMALL_PIVOT, count
        size[STALLED_STEPS] = size[STALLED_STEPS] + 1 if length <= 1e-12 else 0
        make_pivot(t, p, q, sign * length, rows[HIGH, p] if sign * entry > 0.0 else rows[LOW, p], norms)
        row = T[p]
        for j in range(n):
            reference[j] = max(reference[j], row[j] * row[j] * weight)
        reference[q] = max(weight / (entry * entry), 1.0)
    return STEP_LIMIT, max_steps


@njit_inner
def _entering_column(t: Tableau, reference: Vector, bland: bool) -> int:
    """Return the column that enters the basis, or n if no price is attractive.

    It is the column with the largest price^2 / `reference` (Devex weights) of all columns with an attractive price;
    with `bland`, the one with the smallest variable name.
    """
    nonbasic, price, n = t.nonbasic, t.columns[PRICE], t.size[COLUMNS]
    q, best = n, 0.0
    for j in range(n):
        if has_attractive_price(t, j, FEASIBILITY_TOLERANCE):
            score = price[j] * price[j] / reference[j]
            if q == n or (nonbasic[j] < nonbasic[q] if bland else score > best):
                q, best = j, score
    return int(q)


@njit_inner
def _distance_to_bound(t: Tableau, i: int, entry: float) -> float:
    """Return the distance of the i-th basic variable to its upper (entry > 0) or lower bound, 0 if it is violated."""
    bound = t.rows[HIGH, i] if entry > 0.0 else t.rows[LOW, i]
    return float(max((bound - t.rows[VALUE, i]) * (1.0 if entry > 0.0 else -1.0), 0.0))


@njit_inner
def _blocking_row(t: Tableau, q: int, sign: float, bland: bool) -> tuple[int, float]:
    """Return the row that blocks a move of column q, and the step length, or (m, infinity) if no row blocks.

    `sign` is +1 if the variable of column q increases, -1 if it decreases. Of the rows that block within the tolerance,
    the one with the largest entry is returned; with `bland`, of the rows that block first, the one with the smallest
    variable name.
    """
    T, basic, m = t.T, t.basic, t.size[ROWS]
    bound, slack = np.inf, 0.0 if bland else RATIO_TEST_SLACK
    for i in range(m):
        entry = sign * T[i, q]
        if abs(entry) > MIN_PIVOT:
            bound = min(bound, (_distance_to_bound(t, i, entry) + slack) / abs(entry))
    p, best, length = m, 0.0, np.inf
    if bound == np.inf:
        return p, length
    for i in range(m):
        entry = sign * T[i, q]
        gap = _distance_to_bound(t, i, entry)
        # Use the same division as for `bound`, so that the variable attaining the bound blocks despite rounding.
        blocks = abs(entry) > MIN_PIVOT and gap / abs(entry) <= bound
        if blocks and (p == m or (basic[i] < basic[p] if bland else abs(entry) > best)):
            p, best, length = i, abs(entry), gap / abs(entry)
    return p, length
