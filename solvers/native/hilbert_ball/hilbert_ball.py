"""Pricing of weak learners over a ball of a kernel's space, by the convex-concave procedure with minimum-norm points.

    max  sum_i w_i max_{x in B_i} u(x)   over  ||u|| <= radius

1. Start: one instance x_i (the witness) of each bag i with positive weight (I+), at which a good single pattern is
   largest (`pattern_maxima`). Without a dictionary and with more than MAX_EXHAUSTIVE_PATTERNS instances, starts that
   the oracle declares are used instead.
2. Convex step: with these maxima fixed at their witnesses, the optimum is  u = radius v / ||v||  for the minimum-norm
   point v of  sum_{I+} w_i Phi(x_i) - sum_{I-} |w_i| conv Phi(B_i)  (`minimum_norm`, with an upper and a lower bound).
3. New witnesses are the maximisers of u in the bags of I+. Repeat until the edge (the objective) increases by at most
   the fraction MIN_RELATIVE_DECREASE, the witnesses were visited before, MAX_DESCENT_STEPS steps are made, or the time
   is up.

w_i is the weight of bag i, Phi(x) is the feature K(x, .), and I- are the bags with negative weight. Without a
dictionary, the coefficients of u are therefore  radius w_i / ||v||  at the witnesses and at most 0 at instances of I-.
If the bounds of a step do not meet, even after a restart, Clarabel prices the oracle instead (counted in `fallbacks`).
The result is a local optimum, and a global one if no weight is positive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from milopt.arrays import Index, Points, Vector
from milopt.declaration.atoms.norm import Norm
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.semi_infinite import Oracle
from milopt.outcome.certificate import Certificate
from milopt.solvers.native.hilbert_ball.coordinates import DictionaryCoordinates, GrowingCoordinates
from milopt.solvers.native.hilbert_ball.minimum_norm import MinimumNormPoint, MinimumNormSolver
from milopt.solvers.native.hilbert_ball.pattern_maxima import PatternMaxima
from milopt.solvers.native.weak_learning_program import WeakLearningProgram, recognise_weak_learning_program
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import (
    MAX_DESCENT_STEPS,
    MIN_RELATIVE_DECREASE,
    PricedColumn,
    Pricing,
    PricingResult,
    price_or_report,
)

MAX_RELATIVE_GAP = 1e-8
"""Largest difference of the bounds, relative to the upper bound, of an accepted convex step."""
MAX_EXHAUSTIVE_PATTERNS = 3000
"""Number of instances up to which each one is a candidate start, if there is no dictionary."""
SAMPLED_PATTERN_COUNT = 1000
"""Number of evenly spaced instances that are candidate starts if there are more than MAX_EXHAUSTIVE_PATTERNS.

The sample is not used if the oracle declares starts or there is a dictionary.
"""


def hilbert_ball_pricing(oracle: Oracle, bags: Bags, options: Options) -> HilbertBallPricing | None:
    """Return the pricing of an oracle over a ball of a kernel's space, or None if the program has another structure."""
    program = recognise_weak_learning_program(oracle, bags, Norm)
    return None if program is None else HilbertBallPricing(oracle, program, options)


@dataclass(frozen=True, eq=False)
class ConvexConcaveRun:
    """One run of the convex-concave procedure, from one start to its end."""

    point: MinimumNormPoint
    """Minimum-norm point of the last step."""
    witnesses: Index
    """Witness of each bag of positive weight in the last step."""
    witness_weights: Vector
    """Weight w_i of the bag of each witness."""
    trace: tuple[float, ...]
    """f_1, edge_1, f_2, edge_2, ...: optimum of each convex step, and edge of its u, for a ball of radius 1."""


