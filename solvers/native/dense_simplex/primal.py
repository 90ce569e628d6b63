"""Steps of the primal simplex method on a dense dictionary, compiled by numba.

The nonbasic variable with the best price enters, in units of Devex's reference lengths; of the basic variables that
block it within a tolerance (Harris), the one with the largest entry leaves. After many steps without progress Bland's
rule, which cannot cycle, takes over until there is some.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compiled import njit_inner
from milopt.solvers.native.dense_simplex.tableau import (
    AGE,
    BLOCKED,
    COLUMNS,
    DONE,
    DOUBTFUL,
    HIGH,
    LOW,
    MORE,
    PRICE,
    ROWS,
    SINGULAR,
    SLACK,
    SMALL,
    STALLED,
    TOLERANCE,
    VALUE,
    Tableau,
    is_stuck,
    is_wrong,
    move,
    step,
)


@njit_inner
def primal_steps(t: Tableau, most: int) -> tuple[int, int]:
    """(end, steps): within the bounds, go on until no price is attractive."""
    T, rows, columns, size = t.T, t.rows, t.columns, t.size
    m, n = size[ROWS], size[COLUMNS]
    norms, reference = np.empty(0), np.ones(n)
    for count in range(most):
        bland = is_stuck(t)
        q = _entering(t, reference, bland)
        if q == n:
            return DONE, count
        sign = 1.0 if columns[PRICE, q] < 0.0 else -1.0
        p, length = _blocking(t, q, sign, bland)
        own = columns[HIGH, q] - columns[LOW, q]
        if own == np.inf and p == m:
            return BLOCKED, count
        if own <= length:
            move(t, q, sign * own)
            columns[VALUE, q] = columns[HIGH, q] if sign > 0.0 else columns[LOW, q]
            size[STALLED] = 0
            continue
        entry, weight = T[p, q], reference[q]
        if abs(entry) < DOUBTFUL and size[AGE] > 0:
            return SMALL, count
        size[STALLED] = size[STALLED] + 1 if length <= 1e-12 else 0
        step(t, p, q, sign * length, rows[HIGH, p] if sign * entry > 0.0 else rows[LOW, p], norms)
        row = T[p]
        for j in range(n):
            reference[j] = max(reference[j], row[j] * row[j] * weight)
        reference[q] = max(weight / (entry * entry), 1.0)
    return MORE, most


@njit_inner
def _entering(t: Tableau, reference: Vector, bland: bool) -> int:
    """The column that pays best, n where none does."""
    nonbasic, price, n = t.nonbasic, t.columns[PRICE], t.size[COLUMNS]
    q, best = n, 0.0
    for j in range(n):
        if is_wrong(t, j, TOLERANCE):
            score = price[j] * price[j] / reference[j]
            if q == n or (nonbasic[j] < nonbasic[q] if bland else score > best):
                q, best = j, score
    return int(q)


@njit_inner
def _gap(t: Tableau, i: int, entry: float) -> float:
    """How far the i-th basic variable may go in the direction of `entry`."""
    bound = t.rows[HIGH, i] if entry > 0.0 else t.rows[LOW, i]
    return float(max((bound - t.rows[VALUE, i]) * (1.0 if entry > 0.0 else -1.0), 0.0))


@njit_inner
def _blocking(t: Tableau, q: int, sign: float, bland: bool) -> tuple[int, float]:
    """(the row that blocks, the length of the step); (m, infinity) where none does."""
    T, basic, m = t.T, t.basic, t.size[ROWS]
    bound, slack = np.inf, 0.0 if bland else SLACK
    for i in range(m):
        entry = sign * T[i, q]
        if abs(entry) > SINGULAR:
            bound = min(bound, (_gap(t, i, entry) + slack) / abs(entry))
    p, best, length = m, 0.0, np.inf
    if bound == np.inf:
        return p, length
    for i in range(m):
        entry = sign * T[i, q]
        gap = _gap(t, i, entry)
        # Divided as the bound was: the one that it is the bound of blocks, whatever is rounded.
        blocks = abs(entry) > SINGULAR and gap / abs(entry) <= bound
        if blocks and (p == m or (basic[i] < basic[p] if bland else abs(entry) > best)):
            p, best, length = i, abs(entry), gap / abs(entry)
    return p, length
