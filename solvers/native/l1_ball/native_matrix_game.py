"""A small matrix game as a linear program, solved by the dense simplex method and kept between solves.

It is the game of `game`, restricted to a few strategies of each player. One player chooses a selection s: one instance
s(i) of each bag i. The other player chooses a signed atom +-e_z of the dictionary, or 0. The bags are divided into
groups G, so that a few selections per group represent all combinations of them:

    min  sum_G t_G - c'x   s.t.  t_G >= v'x  for selections s of G, v = sum_{i in G} d_i k_{s(i)},   1'x <= 1,   x >= 0

x_j is the weight of the j-th signed atom in the game. d_i >= 0 is the weight of bag i, k_x = (K[z, x])_z has the
similarities of instance x to all atoms, and c is the linear term of the game. In c'x and v'x, the entry of c or v for
the signed atom e_z is the one at z, and for -e_z its negative. Selections do not depend on d or c, so they are kept
when d and c change. Compiled by numba; all functions have plain arrays as arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Matrix, Vector
from milopt.jit import njit_inner
from milopt.solvers.native.dense_simplex.changes import append_column, append_row, refactorise
from milopt.solvers.native.dense_simplex.tableau import (
    COLUMNS,
    HIGH,
    LOW,
    PRICE,
    ROWS,
    VALUE,
    Tableau,
    empty_tableau,
    primal_values,
    row_multipliers,
)
from milopt.solvers.native.l1_ball.similarities import Index, Similarities, add_scaled_row

MAX_GROUPS, MAX_SELECTIONS, MAX_ATOMS = 12, 600, 500
"""Maximum numbers of groups, selections and atoms of a small game."""
LARGEST_SCALED_ENTRY = 64.0
"""Approximate largest entry of the scaled rows and costs.

A value above 1 makes the simplex method's tolerances relatively smaller.
"""
COST_NOISE_FRACTION = 1e-6
"""Largest |w_z| (see `game`), relative to the terms whose difference it is, that is not scaled up as noise."""


class NativeMatrixGame(NamedTuple):
    """A small game: its tableau, selections, atoms, and scaling (symbols as in the module docstring)."""

    tableau: Tableau
    """Simplex tableau.

    Row 0 is  1 - 1'x >= 0,  and the other rows are the selections. The first columns are the t_G, each divided by the
    weight of its group, and the other columns are the atoms.
    """
    groups: Index
    """Number of groups, as an array of length 1. Bag i is in group i modulo this number."""
    selections: Index
    """One row per selection: an instance of every bag, of which only those of its group are used."""
    group: Index
    """Group of each selection."""
    idle_selections: Index
    """Number of games since each selection last had a positive multiplier."""
    means: Matrix
    """One row per selection: its v, divided by the weight of its group."""
    atoms: Index
    """Signed atom of each column: z for e_z, ~z for -e_z."""
    idle_atoms: Index
    """Number of games since each atom last had a positive weight x_j."""
    is_in_game: Index
    """Flags of the atoms in the game: e_z in the first row, -e_z in the second."""
    last_witnesses: Index
    """Instance of each bag with the largest k_x'a at the last evaluated point a."""
    weight: Vector
    """Weight sum_{i in G} d_i of each group."""
    c: Vector
    """Linear term c, one entry per (unsigned) atom."""
    scale: Vector
    """Factor of the rows and factor of the costs in the tableau, as an array of length 2."""


def empty_matrix_game(m: int, k: int, largest: float) -> NativeMatrixGame:
    """Return a game without strategies yet, for m bags and a dictionary of k points; `largest` is max |K[z, x]|."""
    groups, atoms = min(m, MAX_GROUPS), min(2 * k, MAX_ATOMS)
    return NativeMatrixGame(
        tableau=empty_tableau(MAX_SELECTIONS + 1, groups + atoms),
        groups=np.full(1, groups, dtype=np.int64),
        selections=np.zeros((MAX_SELECTIONS, m), dtype=np.int64),
        group=np.zeros(MAX_SELECTIONS, dtype=np.int64),
        idle_selections=np.zeros(MAX_SELECTIONS, dtype=np.int64),
        means=np.zeros((MAX_SELECTIONS, k)),
        atoms=np.zeros(atoms, dtype=np.int64),
        idle_atoms=np.zeros(atoms, dtype=np.int64),
        is_in_game=np.zeros((2, k), dtype=np.int64),
        last_witnesses=np.zeros(m, dtype=np.int64),
        weight=np.zeros(groups),
        c=np.zeros(k),
        scale=np.array([LARGEST_SCALED_ENTRY * 2.0 ** -np.round(np.log2(largest or 1.0)), 1.0]),
    )


