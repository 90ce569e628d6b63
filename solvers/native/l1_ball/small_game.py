"""A small matrix game as a linear program that the dense simplex method keeps alive.

The bags of one player are divided into groups G, so that a few selections of each stand for all their combinations:

    min  sum_G t_G - c'x   s.t.  t_G >= v'x  for selections s of G, v = sum_{i in G} d_i k_{s(i)},   1'x <= 1,   x >= 0

with an entry of x a signed atom +-e_z. Selections do not depend on d or c, so they stay when these change. Compiled by
numba; all functions take plain arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Matrix, Vector
from milopt.compiled import njit_inner
from milopt.solvers.native.dense_simplex.changes import append_column, append_row, reset
from milopt.solvers.native.dense_simplex.tableau import (
    COLUMNS,
    HIGH,
    LOW,
    PRICE,
    ROWS,
    VALUE,
    Tableau,
    columns_of,
    empty_tableau,
    multipliers_of,
)
from milopt.solvers.native.l1_ball.similarities import Index, Similarities, add_row

GROUPS, SELECTIONS, ATOMS = 12, 600, 500
"""Of the largest small game."""
FINER = 64.0
"""By which rows and costs are larger than 1, so that the simplex method's tolerances are smaller."""
NOISE = 1e-6
"""Payoffs this small beside what they are the difference of are not magnified further."""


class Game(NamedTuple):
    """A small game, and what it is played with."""

    tableau: Tableau
    """Row 0 is the ball, then a row a selection; columns t_G, in units of the group's weight, then a column an atom."""
    groups: Index
    """How many, as an array of one: bag i is in group i modulo that."""
    selections: Index
    """A row a selection: an instance of every bag, of which those of its group matter."""
    group: Index
    """Of each selection."""
    idle: Index
    """Games since it was of use."""
    means: Matrix
    """v over the group's weight, a row a selection."""
    atoms: Index
    """z for e_z, ~z for -e_z, an entry a column."""
    unused: Index
    """Games since it was of use."""
    place: Index
    """Whether e_z, and in the second row -e_z, is in the game."""
    newest: Index
    """The instance of each bag that was its largest last."""
    weight: Vector
    """sum_{i in G} d_i."""
    c: Vector
    scale: Vector
    """The factors of rows and of costs in the tableau."""


def empty_game(m: int, k: int, largest: float) -> Game:
    """No selections and no atoms yet; `largest` is the largest |K|."""
    groups, atoms = min(m, GROUPS), min(2 * k, ATOMS)
    return Game(
        tableau=empty_tableau(SELECTIONS + 1, groups + atoms),
        groups=np.full(1, groups, dtype=np.int64),
        selections=np.zeros((SELECTIONS, m), dtype=np.int64),
        group=np.zeros(SELECTIONS, dtype=np.int64),
        idle=np.zeros(SELECTIONS, dtype=np.int64),
        means=np.zeros((SELECTIONS, k)),
        atoms=np.zeros(atoms, dtype=np.int64),
        unused=np.zeros(atoms, dtype=np.int64),
        place=np.zeros((2, k), dtype=np.int64),
        newest=np.zeros(m, dtype=np.int64),
        weight=np.zeros(groups),
        c=np.zeros(k),
        scale=np.array([FINER * 2.0 ** -np.round(np.log2(largest or 1.0)), 1.0]),
    )


@njit_inner
def clear(g: Game, chosen: Index) -> None:
    """No selections and no atoms; the newest instances are as given."""
    t, n = g.tableau, g.groups[0]
    size, rows, columns = t.size, t.rows, t.columns
    size[:] = 0
    size[ROWS], size[COLUMNS] = 1, n
    t.A[0], t.T[0], t.g[0] = 0.0, 0.0, 1.0
    t.basic[0] = -1
    rows[VALUE, 0], rows[LOW, 0], rows[HIGH, 0] = 1.0, 0.0, np.inf
    for j in range(n):
        t.nonbasic[j] = j
        columns[VALUE, j], columns[LOW, j], columns[HIGH, j], columns[PRICE, j] = 0.0, -np.inf, np.inf, 0.0
    g.place[:] = 0
    g.newest[:] = chosen


@njit_inner
def set_weights(g: Game, s: Similarities, d: Vector) -> None:
    """Other d; `rebuild` comes next."""
    n = g.groups[0]
    g.weight[:] = 0.0
    for i in range(d.size):
        g.weight[i % n] += d[i]
    for number in range(g.tableau.size[ROWS] - 1):
        _mean(g, s, d, number)


@njit_inner
def rebuild(g: Game) -> None:
    """The tableau of the game as it is now, with the same basis."""
    for number in range(g.tableau.size[ROWS] - 1):
        _fill(g, number, g.tableau.A[number + 1])
    _set_costs(g)
    reset(g.tableau)


@njit_inner
def set_pull(g: Game, s: Similarities, d: Vector, c: Vector) -> None:
    """Other c: other costs, the basis stays."""
    g.c[:] = c
    w, possible = -c, 0.0
    for i in range(d.size):
        if d[i] > 0.0:
            add_row(s, g.newest[i], d[i], w)
            possible += d[i] * FINER / g.scale[0]
    largest = 0.0
    for z in range(w.size):
        largest = max(largest, abs(w[z]), NOISE * (abs(c[z]) + possible))
    g.scale[1] = FINER * 2.0 ** -np.round(np.log2(largest)) if largest > 0.0 else 1.0
    _set_costs(g)


