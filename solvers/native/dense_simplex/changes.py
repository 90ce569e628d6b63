"""A dense dictionary made afresh, grown by a row or a column, and rid of a row; compiled by numba.

A new row is a combination of the basic ones; a new column x with coefficients a makes  r - a x  of each r.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compiled import njit, njit_inner
from milopt.solvers.native.dense_simplex.tableau import (
    AGE,
    COLUMNS,
    HIGH,
    LOW,
    PRICE,
    ROWS,
    SINGULAR,
    VALUE,
    Tableau,
    exchange,
    step,
)


@njit
def reset(t: Tableau) -> None:
    """Make T afresh from A for the same basis; columns that depend on the others leave it."""
    A, T, basic, rows, nonbasic, columns, size = t.A, t.T, t.basic, t.rows, t.nonbasic, t.columns, t.size
    m, n = size[ROWS], size[COLUMNS]
    old_basic, old_rows, old_nonbasic, old_columns = basic.copy(), rows.copy(), nonbasic.copy(), columns.copy()
    wanted, free, price = np.zeros(n), np.zeros(m), np.zeros(m)
    for j in range(n):
        name = old_nonbasic[j]
        to, place = (columns, name) if name >= 0 else (rows, ~name)
        for k in range(PRICE):
            to[k, place] = old_columns[k, j]
        if name < 0:
            free[~name], price[~name] = 1.0, old_columns[PRICE, j]
    for i in range(m):
        name = old_basic[i]
        to, place = (columns, name) if name >= 0 else (rows, ~name)
        for k in range(PRICE):
            to[k, place] = old_rows[k, i]
        if name >= 0:
            wanted[name] = 1.0
    for i in range(m):
        basic[i] = ~i
        for j in range(n):
            T[i, j] = A[i, j]
    for j in range(n):
        nonbasic[j], columns[PRICE, j] = j, 0.0
    none = np.empty(0)
    for j in range(n):
        if wanted[j] == 1.0:
            p, best = m, SINGULAR
            for i in range(m):
                if free[i] == 1.0 and abs(T[i, j]) > best:
                    p, best = i, abs(T[i, j])
            if p == m:
                columns[VALUE, j] = nearest(columns[VALUE, j], columns[LOW, j], columns[HIGH, j])
            else:
                exchange(t, p, j, none)
                rows[VALUE, p], columns[VALUE, j] = columns[VALUE, j], rows[VALUE, p]
                columns[PRICE, j], free[p] = price[p], 0.0
    size[AGE] = 0


@njit_inner
def nearest(wanted: float, floor: float, ceiling: float) -> float:
    """The finite bound that is nearest, or 0 where there is none."""
    if floor == -np.inf and ceiling == np.inf:
        return 0.0
    return floor if abs(wanted - floor) <= abs(wanted - ceiling) else ceiling


@njit
def append_row(t: Tableau, a: Vector, g: float, low: float, high: float) -> None:
    """One row more, basic; the tableau has room for it."""
    rows, T, basic, size = t.rows, t.T, t.basic, t.size
    m, n = size[ROWS], size[COLUMNS]
    row = T[m]
    total = g
    for j in range(n):
        name = t.nonbasic[j]
        row[j] = a[name] if name >= 0 else 0.0
        total += row[j] * t.columns[VALUE, j]
    for i in range(m):
        if basic[i] >= 0 and a[basic[i]] != 0.0:
            factor, other = a[basic[i]], T[i]
            total += factor * rows[VALUE, i]
            for j in range(n):
                row[j] += factor * other[j]
    for j in range(n):
        t.A[m, j] = a[j]
    t.g[m], basic[m], rows[VALUE, m], rows[LOW, m], rows[HIGH, m] = g, ~m, total, low, high
    size[ROWS] = m + 1


@njit
def append_column(t: Tableau, a: Vector, q: float, floor: float, ceiling: float) -> None:
    """One column more, at its bound nearest to 0; the tableau has room for it."""
    columns, basic, nonbasic, size = t.columns, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    entries, price = np.zeros(n), q
    for j in range(n):
        if nonbasic[j] < 0:
            entries[j] = a[~nonbasic[j]]
            price -= entries[j] * columns[PRICE, j]
    at = nearest(0.0, floor, ceiling)
    for i in range(m):
        row = t.T[i]
        total = a[~basic[i]] if basic[i] < 0 else 0.0
        for j in range(n):
            total -= row[j] * entries[j]
        row[n] = total
        t.rows[VALUE, i] += total * at
        t.A[i, n] = a[i]
    t.q[n], nonbasic[n] = q, n
    columns[VALUE, n], columns[LOW, n], columns[HIGH, n], columns[PRICE, n] = at, floor, ceiling, price
    size[COLUMNS] = n + 1


@njit
def release(t: Tableau, q: int) -> None:
    """Bring a row, the q-th nonbasic variable, into the basis at the cost of the first to block it, or else of an x."""
    T, basic, rows, columns, m = t.T, t.basic, t.rows, t.columns, t.size[ROWS]
    sign = -1.0 if columns[PRICE, q] > 0.0 else 1.0
    p, target, length, largest = m, 0.0, np.inf, 0.0
    for i in range(m):
        entry = sign * T[i, q]
        bound = rows[HIGH, i] if entry > 0.0 else rows[LOW, i]
        gap = (bound - rows[VALUE, i]) / entry if abs(entry) > 1e-7 else np.inf
        if gap < length or (gap == length and abs(entry) > largest and (gap < np.inf or basic[i] >= 0)):
            p, target, length, largest = i, bound, gap, abs(entry)
    if length == np.inf:
        target = nearest(rows[VALUE, p], rows[LOW, p], rows[HIGH, p])
    step(t, p, q, (target - rows[VALUE, p]) / T[p, q], target, np.empty(0))