@njit_inner
def reset_matrix_game(g: NativeMatrixGame, witnesses: Index) -> None:
    """Remove all selections and atoms, and set `last_witnesses` to `witnesses`, one instance per bag."""
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
    g.is_in_game[:] = 0
    g.last_witnesses[:] = witnesses


@njit_inner
def set_weights(g: NativeMatrixGame, s: Similarities, d: Vector) -> None:
    """Change the bag weights to d, and compute the means of all selections again. Call `rebuild_tableau` afterwards."""
    n = g.groups[0]
    g.weight[:] = 0.0
    for i in range(d.size):
        g.weight[i % n] += d[i]
    for selection in range(g.tableau.size[ROWS] - 1):
        _update_selection_mean(g, s, d, selection)


@njit_inner
def rebuild_tableau(g: NativeMatrixGame) -> None:
    """Compute the tableau of the current game again, with the same basis, after its weights or size changed."""
    for selection in range(g.tableau.size[ROWS] - 1):
        _write_row(g, selection, g.tableau.A[selection + 1])
    _set_costs(g)
    refactorise(g.tableau)


@njit_inner
def set_linear_term(g: NativeMatrixGame, s: Similarities, d: Vector, c: Vector) -> None:
    """Change the linear term to c, and update the costs and their scale. The basis is kept.

    The scale is estimated from the last witnesses and the bag weights d.
    """
    g.c[:] = c
    w, possible = -c, 0.0
    for i in range(d.size):
        if d[i] > 0.0:
            add_scaled_row(s, g.last_witnesses[i], d[i], w)
            possible += d[i] * LARGEST_SCALED_ENTRY / g.scale[0]
    largest = 0.0
    for z in range(w.size):
        largest = max(largest, abs(w[z]), COST_NOISE_FRACTION * (abs(c[z]) + possible))
    g.scale[1] = LARGEST_SCALED_ENTRY * 2.0 ** -np.round(np.log2(largest)) if largest > 0.0 else 1.0
    _set_costs(g)


@njit_inner
def _set_costs(g: NativeMatrixGame) -> None:
    """Write the scaled costs of t_G and of the atoms to the tableau."""
    t, n = g.tableau, g.groups[0]
    for j in range(n):
        t.q[j] = g.scale[1] / g.scale[0] * g.weight[j]
    for j in range(t.size[COLUMNS] - n):
        t.q[n + j] = -g.scale[1] * _signed_entry(g.c, g.atoms[j])


@njit_inner
def _signed_entry(values: Vector, atom: int) -> float:
    """Return values[z] for the atom e_z (atom = z), and -values[z] for -e_z (atom = ~z)."""
    return float(values[atom] if atom >= 0 else -values[~atom])


@njit_inner
def _update_selection_mean(g: NativeMatrixGame, s: Similarities, d: Vector, selection: int) -> None:
    """Compute the mean of a selection:  v = sum_{i in G} d_i k_{s(i)},  divided by the weight of its group G.

    The mean is 0 if that weight is 0.
    """
    n, group = g.groups[0], g.group[selection]
    total, witnesses, weight = g.means[selection], g.selections[selection], g.weight[group]
    total[:] = 0.0
    if weight > 0.0:
        for i in range(group, d.size, n):
            if d[i] > 0.0:
                add_scaled_row(s, witnesses[i], d[i] / weight, total)


@njit_inner
def _write_row(g: NativeMatrixGame, selection: int, row: Vector) -> None:
    """Write the scaled coefficients of  t_G - v'x,  divided by the weight of the group G, to `row`."""
    n, mean = g.groups[0], g.means[selection]
    for j in range(n):
        row[j] = 0.0
    row[g.group[selection]] = 1.0
    for j in range(g.tableau.size[COLUMNS] - n):
        row[n + j] = -g.scale[0] * _signed_entry(mean, g.atoms[j])


@njit_inner
def add_selection(g: NativeMatrixGame, s: Similarities, d: Vector, group: int) -> bool:
    """Add the last witnesses as a selection of a group. Return True, or False without a change if there is no space."""
    t = g.tableau
    selection = t.size[ROWS] - 1
    if selection == g.idle_selections.size:
        return False
    g.selections[selection], g.group[selection], g.idle_selections[selection] = g.last_witnesses, group, 0
    _update_selection_mean(g, s, d, selection)
    row = np.zeros(t.size[COLUMNS])
    _write_row(g, selection, row)
    append_row(t, row, 0.0, 0.0, np.inf)
    return True


