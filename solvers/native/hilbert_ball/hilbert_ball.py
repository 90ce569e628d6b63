"""Weak learning over a ball of a kernel's space, priced start to end by an algorithm of our own.

    max  sum_i w_i max_{x in B_i} u(x)   over  ||u|| <= radius

With the maxima of positive weight held at witnesses x_i, the rest is convex, and its optimum is  u = radius v / ||v||
for the minimum-norm point v of  sum_{I+} w_i Phi(x_i) - sum_{I-} |w_i| conv Phi(B_i)  (`minimum_norm`, with bounds from
both sides). So without a dictionary the coefficients of u are  radius w_i / ||v||  at the witnesses and at most 0 on
instances of I-. The best single patterns are the starts. Where the bounds do not meet, even in a search begun anew,
the price is left to Clarabel, and counted.
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
from milopt.solvers.native.edge_program import EdgeProgram, edge_program
from milopt.solvers.native.hilbert_ball.coordinates import DictionaryCoordinates, GrowingCoordinates
from milopt.solvers.native.hilbert_ball.minimum_norm import MinimumNorm, Nearest
from milopt.solvers.native.hilbert_ball.one_hots import OneHots
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.pricing import MAX_STEPS, RELATIVE_DECREASE, Found, Priced, Pricing, priced_by

OPEN = 1e-8
"""Bounds that are further apart than this part of the upper have not met."""
ALL_PATTERNS = 3000
"""Up to so many instances, each is a start where there is no dictionary."""
SOME_PATTERNS = 1000
"""Of more instances so many are, evenly spaced, unless the oracle declares its starts."""


def hilbert_ball_pricing(oracle: Oracle, bags: Bags, options: Options) -> HilbertBallPricing | None:
    """The pricing of an oracle over a ball of a kernel's space; None where its program is another."""
    program = edge_program(oracle, bags, Norm)
    return None if program is None else HilbertBallPricing(oracle, program, options)


@dataclass(frozen=True, eq=False)
class Climb:
    """Steps of the convex-concave procedure from one start to their end."""

    last: Nearest
    witnesses: Index
    """Where the last step held the maxima of positive weight,"""
    pulls: Vector
    """and what each weighs."""
    trace: tuple[float, ...]
    """f_1, edge_1, f_2, ... for a ball of radius 1: what a convex step promised, and what its u is worth."""


