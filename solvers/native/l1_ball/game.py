"""The convex step of a weak learner over the 1-norm ball as a matrix game, solved by a double oracle.

    min  F(a) = sum_{i in I-} d_i max_{x in B_i} k_x'a - c'a   over ||a||_1 <= 1

One player selects an instance of each bag of I-, the other has the signed atoms +-e_z and 0. A small game of few
selections and few atoms (`l1_ball_small_game`) is solved, and grows by each player's best response to the solution:

    the atoms of the largest |w_z|, where w weighs the selections by their multipliers, made to sum to 1, less c
    the selection of the largest u(x) of each bag, for each group of bags whose t is too small for it

until the bounds meet. Both are computed at normalised points: F(a), and -||w||_inf. Compiled by numba.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compiled import njit_inner
from milopt.solvers.native.dense_simplex.kernel import OPTIMAL, advance, go_on, start
from milopt.solvers.native.dense_simplex.tableau import ROWS, columns_of, multipliers_of
from milopt.solvers.native.l1_ball.similarities import Index, Similarities, maxima
from milopt.solvers.native.l1_ball.small_game import (
    FINER,
    Game,
    add_atom,
    add_selection,
    count_idle,
    drop_idle,
    rebuild,
)

CLOSED, OPEN, FAILED = range(3)
"""Ends of a game: the bounds have met, or nothing more could be found, or no room or no accuracy was left."""
GAP, ENOUGH = 1e-9, 1e-8
"""Distance of the bounds, over the largest payoff, at which they have met, and which will do where it stays."""
NOTHING = 1e-12
"""A norm this small is none."""
GOOD, MORE_ATOMS = 0.3, 3
"""Atoms that gain this part of what the best does join the game with it, so many at most."""
TURNS = 1000
PIVOTS = 5000


@njit_inner
def play(g: Game, s: Similarities, d: Vector, bags: Index, a: Vector) -> tuple[int, float, float]:
    """(end, F(a), lower bound) of the game over `bags`, where d > 0; `a` becomes the best point, of norm 1 or 0."""
    t, k = g.tableau, g.c.size
    upper, lower = 0.0, -np.inf
    a[:] = 0.0
    now, w, heights = np.zeros(k), np.zeros(k), np.zeros(g.groups[0])
    tops = np.zeros(d.size)
    tolerance = GAP * FINER / g.scale[1]
    for group in range(g.groups[0]):
        _cover(g, s, d, group)
    start(t)
    for _ in range(TURNS):
        while True:
            end, _ = advance(t, PIVOTS)
            if end != OPTIMAL:
                return FAILED, upper, lower
            price, best = _against_selections(g, w)
            lower = max(lower, -abs(w[best if best >= 0 else ~best]))
            if -lower - price <= 0.1 * tolerance or _is_known(g, best):
                break
            if not _add_atoms(g, w, price, best):
                return FAILED, upper, lower
            go_on(t)
        _point(g, now, heights)
        maxima(s, now, bags, g.newest, tops)
        worth = 0.0
        for z in range(k):
            worth -= g.c[z] * now[z]
        for i in bags:
            worth += d[i] * tops[i]
            heights[i % heights.size] -= d[i] * tops[i]
        if worth < upper:
            upper = worth
            a[:] = now
        if upper - lower <= tolerance:
            return CLOSED, upper, lower
        is_rebuilt = t.size[ROWS] + heights.size > g.idle.size
        if is_rebuilt:
            count_idle(g)
            drop_idle(g, 0)
            rebuild(g)
        added = False
        for group in range(heights.size):
            if heights[group] < -0.01 * tolerance:
                added = True
                if not add_selection(g, s, d, group):
                    return FAILED, upper, lower
        if not added:
            break
        if is_rebuilt:
            start(t)
        else:
            go_on(t)
    return (CLOSED if upper - lower <= ENOUGH / GAP * tolerance else OPEN), upper, lower


@njit_inner
def _cover(g: Game, s: Similarities, d: Vector, group: int) -> None:
    """A selection of a group that has a weight and none: its t_G would have no bound."""
    for number in range(g.tableau.size[ROWS] - 1):
        if g.group[number] == group:
            return
    add_selection(g, s, d, group)


@njit_inner
def _add_atoms(g: Game, w: Vector, price: float, best: int) -> bool:
    """The best response, and the next best that gain a good part of what it does; whether there was room."""
    if not add_atom(g, best):
        return False
    enough = price + GOOD * (abs(w[best if best >= 0 else ~best]) - price)
    for _ in range(MORE_ATOMS):
        other, largest = -1, enough
        for z in range(w.size):
            if abs(w[z]) > largest and not _is_known(g, z if w[z] < 0.0 else ~z):
                other, largest = z, abs(w[z])
        if other < 0:
            break
        if not add_atom(g, other if w[other] < 0.0 else ~other):
            return False
    return True


@njit_inner
def _is_known(g: Game, name: int) -> bool:
    return bool(g.place[0, name] > 0 if name >= 0 else g.place[1, ~name] > 0)


@njit_inner
def _against_selections(g: Game, w: Vector) -> tuple[float, int]:
    """(the ball's multiplier, the best atom) against the selections' multipliers, which make w."""
    z = multipliers_of(g.tableau)
    total = np.zeros(g.groups[0])
    for number in range(z.size - 1):
        total[g.group[number]] += max(0.0, z[number + 1])
    w[:] = -g.c
    for number in range(z.size - 1):
        if z[number + 1] > 0.0:
            group, row = g.group[number], g.means[number]
            factor = z[number + 1] / total[group] * g.weight[group]
            for j in range(w.size):
                w[j] += factor * row[j]
    best, largest = 0, -1.0
    for j in range(w.size):
        if abs(w[j]) > largest:
            best, largest = j, abs(w[j])
    return z[0] / g.scale[1], (best if w[best] < 0.0 else ~best)


@njit_inner
def _point(g: Game, a: Vector, heights: Vector) -> None:
    """The tableau's x as coefficients, of norm 1, or 0 where there is nothing, and its t_G as much larger."""
    x, n = columns_of(g.tableau), g.groups[0]
    a[:] = 0.0
    for j in range(x.size - n):
        name = g.atoms[j]
        if name >= 0:
            a[name] += max(0.0, x[n + j])
        else:
            a[~name] -= max(0.0, x[n + j])
    norm = 0.0
    for z in range(a.size):
        norm += abs(a[z])
    factor = 1.0 / norm if norm > NOTHING else 0.0
    for z in range(a.size):
        a[z] *= factor
    for group in range(n):
        heights[group] = x[group] * factor * g.weight[group] / g.scale[0]