@njit_inner
def add_atom(g: NativeMatrixGame, atom: int) -> bool:
    """Add a signed atom (z for e_z, ~z for -e_z). Return True, or False without a change if there is no space."""
    t = g.tableau
    count, m = t.size[COLUMNS] - g.groups[0], t.size[ROWS]
    if count == g.atoms.size:
        return False
    g.atoms[count], g.idle_atoms[count] = atom, 0
    g.is_in_game[0 if atom >= 0 else 1, atom if atom >= 0 else ~atom] = 1
    column = np.zeros(m)
    column[0] = -1.0
    for selection in range(m - 1):
        column[selection + 1] = -g.scale[0] * _signed_entry(g.means[selection], atom)
    append_column(t, column, -g.scale[1] * _signed_entry(g.c, atom), 0.0, np.inf)
    return True


@njit_inner
def update_idle_counts(g: NativeMatrixGame) -> None:
    """Set the idle counts of selections with multipliers > 0 and of atoms with x_j > 0 to 0; add 1 to the others."""
    x, z, n = primal_values(g.tableau), row_multipliers(g.tableau), g.groups[0]
    for selection in range(z.size - 1):
        g.idle_selections[selection] = 0 if z[selection + 1] > 0.0 else g.idle_selections[selection] + 1
    for j in range(x.size - n):
        g.idle_atoms[j] = 0 if x[n + j] > 0.0 else g.idle_atoms[j] + 1


@njit_inner
def drop_idle_strategies(g: NativeMatrixGame, idle: int) -> None:
    """Remove selections and atoms that were unused in more than `idle` games. Call `rebuild_tableau` afterwards.

    Nonbasic selections and basic atoms are never removed, so that the remaining rows and columns keep their basis.
    """
    t, n = g.tableau, g.groups[0]
    basic, nonbasic, size = t.basic, t.nonbasic, t.size
    row, column = np.arange(size[ROWS]), np.arange(size[COLUMNS])
    n_kept = 0
    for i in range(row.size):
        atom = basic[i]
        if atom < -1 and g.idle_selections[~atom - 1] > idle:
            row[~atom] = -1
        else:
            basic[n_kept] = atom
            for part in range(PRICE):
                t.rows[part, n_kept] = t.rows[part, i]
            n_kept += 1
    size[ROWS] = n_kept
    n_kept = 0
    for j in range(column.size):
        atom = nonbasic[j]
        if atom >= n and g.idle_atoms[atom - n] > idle:
            column[atom] = -1
        else:
            nonbasic[n_kept] = atom
            for part in range(PRICE + 1):
                t.columns[part, n_kept] = t.columns[part, j]
            n_kept += 1
    size[COLUMNS] = n_kept
    _renumber_strategies(g, row, column)


@njit_inner
def _renumber_strategies(g: NativeMatrixGame, row: Index, column: Index) -> None:
    """Close the gaps left by removed selections and atoms, and renumber the variables of the tableau.

    `row` and `column` have -1 at removed rows and columns. Their other entries are overwritten with the new numbers.
    """
    t, n = g.tableau, g.groups[0]
    n_kept = 0
    for i in range(row.size):
        if row[i] >= 0:
            row[i] = n_kept
            if n_kept < i:
                g.selections[n_kept - 1], g.group[n_kept - 1] = g.selections[i - 1], g.group[i - 1]
                g.means[n_kept - 1], g.idle_selections[n_kept - 1] = g.means[i - 1], g.idle_selections[i - 1]
            n_kept += 1
    n_kept = 0
    g.is_in_game[:] = 0
    for j in range(column.size):
        if column[j] >= 0:
            column[j] = n_kept
            if j >= n:
                atom = g.atoms[j - n]
                g.atoms[n_kept - n], g.idle_atoms[n_kept - n] = atom, g.idle_atoms[j - n]
                g.is_in_game[0 if atom >= 0 else 1, atom if atom >= 0 else ~atom] = 1
            n_kept += 1
    for i in range(t.size[ROWS]):
        atom = t.basic[i]
        t.basic[i] = column[atom] if atom >= 0 else ~row[~atom]
    for j in range(t.size[COLUMNS]):
        atom = t.nonbasic[j]
        t.nonbasic[j] = column[atom] if atom >= 0 else ~row[~atom]
