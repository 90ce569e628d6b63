"""Weak learning over the 1-norm ball by HiGHS: the descents of `l1_ball_descent`, each step a `HighsGame`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.norm1 import Norm1
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.solvers.highs.l1_ball_game import HighsGame
from milopt.solvers.native.edge_program import edge_program
from milopt.solvers.native.l1_ball.descent import Descent
from milopt.solvers.native.l1_ball.game import CLOSED
from milopt.solvers.native.l1_ball.l1_ball import L1BallPricing
from milopt.solvers.native.l1_ball.similarities import Index, Similarities, shared_similarities
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_STEPS, RELATIVE_DECREASE


def l1_ball_pricing_by_highs(oracle: Oracle, bags: Bags, options: Options) -> L1BallPricing | None:
    """The pricing of an oracle over a 1-norm ball; None where its program is another."""
    program = edge_program(oracle, bags, Norm1)
    if program is None or program.function.dictionary is None:
        return None
    shared = shared_similarities(program.function.kernel, program.function.dictionary, program.bags)
    return L1BallPricing(oracle, program, options, shared, HighsDescents(shared.similar, options))


class HighsDescents:
    """Convex-concave procedures whose convex steps are solved by one live HiGHS model."""

    solver = "highs"

    def __init__(self, similar: Similarities, options: Options) -> None:
        self._similar, self._options = similar, options
        self.restart()

    def restart(self) -> None:
        """Forget all rows and columns."""
        self._game = HighsGame(self._similar, self._options)

    def descend(self, weights: Vector, z: int) -> Descent:
        """From the signed atom z to a fixed point; weights are > 0 in I+ and < 0 in I-."""
        s, game = self._similar, self._game
        positive, d = np.flatnonzero(weights > 0.0), np.maximum(-weights, 0.0)
        k = s.K.shape[0]
        best = np.zeros(k)
        best[z % k] = 1.0 if z < k else -1.0
        chosen, tops = s.witness[:, z], s.largest[:, z]
        phi = last = -float(weights @ tops)
        trace, upper, lower, end = [phi], 0.0, -np.inf, CLOSED
        game.begin(d, z)
        for _ in range(MAX_STEPS):
            c = s.K[:, chosen[positive]] @ weights[positive]
            end, a, upper, lower = game.play(c)
            if end != CLOSED:
                break
            old = chosen[positive]
            values = game.values(a)
            now = np.maximum.reduceat(values, s.offsets[:-1])
            chosen = _argmax(values, s.offsets)
            value = -float(weights @ now)
            trace += [upper, value]
            if value < phi:
                phi, best, tops = value, a, now
            if np.array_equal(old, chosen[positive]) or last - value <= RELATIVE_DECREASE * abs(value):
                break
            last = value
        return Descent(end, best, tops, phi, upper, lower, np.array(trace))


def _argmax(values: Vector, offsets: Index) -> Index:
    """The first largest of each bag."""
    return np.array([low + int(np.argmax(values[low:high])) for low, high in pairwise(offsets)])
