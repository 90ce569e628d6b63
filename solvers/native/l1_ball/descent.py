"""The convex-concave procedure of a weak learner over the 1-norm ball, from one atom to a fixed point.

    min  phi(a) = sum_{I-} d_i max_x k_x'a - sum_{I+} d_i max_x k_x'a   over ||a||_1 <= 1

A step takes the largest instance of each bag of I+ as its witness and plays the game of what is left, whose value f_t
lies between:  phi_0 >= f_1 >= phi_1 >= f_2 ...  Compiled by numba; one call is a whole descent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Vector
from milopt.compiled import njit
from milopt.solvers.native.l1_ball.game import CLOSED, play
from milopt.solvers.native.l1_ball.similarities import Similarities, add_row, forget_rows, maxima
from milopt.solvers.native.l1_ball.small_game import Game, clear, count_idle, drop_idle, rebuild, set_pull, set_weights
from milopt.solving.pricing import RELATIVE_DECREASE


class Descent(NamedTuple):
    """Where a descent ended."""

    end: int
    """CLOSED, or how the game ended whose bounds did not meet."""
    a: Vector
    """Of norm 1 or 0; the best of all steps and of the start."""
    tops: Vector
    """The maxima of all bags at a."""
    phi: float
    upper: float
    """The bounds of the last game."""
    lower: float
    trace: Vector
    """phi_0, f_1, phi_1, ..."""


@njit
def descend(g: Game, s: Similarities, weights: Vector, z: int, most: int, idle: int) -> Descent:
    """From e_z, or from -e_(z - k) for z >= k, in at most so many steps; weights are > 0 in I+ and < 0 in I-.

    Selections and atoms that were of no use for `idle` games go first.
    """
    m, k = weights.size, s.K.shape[0]
    positive, negative, d = np.flatnonzero(weights > 0.0), np.flatnonzero(weights < 0.0), np.maximum(-weights, 0.0)
    chosen, tops = s.witness[:, z].copy(), s.largest[:, z].copy()
    best, a, c, trace = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(2 * most + 1)
    best[z % k] = 1.0 if z < k else -1.0
    phi = 0.0
    for i in range(m):
        phi -= weights[i] * tops[i]
    trace[0] = last = phi
    if g.tableau.size[0] == 0:
        clear(g, chosen)
    forget_rows(s)
    drop_idle(g, idle)
    set_weights(g, s, d)
    rebuild(g)
    end, upper, lower, count = CLOSED, 0.0, -np.inf, 0
    old = chosen.copy()
    while count < most:
        c[:] = 0.0
        for p in positive:
            add_row(s, int(chosen[p]), weights[p], c)
        set_pull(g, s, d, c)
        end, upper, lower = play(g, s, d, negative, a)
        count_idle(g)
        if end != CLOSED:
            break
        old[:] = chosen
        maxima(s, a, positive, chosen, tops)
        value = upper
        for j in range(k):
            value += c[j] * a[j]
        for p in positive:
            value -= weights[p] * tops[p]
        count += 1
        trace[2 * count - 1], trace[2 * count] = upper, value
        if value < phi:
            phi = value
            best[:] = a
        same = True
        for p in positive:
            same = same and bool(old[p] == chosen[p])
        if same or last - value <= RELATIVE_DECREASE * abs(value):
            break
        last = value
    maxima(s, best, np.arange(m), chosen, tops)
    return Descent(end, best, tops, phi, upper, lower, trace[: 2 * count + 1])
