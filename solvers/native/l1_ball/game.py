"""The convex step of a weak learner over the 1-norm ball as a matrix game, solved by the double oracle method.

    min  F(a) = sum_{i in I-} d_i max_{x in B_i} k_x'a - c'a   over ||a||_1 <= 1

I- are the bags with negative weight -d_i. The vector k_x = (K[z, x])_z has the similarities of instance x to the atoms
z of the dictionary, e_z is the unit vector of atom z, c is the linear term of the convex step, and u(x) = k_x'a. One
player selects an instance of each bag of I-, the other plays a signed atom +-e_z or 0. A small game with few selections
and few atoms (`native_matrix_game`) is solved, and extended by each player's best response to its solution:

    the atoms with the largest |w_z|, where w is the mean of the selections, weighted by their multipliers, minus c
    for each group G of bags whose t_G (its value in the small game) is too small, the instances of the largest u(x)

This is repeated until the bounds on the minimum meet: F(a) at an a of 1-norm 1 (or 0) from above, and -||w||_inf from
below. A round costs one simplex solve of the small game and one pass over the instances of I-. Compiled by numba.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.jit import njit_inner
from milopt.solvers.native.dense_simplex.driver import (
    OPTIMAL,
    make_simplex_steps,
    prepare_solve_after_append,
    reset_solve_counters,
)
from milopt.solvers.native.dense_simplex.tableau import ROWS, primal_values, row_multipliers
from milopt.solvers.native.l1_ball.native_matrix_game import (
    LARGEST_SCALED_ENTRY,
    NativeMatrixGame,
    add_atom,
    add_selection,
    drop_idle_strategies,
    rebuild_tableau,
    update_idle_counts,
)
from milopt.solvers.native.l1_ball.similarities import Index, Similarities, update_bag_maxima

GAP_CLOSED, GAP_OPEN, GAME_FAILED = range(3)
"""Results of a game.

