"""The convex-concave procedure of a weak learner over the 1-norm ball, from one atom to a fixed point.

    min  phi(a) = sum_{I-} d_i max_x k_x'a - sum_{I+} d_i max_x k_x'a   over ||a||_1 <= 1

Bags with a positive weight form I+, bags with a negative weight form I-, and d_i is the absolute weight of bag i. The
vector k_x = (K[z, x])_z has the similarities of instance x to the atoms z, and e_z is the unit vector of atom z. A step
fixes each bag of I+ at its witness, the instance with the largest k_x'a, and solves the remaining convex program as a
game with value f_t. The values decrease:  phi_0 >= f_1 >= phi_1 >= f_2 ...  Compiled by numba; one call is a whole
descent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Vector
from milopt.jit import njit
from milopt.solvers.native.l1_ball.game import GAP_CLOSED, solve_matrix_game
from milopt.solvers.native.l1_ball.native_matrix_game import (
    NativeMatrixGame,
    drop_idle_strategies,
    rebuild_tableau,
    reset_matrix_game,
    set_linear_term,
    set_weights,
    update_idle_counts,
)
from milopt.solvers.native.l1_ball.similarities import (
    Similarities,
    add_scaled_row,
    clear_full_row_cache,
    update_bag_maxima,
)
from milopt.solving.pricing import MIN_RELATIVE_DECREASE


class Descent(NamedTuple):
    """Result of a descent (symbols as in the module docstring)."""

    end: int
    """GAP_CLOSED if the bounds of all games met, else the result of the last game: GAP_OPEN or GAME_FAILED."""
    a: Vector
    """Best coefficients of all steps and of the start, of 1-norm 1 or 0."""
    bag_maxima: Vector
    """Maximum of k_x'a in each bag, for these coefficients."""
    phi: float
    """Objective phi(a) of these coefficients."""
    upper: float
    """Upper bound on the optimal value of the last game."""
    lower: float
    """Lower bound on the optimal value of the last game."""
    trace: Vector
    """Values phi_0, f_1, phi_1, ... of the descent."""


@njit
def descend(
    g: NativeMatrixGame, s: Similarities, weights: Vector, z: int, max_steps: int, max_idle_games: int
) -> Descent:
    """Run a descent from e_z, or from -e_(z - k) if z >= k, with at most `max_steps` steps; k is the number of atoms.

    The descent ends at a fixed point, after a step that decreases phi by at most the fraction MIN_RELATIVE_DECREASE, or
    if the bounds of a game do not meet. The game `g` is updated in place. Its selections and atoms that were unused in
    more than `max_idle_games` solved games are removed first.
    """
    m, k = weights.size, s.K.shape[0]
    positive, negative, d = np.flatnonzero(weights > 0.0), np.flatnonzero(weights < 0.0), np.maximum(-weights, 0.0)
    witnesses, bag_maxima = s.witness[:, z].copy(), s.largest[:, z].copy()
    best, a, c, trace = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(2 * max_steps + 1)
    best[z % k] = 1.0 if z < k else -1.0
    phi = 0.0
    for i in range(m):
        phi -= weights[i] * bag_maxima[i]
    trace[0] = last_value = phi
    if g.tableau.size[0] == 0:
        reset_matrix_game(g, witnesses)
    clear_full_row_cache(s)
    drop_idle_strategies(g, max_idle_games)
    set_weights(g, s, d)
    rebuild_tableau(g)
    end, upper, lower, count = GAP_CLOSED, 0.0, -np.inf, 0
    old_witnesses = witnesses.copy()
    while count < max_steps:
        c[:] = 0.0
        for p in positive:
            add_scaled_row(s, int(witnesses[p]), weights[p], c)
        set_linear_term(g, s, d, c)
        end, upper, lower = solve_matrix_game(g, s, d, negative, a)
        update_idle_counts(g)
        if end != GAP_CLOSED:
            break
        old_witnesses[:] = witnesses
        update_bag_maxima(s, a, positive, witnesses, bag_maxima)
        value = upper
        for j in range(k):
            value += c[j] * a[j]
        for p in positive:
            value -= weights[p] * bag_maxima[p]
        count += 1
        trace[2 * count - 1], trace[2 * count] = upper, value
        if value < phi:
            phi = value
            best[:] = a
        has_same_witnesses = True
        for p in positive:
            has_same_witnesses = has_same_witnesses and bool(old_witnesses[p] == witnesses[p])
        if has_same_witnesses or last_value - value <= MIN_RELATIVE_DECREASE * abs(value):
            break
        last_value = value
    update_bag_maxima(s, best, np.arange(m), witnesses, bag_maxima)
    return Descent(end, best, bag_maxima, phi, upper, lower, trace[: 2 * count + 1])
