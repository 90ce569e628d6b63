"""Random restarts: the convex-concave procedure from several random choices of witnesses."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from milopt import ConvexConcave, Options, PointStatus, Program, Result, Scheme, Step
from milopt.solving.clock import Clock
from milopt.solving.solver import Solver


@dataclass(frozen=True)
class RandomRestarts(Scheme):
    """The convex-concave procedure from its usual start and from random witnesses; the best result is returned."""

    name = "random_restarts"
    restarts: int = 5
    seed: int = 0

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Generator[Step, None, Result]:
        rng, sign = np.random.default_rng(self.seed), -1.0 if problem.maximizes else 1.0
        best = yield from ConvexConcave().steps(problem, solver, options, clock)
        for _ in range(self.restarts if problem.maxima() else 0):
            if clock.is_over():
                break
            # The argmax of random values is a random witness.
            start = rng.uniform(size=problem.maxima()[0].segments.entry_count)
            result = yield from ConvexConcave(start=start).steps(problem, solver, options, clock)
            is_proved = result.point is PointStatus.CERTIFIED
            if is_proved and not sign * result.objective >= sign * best.objective:
                best = result
        return replace(best, scheme=self.name)
