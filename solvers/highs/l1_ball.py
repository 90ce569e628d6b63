"""Pricing of weak learners over the 1-norm ball by HiGHS.

The convex-concave procedure is that of `native/l1_ball/descent`, but each convex step is solved by a `HighsMatrixGame`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.norm1 import Norm1
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.solvers.highs.l1_ball_game import HighsMatrixGame
from milopt.solvers.native.l1_ball.descent import Descent
from milopt.solvers.native.l1_ball.game import GAP_CLOSED
from milopt.solvers.native.l1_ball.l1_ball import L1BallPricing
from milopt.solvers.native.l1_ball.similarities import Index, Similarities, get_shared_similarities
from milopt.solvers.native.weak_learning_program import recognise_weak_learning_program
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_DESCENT_STEPS, MIN_RELATIVE_DECREASE


def l1_ball_pricing_by_highs(oracle: Oracle, bags: Bags, options: Options) -> L1BallPricing | None:
    """Return the pricing of an oracle over a 1-norm ball, or None if the program has another structure."""
    program = recognise_weak_learning_program(oracle, bags, Norm1)
    if program is None or program.function.dictionary is None:
        return None
    shared = get_shared_similarities(program.function.kernel, program.function.dictionary, program.bags)
    return L1BallPricing(oracle, program, options, shared, HighsDescentSolver(shared.similarities, options))


class HighsDescentSolver:
    """Convex-concave procedure whose convex steps are solved by one persistent HiGHS model."""

    solver = "highs"

    def __init__(self, similarities: Similarities, options: Options) -> None:
        self._similarities, self._options = similarities, options
        self.restart()

    def restart(self) -> None:
        """Discard the HiGHS model, with all its generated rows and columns."""
        self._game = HighsMatrixGame(self._similarities, self._options)

    def descend(self, weights: Vector, z: int) -> Descent:
        """Run the convex-concave procedure of `native/l1_ball/descent` from one signed atom.

        For k atoms, the atom is e_z (the unit vector with entry 1 at z) if z < k, and -e_(z - k) otherwise. The run
        ends at a fixed point, after a step that decreases the objective by at most the fraction MIN_RELATIVE_DECREASE,
        after MAX_DESCENT_STEPS steps, or if the bounds of a step do not meet.
        """
        s, game = self._similarities, self._game
        positive, d = np.flatnonzero(weights > 0.0), np.maximum(-weights, 0.0)
        k = s.K.shape[0]
        best = np.zeros(k)
        best[z % k] = 1.0 if z < k else -1.0
        witnesses, bag_maxima = s.witness[:, z], s.largest[:, z]
        phi = last_value = -float(weights @ bag_maxima)
        trace, upper, lower, end = [phi], 0.0, -np.inf, GAP_CLOSED
        game.start_descent(d, z)
        for _ in range(MAX_DESCENT_STEPS):
            c = s.K[:, witnesses[positive]] @ weights[positive]
            end, a, upper, lower = game.solve(c)
            if end != GAP_CLOSED:
                break
            old_witnesses = witnesses[positive]
            values = game.values(a)
            new_maxima = np.maximum.reduceat(values, s.offsets[:-1])
            witnesses = _argmax_per_bag(values, s.offsets)
            value = -float(weights @ new_maxima)
            trace += [upper, value]
            if value < phi:
                phi, best, bag_maxima = value, a, new_maxima
            if np.array_equal(old_witnesses, witnesses[positive]) or last_value - value <= MIN_RELATIVE_DECREASE * abs(
                value
            ):
                break
            last_value = value
        return Descent(end, best, bag_maxima, phi, upper, lower, np.array(trace))


def _argmax_per_bag(values: Vector, offsets: Index) -> Index:
    """Return, for each bag, the index of the first instance with the largest value."""
    return np.array([low + int(np.argmax(values[low:high])) for low, high in pairwise(offsets)])
