"""Steps of the dual simplex method on a dense dictionary, compiled by numba.

The basic variable furthest outside its bounds, in units of the length of its row (steepest edge), leaves. The dual
objective along its edge is piecewise linear: boxed variables that are passed jump to their other bound. Of those that
block within a tolerance (Harris), the one with the largest entry enters.

After many steps without progress the prices are perturbed, once; after as many more Bland's rule, which cannot cycle,
takes over until there is some.
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
    PERTURBED,
    PRICE,
    ROWS,
    SINGULAR,
    SLACK,
    SMALL,
    STALLED,
    TOLERANCE,
    VALUE,
    Index,
    Tableau,
    is_stuck,
    is_wrong,
    move,
    step,
    violation,
)

PERTURBATION = 1e-6
"""Of the largest cost."""


@njit_inner
def dual_steps(t: Tableau, most: int) -> tuple[int, int]:
    """(end, steps): with suitable prices, go on until all basic variables are within their bounds."""
    rows, columns, size = t.rows, t.columns, t.size
    m, n = size[ROWS], size[COLUMNS]
    norms, index = _lengths(t), np.zeros(n, dtype=np.int64)
    for count in range(most):
        if is_stuck(t) and size[PERTURBED] == 0:
            _perturb(t)
            size[PERTURBED], size[STALLED] = 1, 0
        bland = is_stuck(t)
        p = _leaving(t, norms, bland)
        if p == m:
            return DONE, count
        below = violation(t, p)
        q, passed = _entering(t, p, below, index, bland)
        if q == n:
            return BLOCKED, count
        if abs(t.T[p, q]) < DOUBTFUL and size[AGE] > 0:
            return SMALL, count
        for k in range(passed):
            _jump(t, index[k])
        if is_wrong(t, q, 0.0):
            columns[PRICE, q] = 0.0
        size[STALLED] = size[STALLED] + 1 if abs(columns[PRICE, q]) <= 1e-13 * abs(t.T[p, q]) else 0
        target = rows[LOW, p] if below > 0.0 else rows[HIGH, p]
        step(t, p, q, (target - rows[VALUE, p]) / t.T[p, q], target, norms)
        for j in range(n):
            # Within the slack of the ratio test: taken for 0 until prices are made afresh.
            if is_wrong(t, j, 0.0):
                columns[PRICE, j] = 0.0
    return MORE, most


@njit_inner
def suit_prices(t: Tableau) -> None:
    """Move boxed variables to the bound that suits their price, and take other unsuitable prices for 0 meanwhile."""
    columns = t.columns
    for j in range(t.size[COLUMNS]):
        if is_wrong(t, j, 0.0):
            if columns[HIGH, j] - columns[LOW, j] < np.inf:
                _jump(t, j)
            else:
                columns[PRICE, j] = 0.0


@njit_inner
def _jump(t: Tableau, j: int) -> None:
    """The j-th nonbasic variable goes to its other bound."""
    columns = t.columns
    other = columns[HIGH, j] if columns[VALUE, j] < columns[HIGH, j] else columns[LOW, j]
    move(t, j, other - columns[VALUE, j])
    columns[VALUE, j] = other


@njit_inner
def _perturb(t: Tableau) -> None:
    """Push prices away from 0, each to its own side and by its own amount, so that no two steps tie."""
    columns = t.columns
    for j in range(t.size[COLUMNS]):
        rises, falls = columns[VALUE, j] < columns[HIGH, j], columns[VALUE, j] > columns[LOW, j]
        if rises != falls:
            amount = PERTURBATION * (0.5 + (j * 7919 % 1009) / 1009.0)
            columns[PRICE, j] += amount if rises else -amount


@njit_inner
def _lengths(t: Tableau) -> Vector:
    """1 + the squared lengths of T's rows."""
    norms = np.ones(t.size[ROWS])
    for i in range(t.size[ROWS]):
        row, norm = t.T[i], 1.0
        for j in range(t.size[COLUMNS]):
            norm += row[j] * row[j]
        norms[i] = norm
    return norms


@njit_inner
def _leaving(t: Tableau, norms: Vector, bland: bool) -> int:
    """The row to mend, m where none is violated."""
    basic, m = t.basic, t.size[ROWS]
    p, best = m, 0.0
    for i in range(m):
        outside = violation(t, i)
        if outside != 0.0:
            score = outside * outside / norms[i]
            if p == m or (basic[i] < basic[p] if bland else score > best):
                p, best = i, score
    return int(p)


@njit_inner
def _entering(t: Tableau, p: int, below: float, index: Index, bland: bool) -> tuple[int, int]:
    """(the column that enters, how many of `index` are passed on the way); n where none can mend the p-th row."""
    columns, nonbasic, n = t.columns, t.nonbasic, t.size[COLUMNS]
    price, row, count = columns[PRICE], t.T[p], 0
    for j in range(n):
        entry = row[j] if below > 0.0 else -row[j]
        rises, falls = columns[VALUE, j] < columns[HIGH, j], columns[VALUE, j] > columns[LOW, j]
        if (entry > SINGULAR and rises) or (entry < -SINGULAR and falls):
            index[count] = j
            count += 1
    # A row that can be mended just so, up to rounding, is.
    slope = abs(below) - TOLERANCE * (1.0 + abs(t.rows[LOW, p] if below > 0.0 else t.rows[HIGH, p]))
    slack, passed = 0.0 if bland else SLACK, 0
    while passed < count:
        bound = np.inf
        for k in range(passed, count):
            bound = min(bound, (abs(price[index[k]]) + slack) / abs(row[index[k]]))
        q, best, end, room = n, 0.0, passed, 0.0
        for k in range(passed, count):
            j = index[k]
            entry = abs(row[j])
            # Divided as the bound was: the one that it is the bound of passes, whatever is rounded.
            if abs(price[j]) / entry <= bound:
                if q == n or (nonbasic[j] < nonbasic[q] if bland else entry > best):
                    q, best = j, entry
                room += entry * (columns[HIGH, j] - columns[LOW, j])
                index[k], index[end] = index[end], j
                end += 1
        if bland or room >= slope:
            return q, passed
        slope -= room
        passed = end
    return n, 0
