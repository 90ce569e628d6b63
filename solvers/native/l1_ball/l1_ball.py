"""Weak learning over the 1-norm ball, priced start to end by an algorithm of our own.

    max  sum_i w_i max_{x in B_i} u(x)   over  u = sum_z a_z K(z, .),  ||a||_1 <= radius

The best single atoms, of either sign, are the starts, whatever the oracle declares; each is followed by a descent whose
convex steps are matrix games with both bounds computed (`l1_ball_game`). Where these do not meet, even in a game begun
anew, the price is left to HiGHS, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.norm1 import Norm1
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.outcome.certificate import Certificate
from milopt.solvers.native.edge_program import EdgeProgram, edge_program
from milopt.solvers.native.l1_ball.descent import Descent, descend
from milopt.solvers.native.l1_ball.game import CLOSED
from milopt.solvers.native.l1_ball.similarities import Index, Shared, Similarities, shared_similarities
from milopt.solvers.native.l1_ball.small_game import Game, empty_game
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_STEPS, Found, Priced, Pricing, priced_by

IDLE = 1
"""Games in which a selection or an atom was of no use before it goes."""


def l1_ball_pricing(oracle: Oracle, bags: Bags, options: Options) -> L1BallPricing | None:
    """The pricing of an oracle over a 1-norm ball; None where its program is another."""
    program = edge_program(oracle, bags, Norm1)
    if program is None or program.function.dictionary is None:
        return None
    shared = shared_similarities(program.function.kernel, program.function.dictionary, program.bags)
    return L1BallPricing(oracle, program, options, shared, NativeDescents(shared.similar))


class Descents(Protocol):
    """Convex-concave procedures over the same similarities, each warm from the last."""

    solver: str

    def descend(self, weights: Vector, z: int) -> Descent:
        """From the signed atom z, as `Similarities` counts them, to where it ends."""
        ...

    def restart(self) -> None:
        """Begin anew with the next."""
        ...


class NativeDescents:
    """By games of our own."""

    solver = "native"

    def __init__(self, similar: Similarities) -> None:
        self._similar = similar
        self.restart()

    def restart(self) -> None:
        """An empty game."""
        similar = self._similar
        largest = float(np.abs(similar.largest).max())
        self.game: Game = empty_game(similar.offsets.size - 1, similar.K.shape[0], largest)

    def descend(self, weights: Vector, z: int) -> Descent:
        """One call of compiled code."""
        return descend(self.game, self._similar, weights, z, MAX_STEPS, IDLE)


class L1BallPricing(Pricing):
    """By descents over the similarities of all instances to the dictionary, 8 k N bytes, computed once."""

    def __init__(
        self, oracle: Oracle, program: EdgeProgram, options: Options, shared: Shared, descents: Descents
    ) -> None:
        self._oracle, self._program, self._options = oracle, program, options
        # Whoever else prices over the same finds them as long as they are held here.
        self._shared, self._descents = shared, descents
        self._similarities = shared.similar
        self.solver = descents.solver
        self._other: Pricing | None = None

    def price(self, prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> Found:
        """The end of each descent, best first; the least of their bounds where the program is convex."""
        weights = self._program.weights(prices)
        found: list[Priced] = []
        bounds: list[float] = []
        for z in self._atoms(weights, starts):
            ended = self._descend(weights, z)
            if ended is None:
                self.fallbacks += 1
                return priced_by(self._fallback, prices, starts, clock)
            found.append(self._priced(ended, weights))
            bounds.append(ended.lower)
            if clock.is_over():
                break
        found.sort(key=lambda one: -self._program.sign * one.value)
        is_convex = not (weights > 0.0).any()
        bound = -self._program.radius * max(bounds) * self._program.sign if is_convex else None
        return Found(tuple(found), bound)

    def _atoms(self, weights: Vector, count: int) -> list[int]:
        """The signed atoms of the largest edges that differ in their witnesses, for others would only follow them."""
        edges = weights @ self._similarities.largest
        if count == 1:
            return [int(np.argmax(edges))]
        witness: Index = self._similarities.witness[weights > 0.0]
        best: dict[bytes, int] = {}
        for z in np.argsort(-edges, kind="stable").tolist():
            best.setdefault(witness[:, z].tobytes(), z)
            if len(best) == count:
                break
        return list(best.values())

    def _descend(self, weights: Vector, z: int) -> Descent | None:
        """With what the last descents left, or anew where that does not end well."""
        for _ in range(2):
            ended = self._descents.descend(weights, z)
            if ended.end == CLOSED and self._certificate(ended).holds(self._options.tolerance):
                return ended
            self._descents.restart()
        return None

    def _certificate(self, ended: Descent) -> Certificate:
        upper, lower = self._program.radius * ended.upper, self._program.radius * ended.lower
        # Rounding may leave the two bounds the wrong way round.
        error = max(0.0, upper - lower)
        return Certificate(0.0, 0.0, error / (1.0 + abs(upper)), 0.0, lower, error)

    def _priced(self, ended: Descent, weights: Vector) -> Priced:
        program, radius = self._program, self._program.radius
        maxima = radius * ended.tops
        return Priced(
            column=program.column(maxima),
            values={program.function.coefficients.name: radius * ended.a},
            functions={},
            value=program.sign * float(weights @ maxima),
            certificate=self._certificate(ended),
            steps=len(ended.trace) // 2,
        )

    def _fallback(self) -> Pricing:
        if self._other is None:
            from milopt.schemes.oracle_program import ProgramPricing
            from milopt.solving import registry

            self._other = ProgramPricing(self._oracle, self._program.given, registry.require("highs"), self._options)
        return self._other
