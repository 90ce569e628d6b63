"""A dense dictionary of a linear program, compiled by numba: every basic variable as a function of the others.

Variables are the columns x and the rows' values  r = A x + g,  all between bounds; m of the n + m are basic, and

    basic = T nonbasic + constant,     q'x = price' nonbasic + constant,     x_j is named j and r_i is named ~i.

The prices of nonbasic r are the multipliers of their rows. Where k of the x are basic (J), k of the r are not (I), and
the part of T between them is the inverse of A[I, J]: it corrects values and prices from the residuals they leave. One
exchange costs O(mn), and so does a row or column more; at a hundred rows of a dense program that is a few microseconds.

All functions take plain arrays, and may be called from other compiled code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from milopt.arrays import Matrix, Vector
from milopt.compiled import njit, njit_inlined, njit_inner

Index = npt.NDArray[np.int64]

ROWS, COLUMNS, AGE, STALLED, PERTURBED, ROUNDS, METHOD = range(7)
"""Places in `Tableau.size`: m, n, exchanges since T was made afresh, then what a solve keeps of itself."""
VALUE, LOW, HIGH, PRICE = range(4)
"""Places in `Tableau.rows` and `Tableau.columns`."""
DONE, BLOCKED, MORE, SMALL = range(4)
"""Ends of a sequence of steps: nothing left to do, no variable blocks, enough steps, an entry too small to trust."""
TOLERANCE = 1e-9
"""Violations of bounds, over 1 + the bound, and wrong signs of prices that count as none."""
SLACK = 1e-10
"""What Harris's ratio tests allow on the way."""
SINGULAR, DOUBTFUL = 1e-9, 1e-5
"""Entries up to which no exchange is made, and up to which a dictionary that has aged is made afresh first."""
ROUNDING = 1e-15
"""Residuals, over the size of the numbers, that no correction makes smaller."""
PATIENCE = 60
"""Steps without progress, and as many more as there are rows, after which something is done about it."""


class Tableau(NamedTuple):
    """The arrays of a dictionary, of which the first m rows and n columns are used, so that it can grow in place."""

    A: Matrix
    g: Vector
    q: Vector
    T: Matrix
    basic: Index
    """Names of the basic variables, in the order of T's rows."""
    rows: Matrix
    """Their VALUE, LOW and HIGH bound."""
    nonbasic: Index
    """Names of the nonbasic variables, in the order of T's columns."""
    columns: Matrix
    """Their VALUE, LOW and HIGH bound, and PRICE."""
    size: Index
    """Counts: see ROWS and the others."""


def empty_tableau(rows: int, columns: int) -> Tableau:
    """Room for so many rows and columns, none of them used."""
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
def exchange(t: Tableau, p: int, q: int, norms: Vector) -> None:
    """Swap the p-th basic with the q-th nonbasic variable.

    Names and bounds change places; values and prices are the caller's to set. `norms` are kept at 1 + the squared
    lengths of T's rows; who has no use for them hands over none.
    """
    rows, columns, T, basic, nonbasic, size = t.rows, t.columns, t.T, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    # A row of its own and no views of T: the compiler then knows what may not overlap.
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
def columns_of(t: Tableau) -> Vector:
    """x, wherever its entries are."""
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
def multipliers_of(t: Tableau) -> Vector:
    """z, the prices of rows that are not basic."""
    nonbasic, size = t.nonbasic, t.size
    z = np.zeros(size[ROWS])
    for j in range(size[COLUMNS]):
        if nonbasic[j] < 0:
            z[~nonbasic[j]] = t.columns[PRICE, j]
    return z


@njit_inner
def _rows_at(t: Tableau, x: Vector) -> Vector:
    """A x + g."""
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
def _costs_less(t: Tableau, z: Vector) -> Vector:
    """q - A'z."""
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
def revalue(t: Tableau) -> float:
    """Correct the basic values from the rows' residuals; how large these were, over the size of x and r."""
    rows, columns, basic, nonbasic, size = t.rows, t.columns, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    r = _rows_at(t, columns_of(t))
    residual, worst, largest = np.zeros(n), 0.0, 1.0
    for j in range(n):
        largest = max(largest, abs(columns[VALUE, j]))
        if nonbasic[j] < 0:
            residual[j] = r[~nonbasic[j]] - columns[VALUE, j]
            worst = max(worst, abs(residual[j]))
    for i in range(m):
        if basic[i] >= 0:
            largest = max(largest, abs(rows[VALUE, i]))
    if worst > ROUNDING * largest:
        for i in range(m):
            if basic[i] >= 0:
                row, change = t.T[i], 0.0
                for j in range(n):
                    change += row[j] * residual[j]
                rows[VALUE, i] -= change
        r = _rows_at(t, columns_of(t))
    for i in range(m):
        if basic[i] < 0:
            rows[VALUE, i] = r[~basic[i]]
    return worst / largest


@njit_inner
def reprice(t: Tableau) -> float:
    """Correct the prices from the costs' residuals; how large these were, over the size of q and z."""
    columns, basic, nonbasic, size = t.columns, t.basic, t.nonbasic, t.size
    m, n = size[ROWS], size[COLUMNS]
    z = multipliers_of(t)
    d = _costs_less(t, z)
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
    if worst > ROUNDING * largest:
        for j in range(n):
            if nonbasic[j] < 0:
                columns[PRICE, j] += change[j]
        d = _costs_less(t, multipliers_of(t))
    for j in range(n):
        if nonbasic[j] >= 0:
            columns[PRICE, j] = d[nonbasic[j]]
    return worst / largest


@njit_inlined
def move(t: Tableau, j: int, change: float) -> None:
    """What the basic variables become when the j-th nonbasic one changes."""
    T, rows = t.T, t.rows
    for i in range(t.size[ROWS]):
        rows[VALUE, i] += T[i, j] * change


@njit_inner
def step(t: Tableau, p: int, q: int, change: float, target: float, norms: Vector) -> None:
    """The q-th nonbasic variable moves by `change`, and takes the place of the p-th basic one at `target`."""
    rows, columns, row = t.rows, t.columns, t.T[p]
    theta = columns[PRICE, q] / row[q]
    for j in range(t.size[COLUMNS]):
        columns[PRICE, j] -= theta * row[j]
    move(t, q, change)
    rows[VALUE, p] = columns[VALUE, q] + change
    columns[VALUE, q], columns[PRICE, q] = target, theta
    exchange(t, p, q, norms)


@njit_inlined
def is_stuck(t: Tableau) -> bool:
    """Whether there was no progress for long."""
    return bool(t.size[STALLED] > PATIENCE + t.size[ROWS])


@njit_inlined
def is_wrong(t: Tableau, j: int, tolerance: float) -> bool:
    """Whether moving the j-th nonbasic variable, as its bounds allow, would pay."""
    value, low, high, price = t.columns[VALUE, j], t.columns[LOW, j], t.columns[HIGH, j], t.columns[PRICE, j]
    return bool((price < -tolerance and value < high) or (price > tolerance and value > low))


@njit_inlined
def violation(t: Tableau, i: int) -> float:
    """How far the i-th basic variable is below (negative: above) its bounds; 0 within the tolerance."""
    value, low, high = t.rows[VALUE, i], t.rows[LOW, i], t.rows[HIGH, i]
    if low - value > TOLERANCE * (1.0 + abs(low)):
        return float(low - value)
    if value - high > TOLERANCE * (1.0 + abs(high)):
        return float(high - value)
    return 0.0