GAP_CLOSED: the bounds have met. GAP_OPEN: the bounds have not met, but no better response was found or
MAX_GENERATION_ROUNDS rounds were made. GAME_FAILED: space or accuracy was insufficient.
"""
GAP_TOLERANCE, ACCEPTED_GAP = 1e-9, 1e-8
"""Difference of the bounds, relative to the largest |w_z|: target, and largest one accepted without progress."""
ZERO_NORM_TOLERANCE = 1e-12
"""Largest 1-norm at which a point counts as 0."""
MIN_GAIN_FRACTION, MAX_EXTRA_ATOMS = 0.3, 3
"""With the best atom, at most MAX_EXTRA_ATOMS others are added, whose gain exceeds this fraction of the best gain."""
MAX_GENERATION_ROUNDS = 1000
"""Maximum number of extensions by selections."""
MAX_PIVOTS = 5000
"""Maximum number of pivots per solve of the small game."""


@njit_inner
def solve_matrix_game(
    g: NativeMatrixGame, s: Similarities, d: Vector, bags: Index, a: Vector
) -> tuple[int, float, float]:
    """Solve the game over `bags`, which have d > 0, and write the best point, of 1-norm 1 or 0, to `a`.

    Returns (result, F(a), lower bound on min F), where F(a) = sum_{i in bags} d_i max_{x in B_i} k_x'a - c'a. The
    result is GAP_CLOSED if the bounds have met, GAP_OPEN if they have not but no better response was found or
    MAX_GENERATION_ROUNDS rounds were made, and GAME_FAILED if the small game had no space or its simplex method did not
    reach an optimum. The game `g` is extended in place.
    """
    t, k = g.tableau, g.c.size
    upper, lower = 0.0, -np.inf
    a[:] = 0.0
    point, w, group_values = np.zeros(k), np.zeros(k), np.zeros(g.groups[0])
    bag_maxima = np.zeros(d.size)
    tolerance = GAP_TOLERANCE * LARGEST_SCALED_ENTRY / g.scale[1]
    for group in range(g.groups[0]):
        _ensure_group_has_selection(g, s, d, group)
    reset_solve_counters(t)
    for _ in range(MAX_GENERATION_ROUNDS):
        while True:
            end, _ = make_simplex_steps(t, MAX_PIVOTS)
            if end != OPTIMAL:
                return GAME_FAILED, upper, lower
            price, best = _best_response(g, w)
            lower = max(lower, -abs(w[best if best >= 0 else ~best]))
            if -lower - price <= 0.1 * tolerance or _is_in_game(g, best):
                break
            if not _add_atoms(g, w, price, best):
                return GAME_FAILED, upper, lower
            prepare_solve_after_append(t)
        _extract_point(g, point, group_values)
        update_bag_maxima(s, point, bags, g.last_witnesses, bag_maxima)
        value = 0.0
        for z in range(k):
            value -= g.c[z] * point[z]
        for i in bags:
            value += d[i] * bag_maxima[i]
            group_values[i % group_values.size] -= d[i] * bag_maxima[i]
        if value < upper:
            upper = value
            a[:] = point
        if upper - lower <= tolerance:
            return GAP_CLOSED, upper, lower
        is_rebuilt = t.size[ROWS] + group_values.size > g.idle_selections.size
        if is_rebuilt:
            update_idle_counts(g)
            drop_idle_strategies(g, 0)
            rebuild_tableau(g)
        added = False
        for group in range(group_values.size):
            if group_values[group] < -0.01 * tolerance:
                added = True
                if not add_selection(g, s, d, group):
                    return GAME_FAILED, upper, lower
        if not added:
            break
        if is_rebuilt:
            reset_solve_counters(t)
        else:
            prepare_solve_after_append(t)
    return (GAP_CLOSED if upper - lower <= ACCEPTED_GAP / GAP_TOLERANCE * tolerance else GAP_OPEN), upper, lower


@njit_inner
def _ensure_group_has_selection(g: NativeMatrixGame, s: Similarities, d: Vector, group: int) -> None:
    """Add the last witnesses as a selection of this group if it has none, because t_G would be unbounded below."""
    for selection in range(g.tableau.size[ROWS] - 1):
        if g.group[selection] == group:
            return
    add_selection(g, s, d, group)


@njit_inner
def _add_atoms(g: NativeMatrixGame, w: Vector, price: float, best: int) -> bool:
    """Add the best response and further signed atoms with a large gain; return False if there is no space.

    The gain of an atom is |w_z| - `price`, where `price` is the multiplier of the row  1'x <= 1  of the small game (see
    `native_matrix_game`).
    """
    if not add_atom(g, best):
        return False
    min_payoff = price + MIN_GAIN_FRACTION * (abs(w[best if best >= 0 else ~best]) - price)
    for _ in range(MAX_EXTRA_ATOMS):
        other, largest = -1, min_payoff
        for z in range(w.size):
            if abs(w[z]) > largest and not _is_in_game(g, z if w[z] < 0.0 else ~z):
                other, largest = z, abs(w[z])
        if other < 0:
            break
        if not add_atom(g, other if w[other] < 0.0 else ~other):
            return False
    return True


@njit_inner
def _is_in_game(g: NativeMatrixGame, atom: int) -> bool:
    """Return True if the signed atom (z for e_z, ~z for -e_z) has been added to the matrix game."""
    return bool(g.is_in_game[0, atom] > 0 if atom >= 0 else g.is_in_game[1, ~atom] > 0)


@njit_inner
def _best_response(g: NativeMatrixGame, w: Vector) -> tuple[float, int]:
    """Write to `w` the mean of the selections, weighted by their multipliers, minus c.

    Returns (price, atom): the multiplier of the row  1'x <= 1,  and the signed atom with the largest |w_z| (z for e_z,
    ~z for -e_z).
    """
    z = row_multipliers(g.tableau)
    total = np.zeros(g.groups[0])
    for selection in range(z.size - 1):
        total[g.group[selection]] += max(0.0, z[selection + 1])
    w[:] = -g.c
    for selection in range(z.size - 1):
        if z[selection + 1] > 0.0:
            group, row = g.group[selection], g.means[selection]
            factor = z[selection + 1] / total[group] * g.weight[group]
            for j in range(w.size):
                w[j] += factor * row[j]
    best, largest = 0, -1.0
    for j in range(w.size):
        if abs(w[j]) > largest:
            best, largest = j, abs(w[j])
    return z[0] / g.scale[1], (best if w[best] < 0.0 else ~best)


@njit_inner
def _extract_point(g: NativeMatrixGame, a: Vector, group_values: Vector) -> None:
    """Write the tableau's point a, scaled to 1-norm 1 (or 0), and its values t_G, times the same factor, in place."""
    x, n = primal_values(g.tableau), g.groups[0]
    a[:] = 0.0
    for j in range(x.size - n):
        atom = g.atoms[j]
        if atom >= 0:
            a[atom] += max(0.0, x[n + j])
        else:
            a[~atom] -= max(0.0, x[n + j])
    norm = 0.0
    for z in range(a.size):
        norm += abs(a[z])
    factor = 1.0 / norm if norm > ZERO_NORM_TOLERANCE else 0.0
    for z in range(a.size):
        a[z] *= factor
    for group in range(n):
        group_values[group] = x[group] * factor * g.weight[group] / g.scale[0]
