"""Pricing of weak learners over the 1-norm ball, by the convex-concave procedure with matrix games.

    max  sum_i w_i max_{x in B_i} u(x)   over  u = sum_z a_z K(z, .),  ||a||_1 <= radius

w_i is the weight of bag i. The starts are the best single atoms of either sign; starts that the oracle declares are
ignored. From each start, a descent (`descent`) solves its convex steps as matrix games with an upper and a lower bound
(`game`). If the bounds do not meet, even after a restart, HiGHS prices the oracle instead (counted in `fallbacks`). The
result is a local optimum, and a global one if no weight is positive.
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
from milopt.solvers.native.l1_ball.descent import Descent, descend
from milopt.solvers.native.l1_ball.game import GAP_CLOSED
from milopt.solvers.native.l1_ball.native_matrix_game import NativeMatrixGame, empty_matrix_game
from milopt.solvers.native.l1_ball.similarities import Index, SharedSimilarities, Similarities, get_shared_similarities
from milopt.solvers.native.weak_learning_program import WeakLearningProgram, recognise_weak_learning_program
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_DESCENT_STEPS, PricedColumn, Pricing, PricingResult, price_or_report

MAX_IDLE_GAMES = 1
"""Selections and atoms of a game that were unused in more than this number of solved games are removed."""


def l1_ball_pricing(oracle: Oracle, bags: Bags, options: Options) -> L1BallPricing | None:
    """Return the pricing of an oracle over a 1-norm ball, or None if the program has another structure."""
    program = recognise_weak_learning_program(oracle, bags, Norm1)
    if program is None or program.function.dictionary is None:
        return None
    shared = get_shared_similarities(program.function.kernel, program.function.dictionary, program.bags)
    return L1BallPricing(oracle, program, options, shared, NativeDescentSolver(shared.similarities))


class DescentSolver(Protocol):
    """Solver that runs descents over the same similarities, each warm-started from the previous descent."""

    solver: str

    def descend(self, weights: Vector, z: int) -> Descent:
        """Run a descent at these bag weights from a signed atom: e_z if z < k, else -e_(z - k), for k atoms."""
        ...

    def restart(self) -> None:
        """Discard the state of earlier descents."""
        ...


class NativeDescentSolver:
    """Solver of descents (`descent`) that solves their convex steps by milopt's own matrix games (`game`)."""

    solver = "native"

    def __init__(self, similarities: Similarities) -> None:
        self._similarities = similarities
        self.restart()

    def restart(self) -> None:
        """Discard the game, and start with an empty one."""
        similarities = self._similarities
        largest = float(np.abs(similarities.largest).max())
        self.game: NativeMatrixGame = empty_matrix_game(similarities.offsets.size - 1, similarities.K.shape[0], largest)

    def descend(self, weights: Vector, z: int) -> Descent:
        """Run a descent at these bag weights from the signed atom z (see `DescentSolver`), in compiled code."""
        return descend(self.game, self._similarities, weights, z, MAX_DESCENT_STEPS, MAX_IDLE_GAMES)


class L1BallPricing(Pricing):
    """Pricing by descents. The similarities of all N instances to the k atoms (8 k N bytes) are computed once."""

    def __init__(
        self,
        oracle: Oracle,
        program: WeakLearningProgram,
        options: Options,
        shared: SharedSimilarities,
        descent_solver: DescentSolver,
    ) -> None:
        self._oracle, self._program, self._options = oracle, program, options
        # This reference keeps the similarities cached for other pricings over the same objects.
        self._shared, self._descent_solver = shared, descent_solver
        self._similarities = shared.similarities
        self.solver = descent_solver.solver
        self._fallback_pricing: Pricing | None = None

    def price(self, prices: Mapping[Parameter, Vector], start_count: int, clock: Clock) -> PricingResult:
        """Return the result of each descent, best first, with a bound on the optimum if no bag weight is positive.

        If a descent fails, the result of the fallback solver is returned instead.
        """
        weights = self._program.bag_weights(prices)
        columns: list[PricedColumn] = []
        bounds: list[float] = []
        for z in self._starting_atoms(weights, start_count):
            descent = self._descend(weights, z)
            if descent is None:
                self.fallbacks += 1
                return price_or_report(self._get_or_build_fallback, prices, start_count, clock)
            columns.append(self._priced_column(descent, weights))
            bounds.append(descent.lower)
            if clock.is_over():
                break
        columns.sort(key=lambda column: -self._program.sign * column.value)
        is_convex = not (weights > 0.0).any()
        bound = -self._program.radius * max(bounds) * self._program.sign if is_convex else None
        return PricingResult(tuple(columns), bound)

    def _starting_atoms(self, weights: Vector, count: int) -> list[int]:
        """Return at most `count` signed atoms with the largest edges, numbered as in `Similarities`.

        Atoms with the same witnesses in all bags of positive weight give equal descents, so only the one with the
        largest edge is returned.
        """
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
        """Run a warm-started descent, and run it again after a restart if it fails; return None if both fail.

        A descent fails if the bounds of a game do not meet or the certificate does not hold at the tolerance.
        """
        for _ in range(2):
            descent = self._descent_solver.descend(weights, z)
            if descent.end == GAP_CLOSED and self._certificate(descent).holds(self._options.tolerance):
                return descent
            self._descent_solver.restart()
        return None

    def _certificate(self, descent: Descent) -> Certificate:
        """Return the certificate of the last convex step of a descent."""
        upper, lower = self._program.radius * descent.upper, self._program.radius * descent.lower
        # Rounding may leave the lower bound slightly above the upper one.
        error = max(0.0, upper - lower)
        return Certificate(0.0, 0.0, error / (1.0 + abs(upper)), 0.0, lower, error)

    def _priced_column(self, descent: Descent, weights: Vector) -> PricedColumn:
        """Return the column, the coefficients and the certificate of a descent."""
        program, radius = self._program, self._program.radius
        maxima = radius * descent.bag_maxima
        return PricedColumn(
            column=program.master_column(maxima),
            values={program.function.coefficients.name: radius * descent.a},
            functions={},
            value=program.sign * float(weights @ maxima),
            certificate=self._certificate(descent),
            steps=len(descent.trace) // 2,
        )

    def _get_or_build_fallback(self) -> Pricing:
        """Return the pricing by HiGHS, built on first use."""
        if self._fallback_pricing is None:
            from milopt.schemes.oracle_program import ProgramPricing
            from milopt.solving import registry

            self._fallback_pricing = ProgramPricing(
                self._oracle, self._program.master_bags, registry.require_solver("highs"), self._options
            )
        return self._fallback_pricing
