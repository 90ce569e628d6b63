"""Changes of a dense dictionary, compiled by numba: refactorisation, new rows and columns, rows that enter the basis.

Symbols are those of `tableau`. A new row value a'x + g becomes basic; it is expressed by the nonbasic variables, after
the basic variables in it are substituted. A new column x_j becomes nonbasic, and adds a_i x_j to the value of row i.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.jit import njit, njit_inner
from milopt.solvers.native.dense_simplex.tableau import (
    AGE,
    COLUMNS,
    HIGH,
    LOW,
    MIN_PIVOT,
    PRICE,
    ROWS,
    VALUE,
    Tableau,
    exchange_variables,
    make_pivot,
)


@njit
def refactorise(t: Tableau) -> None:
    """Compute the dictionary T from the coefficients A again, for the same basis, in place.

    If the basic columns are linearly dependent, the redundant ones leave the basis, each at its nearest finite bound,
    or at 0 if it has none. All other variables keep their values.
    """
    A, T, basic, rows, nonbasic, columns, size = t.A, t.T, t.basic, t.rows, t.nonbasic, t.columns, t.size
    m, n = size[ROWS], size[COLUMNS]
    old_basic, old_rows, old_nonbasic, old_columns = basic.copy(), rows.copy(), nonbasic.copy(), columns.copy()
    is_wanted, is_free, price = np.zeros(n), np.zeros(m), np.zeros(m)
    for j in range(n):
        name = old_nonbasic[j]
        to, place = (columns, name) if name >= 0 else (rows, ~name)
        for k in range(PRICE):
            to[k, place] = old_columns[k, j]
        if name < 0:
            is_free[~name], price[~name] = 1.0, old_columns[PRICE, j]
    for i in range(m):
        name = old_basic[i]
        to, place = (columns, name) if name >= 0 else (rows, ~name)
        for k in range(PRICE):
            to[k, place] = old_rows[k, i]
        if name >= 0:
            is_wanted[name] = 1.0
    for i in range(m):
        basic[i] = ~i
        for j in range(n):
            T[i, j] = A[i, j]
    for j in range(n):
        nonbasic[j], columns[PRICE, j] = j, 0.0
    no_norms = np.empty(0)
    for j in range(n):
        if is_wanted[j] == 1.0:
            p, best = m, MIN_PIVOT
            for i in range(m):
                if is_free[i] == 1.0 and abs(T[i, j]) > best:
                    p, best = i, abs(T[i, j])
            if p == m:
                columns[VALUE, j] = nearest_bound(columns[VALUE, j], columns[LOW, j], columns[HIGH, j])
            else:
                exchange_variables(t, p, j, no_norms)
                rows[VALUE, p], columns[VALUE, j] = columns[VALUE, j], rows[VALUE, p]
                columns[PRICE, j], is_free[p] = price[p], 0.0
    size[AGE] = 0


@njit_inner
def nearest_bound(value: float, low: float, high: float) -> float:
    """Return the finite bound nearest to `value`, or 0 if both bounds are infinite."""
    if low == -np.inf and high == np.inf:
        return 0.0
    return low if abs(value - low) <= abs(value - high) else high


@njit
def append_row(t: Tableau, a: Vector, g: float, low: float, high: float) -> None:
    """Append the row  low <= a'x + g <= high,  whose value becomes basic. The tableau must have space for the row."""
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
def append_column(t: Tableau, a: Vector, q: float, low: float, high: float) -> None:
    """Append a column with cost q, one coefficient per row in `a`, and bounds `low` and `high`.

    Its variable becomes nonbasic, at the finite bound nearest to 0, or at 0 if both bounds are infinite. The tableau
    must have space for the column.
    """
    columns, basic, nonbasic, size = t.columns, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    entries, price = np.zeros(n), q
    for j in range(n):
        if nonbasic[j] < 0:
            entries[j] = a[~nonbasic[j]]
            price -= entries[j] * columns[PRICE, j]
    value = nearest_bound(0.0, low, high)
    for i in range(m):
        row = t.T[i]
        total = a[~basic[i]] if basic[i] < 0 else 0.0
        for j in range(n):
            total -= row[j] * entries[j]
        row[n] = total
        t.rows[VALUE, i] += total * value
        t.A[i, n] = a[i]
    t.q[n], nonbasic[n] = q, n
    columns[VALUE, n], columns[LOW, n], columns[HIGH, n], columns[PRICE, n] = value, low, high, price
    size[COLUMNS] = n + 1


@njit
def bring_row_into_basis(t: Tableau, q: int) -> None:
    """Bring the q-th nonbasic variable, the value of a row, into the basis.

    The variable moves in the direction that does not increase the objective. The first basic variable that reaches a
    bound leaves the basis. If none does, the basic x_j with the largest entry in column q of T leaves, at its nearest
    finite bound or at 0.
    """
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
        target = nearest_bound(rows[VALUE, p], rows[LOW, p], rows[HIGH, p])
    make_pivot(t, p, q, (target - rows[VALUE, p]) / T[p, q], target, np.empty(0))