class HilbertBallPricing(Pricing):
    """By minimum-norm points in coordinates of the kernel's space."""

    solver = "native"

    def __init__(self, oracle: Oracle, program: EdgeProgram, options: Options) -> None:
        self._oracle, self._program, self._options = oracle, program, options
        function, bags = program.function, program.bags
        self._one_hots: OneHots | None = None
        if function.dictionary is not None:
            self.space: DictionaryCoordinates | GrowingCoordinates = DictionaryCoordinates(function, bags)
            self._one_hots = self.space.one_hots
        else:
            self.space = GrowingCoordinates(function, bags)
            count = int(bags.offsets[-1])
            if count <= ALL_PATTERNS or oracle.starts is None:
                chosen = np.linspace(0, count - 1, count if count <= ALL_PATTERNS else SOME_PATTERNS).astype(np.intp)
                self._one_hots = OneHots.of(function.kernel, bags, bags.instances[chosen])
        self._search = MinimumNorm(self.space, bags.offsets)
        self._other: Pricing | None = None

    def price(self, prices: Mapping[Parameter, Vector], starts: int, clock: Clock) -> Found:
        """The end of each climb, best first; with its bound where the program is convex."""
        program = self._program
        for parameter, value in prices.items():
            parameter.value = value
        weights = program.weights(prices)
        found: list[Priced] = []
        bound: float | None = None
        seen: set[bytes] = set()
        has_failed, failure = False, ""
        for witnesses in self._starts(weights, prices, starts):
            if witnesses.tobytes() in seen:
                continue
            ended = self.climb(weights, witnesses, clock, seen)
            if ended is None:
                has_failed = True
                continue
            found.append(self._priced(ended, weights))
            if not witnesses.size:
                bound = program.sign * program.radius * ended.last.upper
            if clock.is_over():
                break
        if has_failed:
            # The other way starts where it will: what was found on this one stays.
            self.fallbacks += 1
            other = priced_by(self._fallback, prices, starts, clock)
            failure, bound = "" if found else other.failure, other.bound
            found += other.columns
        return Found(tuple(sorted(found, key=lambda one: -program.sign * one.value)), bound, failure)

    def climb(self, weights: Vector, witnesses: Index, clock: Clock, seen: set[bytes]) -> Climb | None:
        """From witnesses in the bags of positive weight, until the edge rests or they are among those `seen`.

        None where the bounds of a convex step did not meet.
        """
        positive = np.flatnonzero(weights > 0.0)
        pulls, demand = weights[positive], np.maximum(-weights, 0.0)
        edge, trace = -np.inf, []
        while True:
            seen.add(witnesses.tobytes())
            nearest = self._nearest(witnesses, pulls, demand)
            if nearest is None:
                return None
            place, top = self._search.maxima(positive, nearest.w)
            before, edge = edge, float(pulls @ top) / max(nearest.upper, 1e-300) - nearest.drag
            trace += [nearest.upper, edge]
            has_rested = edge - before <= RELATIVE_DECREASE * abs(edge) or place.tobytes() in seen
            if has_rested or len(trace) == 2 * MAX_STEPS or clock.is_over():
                return Climb(nearest, witnesses, pulls, tuple(trace))
            witnesses = place

    def _starts(self, weights: Vector, prices: Mapping[Parameter, Vector], count: int) -> Iterable[Index]:
        if self._one_hots is not None:
            return self._one_hots.starts(weights, count)
        assert self._oracle.starts is not None
        bags, positive = self._program.bags, weights > 0.0
        given = islice(self._oracle.starts(prices), count)
        return [bags.argmax(values)[positive] for values in given]

    def _nearest(self, witnesses: Index, pulls: Vector, demand: Vector) -> Nearest | None:
        """From the face of the last search, or from none where that does not end well."""
        for _ in range(2):
            nearest = self._search.solve(witnesses, pulls, demand)
            if nearest.gap <= OPEN * nearest.upper or not nearest.w.any():
                return nearest
            self._search.restart()
        return None

    def _priced(self, end: Climb, weights: Vector) -> Priced:
        program, nearest = self._program, end.last
        length = float(np.linalg.norm(nearest.w))
        scale = program.radius / length if length > 0 else 0.0
        u = scale * nearest.w
        maxima = scale * self._search.maxima(np.arange(len(program.bags)), nearest.w)[1]
        values: dict[str, Vector] = {}
        functions: dict[str, tuple[Points, Vector]] = {}
        outside = 0.0
        if isinstance(self.space, DictionaryCoordinates):
            a = self.space.coefficients(u)
            values[program.function.coefficients.name] = a
            outside = max(0.0, self.space.norm(a) - program.radius)
        else:
            used = np.concatenate([end.witnesses, nearest.instances])
            coefficients = scale * np.concatenate([end.pulls, -nearest.weights])
            kept = np.flatnonzero(coefficients)
            functions[program.function.name] = program.bags.instances[used[kept]], coefficients[kept]
        return Priced(
            column=program.column(maxima),
            values=values,
            functions=functions,
            value=program.sign * float(weights @ maxima),
            certificate=self._certificate(nearest, outside),
            steps=len(end.trace) // 2,
        )

    def _certificate(self, nearest: Nearest, outside: float) -> Certificate:
        """Of the convex step as a minimisation, which the value -radius ||w|| bounds from below."""
        radius = self._program.radius
        error = radius * max(0.0, nearest.gap)
        gap = error / (1.0 + radius * nearest.upper)
        return Certificate(outside / (1.0 + radius), 0.0, gap, outside, -radius * nearest.upper, error)

    def _fallback(self) -> Pricing:
        if self._other is None:
            from milopt.schemes.oracle_program import ProgramPricing
            from milopt.solving import registry

            self._other = ProgramPricing(self._oracle, self._program.given, registry.require("clarabel"), self._options)
        return self._other