class HilbertBallPricing(Pricing):
    """Pricing by minimum-norm points in coordinates of the kernel's space."""

    solver = "native"

    def __init__(self, oracle: Oracle, program: WeakLearningProgram, options: Options) -> None:
        self._oracle, self._program, self._options = oracle, program, options
        function, bags = program.function, program.bags
        self._pattern_maxima: PatternMaxima | None = None
        if function.dictionary is not None:
            self.space: DictionaryCoordinates | GrowingCoordinates = DictionaryCoordinates(function, bags)
            self._pattern_maxima = self.space.pattern_maxima
        else:
            self.space = GrowingCoordinates(function, bags)
            count = int(bags.offsets[-1])
            if count <= MAX_EXHAUSTIVE_PATTERNS or oracle.starts is None:
                patterns = np.linspace(
                    0, count - 1, count if count <= MAX_EXHAUSTIVE_PATTERNS else SAMPLED_PATTERN_COUNT
                ).astype(np.intp)
                self._pattern_maxima = PatternMaxima.from_patterns(function.kernel, bags, bags.instances[patterns])
        self._solver = MinimumNormSolver(self.space, bags.offsets)
        self._fallback_pricing: Pricing | None = None

    def price(self, prices: Mapping[Parameter, Vector], start_count: int, clock: Clock) -> PricingResult:
        """Return the result of each run, best first, with a bound on the optimum if no bag weight is positive.

        If a run fails, the columns and the bound of the fallback solver are included.
        """
        program = self._program
        for parameter, value in prices.items():
            parameter.value = value
        weights = program.bag_weights(prices)
        columns: list[PricedColumn] = []
        bound: float | None = None
        seen: set[bytes] = set()
        has_failed, failure = False, ""
        for witnesses in self._starting_witnesses(weights, prices, start_count):
            if witnesses.tobytes() in seen:
                continue
            run = self.run_convex_concave(weights, witnesses, clock, seen)
            if run is None:
                has_failed = True
                continue
            columns.append(self._priced_column(run, weights))
            if not witnesses.size:
                bound = program.sign * program.radius * run.point.upper
            if clock.is_over():
                break
        if has_failed:
            # The fallback chooses starts by itself, so the columns found so far are returned too.
            self.fallbacks += 1
            fallback = price_or_report(self._get_or_build_fallback, prices, start_count, clock)
            failure, bound = "" if columns else fallback.failure, fallback.bound
            columns += fallback.columns
        return PricingResult(tuple(sorted(columns, key=lambda column: -program.sign * column.value)), bound, failure)

    def run_convex_concave(
        self, weights: Vector, witnesses: Index, clock: Clock, seen: set[bytes]
    ) -> ConvexConcaveRun | None:
        """Run the convex-concave procedure from these witnesses of the bags with positive weight.

        The run ends if the relative gain of the edge is at most MIN_RELATIVE_DECREASE, if the new witnesses are in
        `seen` (to which all visited witnesses are added), after MAX_DESCENT_STEPS steps, or when the time is up.
        Returns None if the bounds of a convex step do not meet, even after a restart.
        """
        positive = np.flatnonzero(weights > 0.0)
        witness_weights, bag_weights = weights[positive], np.maximum(-weights, 0.0)
        edge, trace = -np.inf, []
        while True:
            seen.add(witnesses.tobytes())
            point = self._solve_convex_step(witnesses, witness_weights, bag_weights)
            if point is None:
                return None
            new_witnesses, maxima = self._solver.bag_maxima(positive, point.w)
            last_edge, edge = edge, float(witness_weights @ maxima) / max(point.upper, 1e-300) - point.support_value
            trace += [point.upper, edge]
            has_converged = edge - last_edge <= MIN_RELATIVE_DECREASE * abs(edge) or new_witnesses.tobytes() in seen
            if has_converged or len(trace) == 2 * MAX_DESCENT_STEPS or clock.is_over():
                return ConvexConcaveRun(point, witnesses, witness_weights, tuple(trace))
            witnesses = new_witnesses

    def _starting_witnesses(self, weights: Vector, prices: Mapping[Parameter, Vector], count: int) -> Iterable[Index]:
        """Return at most `count` starting points, best first; each has one witness per bag of positive weight."""
        if self._pattern_maxima is not None:
            return self._pattern_maxima.starting_witnesses(weights, count)
        assert self._oracle.starts is not None
        bags, positive = self._program.bags, weights > 0.0
        start_values = islice(self._oracle.starts(prices), count)
        return [bags.argmax(values)[positive] for values in start_values]

    def _solve_convex_step(
        self, witnesses: Index, witness_weights: Vector, bag_weights: Vector
    ) -> MinimumNormPoint | None:
        """Solve a convex step from the last face, and without a face if the bounds do not meet; None if both fail."""
        for _ in range(2):
            point = self._solver.solve(witnesses, witness_weights, bag_weights)
            if point.gap <= MAX_RELATIVE_GAP * point.upper or not point.w.any():
                return point
            self._solver.restart()
        return None

    def _priced_column(self, run: ConvexConcaveRun, weights: Vector) -> PricedColumn:
        """Return the column that a run found, with the function u and the certificate of its last convex step."""
        program, point = self._program, run.point
        length = float(np.linalg.norm(point.w))
        scale = program.radius / length if length > 0 else 0.0
        u = scale * point.w
        maxima = scale * self._solver.bag_maxima(np.arange(len(program.bags)), point.w)[1]
        values: dict[str, Vector] = {}
        functions: dict[str, tuple[Points, Vector]] = {}
        violation = 0.0
        if isinstance(self.space, DictionaryCoordinates):
            a = self.space.coefficients(u)
            values[program.function.coefficients.name] = a
            violation = max(0.0, self.space.norm(a) - program.radius)
        else:
            used = np.concatenate([run.witnesses, point.instances])
            coefficients = scale * np.concatenate([run.witness_weights, -point.weights])
            nonzero = np.flatnonzero(coefficients)
            functions[program.function.name] = program.bags.instances[used[nonzero]], coefficients[nonzero]
        return PricedColumn(
            column=program.master_column(maxima),
            values=values,
            functions=functions,
            value=program.sign * float(weights @ maxima),
            certificate=self._certificate(point, violation),
            steps=len(run.trace) // 2,
        )

    def _certificate(self, point: MinimumNormPoint, violation: float) -> Certificate:
        """Return the certificate of a convex step, as a minimisation with the lower bound -radius ||w||.

        `violation` is the amount by which the norm of u exceeds the radius.
        """
        radius = self._program.radius
        error = radius * max(0.0, point.gap)
        gap = error / (1.0 + radius * point.upper)
        return Certificate(violation / (1.0 + radius), 0.0, gap, violation, -radius * point.upper, error)

    def _get_or_build_fallback(self) -> Pricing:
        """Return the pricing by Clarabel, built on first use."""
        if self._fallback_pricing is None:
            from milopt.schemes.oracle_program import ProgramPricing
            from milopt.solving import registry

            self._fallback_pricing = ProgramPricing(
                self._oracle, self._program.master_bags, registry.require_solver("clarabel"), self._options
            )
        return self._fallback_pricing