@njit_inner
def _set_costs(g: Game) -> None:
    t, n = g.tableau, g.groups[0]
    for j in range(n):
        t.q[j] = g.scale[1] / g.scale[0] * g.weight[j]
    for j in range(t.size[COLUMNS] - n):
        t.q[n + j] = -g.scale[1] * _signed(g.c, g.atoms[j])


@njit_inner
def _signed(values: Vector, name: int) -> float:
    """The entry of an atom."""
    return float(values[name] if name >= 0 else -values[~name])


@njit_inner
def _mean(g: Game, s: Similarities, d: Vector, number: int) -> None:
    n, group = g.groups[0], g.group[number]
    total, chosen, weight = g.means[number], g.selections[number], g.weight[group]
    total[:] = 0.0
    if weight > 0.0:
        for i in range(group, d.size, n):
            if d[i] > 0.0:
                add_row(s, chosen[i], d[i] / weight, total)


@njit_inner
def _fill(g: Game, number: int, row: Vector) -> None:
    """The coefficients of  t_G - v'x."""
    n, mean = g.groups[0], g.means[number]
    for j in range(n):
        row[j] = 0.0
    row[g.group[number]] = 1.0
    for j in range(g.tableau.size[COLUMNS] - n):
        row[n + j] = -g.scale[0] * _signed(mean, g.atoms[j])


@njit_inner
def add_selection(g: Game, s: Similarities, d: Vector, group: int) -> bool:
    """A row more, of the newest instances; whether there was room."""
    t = g.tableau
    number = t.size[ROWS] - 1
    if number == g.idle.size:
        return False
    g.selections[number], g.group[number], g.idle[number] = g.newest, group, 0
    _mean(g, s, d, number)
    row = np.zeros(t.size[COLUMNS])
    _fill(g, number, row)
    append_row(t, row, 0.0, 0.0, np.inf)
    return True


@njit_inner
def add_atom(g: Game, name: int) -> bool:
    """A column more; whether there was room."""
    t = g.tableau
    count, m = t.size[COLUMNS] - g.groups[0], t.size[ROWS]
    if count == g.atoms.size:
        return False
    g.atoms[count], g.unused[count] = name, 0
    g.place[0 if name >= 0 else 1, name if name >= 0 else ~name] = 1
    column = np.zeros(m)
    column[0] = -1.0
    for number in range(m - 1):
        column[number + 1] = -g.scale[0] * _signed(g.means[number], name)
    append_column(t, column, -g.scale[1] * _signed(g.c, name), 0.0, np.inf)
    return True


@njit_inner
def count_idle(g: Game) -> None:
    """Note which selections and atoms were of use in this game."""
    x, z, n = columns_of(g.tableau), multipliers_of(g.tableau), g.groups[0]
    for number in range(z.size - 1):
        g.idle[number] = 0 if z[number + 1] > 0.0 else g.idle[number] + 1
    for j in range(x.size - n):
        g.unused[j] = 0 if x[n + j] > 0.0 else g.unused[j] + 1


@njit_inner
def drop_idle(g: Game, idle: int) -> None:
    """Let selections and atoms go that were of no use for so many games; `rebuild` comes next."""
    t, n = g.tableau, g.groups[0]
    basic, nonbasic, size = t.basic, t.nonbasic, t.size
    row, column = np.arange(size[ROWS]), np.arange(size[COLUMNS])
    kept = 0
    for i in range(row.size):
        name = basic[i]
        if name < -1 and g.idle[~name - 1] > idle:
            row[~name] = -1
        else:
            basic[kept] = name
            for part in range(PRICE):
                t.rows[part, kept] = t.rows[part, i]
            kept += 1
    size[ROWS] = kept
    kept = 0
    for j in range(column.size):
        name = nonbasic[j]
        if name >= n and g.unused[name - n] > idle:
            column[name] = -1
        else:
            nonbasic[kept] = name
            for part in range(PRICE + 1):
                t.columns[part, kept] = t.columns[part, j]
            kept += 1
    size[COLUMNS] = kept
    _renumber(g, row, column)


@njit_inner
def _renumber(g: Game, row: Index, column: Index) -> None:
    """Close the gaps that rows and columns marked by -1 leave."""
    t, n = g.tableau, g.groups[0]
    kept = 0
    for i in range(row.size):
        if row[i] >= 0:
            row[i] = kept
            if kept < i:
                g.selections[kept - 1], g.group[kept - 1] = g.selections[i - 1], g.group[i - 1]
                g.means[kept - 1], g.idle[kept - 1] = g.means[i - 1], g.idle[i - 1]
            kept += 1
    kept = 0
    g.place[:] = 0
    for j in range(column.size):
        if column[j] >= 0:
            column[j] = kept
            if j >= n:
                name = g.atoms[j - n]
                g.atoms[kept - n], g.unused[kept - n] = name, g.unused[j - n]
                g.place[0 if name >= 0 else 1, name if name >= 0 else ~name] = 1
            kept += 1
    for i in range(t.size[ROWS]):
        name = t.basic[i]
        t.basic[i] = column[name] if name >= 0 else ~row[~name]
    for j in range(t.size[COLUMNS]):
        name = t.nonbasic[j]
        t.nonbasic[j] = column[name] if name >= 0 else ~row[~name]
