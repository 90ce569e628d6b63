"""Whole fits of boosted shapelets: milopt against the plain cvxpy implementation in `naive_boosting`.

Both sides have the same 100 k-means atoms, kernel, nu = 0.3, starts (one-hots of either sign) and stopping rule, no
bias and one-sided hypotheses; milopt stops after as many rounds as the naive side. Times are processor seconds: one fit
of the naive side, and the median of several fits of milopt, each from a new problem to its certified result. The time
of dictionary and kernel values is excluded on both sides and has its own column. milopt fits once before the
measurement, because numba compiles on first use. The naive side ends before its maximum number of rounds if no
hypothesis is violated. Steps are convex steps.

A second table has complete fits of milopt with its defaults (bias, two-sided): the time of boosting and the time before
it. The few rounds of the first table take less time than k-means; those of a complete fit take longer.

    python benchmarks/boosting.py [--data musk1 gunpoint musk2] [--ball l1 hilbert] [--solver native highs]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from data_sets import data_set
from naive_boosting import Array, BoostingResult, Sample, boost
from timing import single_thread, table, time_call

from milopt import Bags, Options, Result, as_bags, get_solver, load_data
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_pricing import choose_oracle_pricing

NU, RUNS = 0.3, 5
ROUNDS = {
    ("musk1", "l1"): 40,
    ("gunpoint", "l1"): 16,
    ("musk2", "l1"): 4,
    ("musk1", "hilbert"): 40,
    ("gunpoint", "hilbert"): 6,
    ("musk2", "hilbert"): 3,
}
"""Maximum number of rounds, so that the naive side ends within minutes."""
ASKED = {
    ("musk1", "l1", "native"): 50,
    ("gunpoint", "l1", "native"): 300,
    ("musk2", "l1", "native"): 300,
    ("musk1", "l1", "highs"): 8,
    ("gunpoint", "l1", "highs"): 50,
    ("musk2", "l1", "highs"): 100,
    ("musk1", "hilbert", "native"): 100,
    ("gunpoint", "hilbert", "native"): 500,
    ("musk2", "hilbert", "native"): 400,
}


@dataclass(frozen=True)
class BoostingCase:
    """A data set and the model that both sides fit to it."""

    bags: Bags
    y: Array
    model: ShapeletBoost

    @classmethod
    def load(cls, name: str, ball: str) -> BoostingCase:
        """Return the case of a data set and a ball, given by name."""
        model = ShapeletBoost(nu=NU, ball=ball, bias=False, two_sided=False, scale="none", random_state=0)
        if name != "gunpoint":
            instances, y = data_set(name)
            return cls(as_bags(instances), y, model)
        data = load_data(name, window=0.2)
        return cls(data.bags, np.where(data.labels == data.labels.max(), 1.0, -1.0), model)

    def declare(self) -> SemiInfinite:
        """Declare the problem; this computes the dictionary."""
        problem = self.model.program(self.bags, self.y)
        assert isinstance(problem, SemiInfinite)
        return problem

    def fit_naively(self, ball: str, rounds: int) -> tuple[float, BoostingResult]:
        """Return time and result of the naive implementation with the same dictionary."""
        [function] = self.declare().oracles[0].program.functions.values()
        kernel, atoms = function.kernel, function.dictionary
        assert atoms is not None
        similarities = np.asarray(kernel(self.bags.instances, atoms))
        sample = Sample(similarities, np.asarray(kernel(atoms, atoms)), np.asarray(self.bags.offsets), self.y)
        return time_call(boost, sample, ball, NU, rounds)

    def fit_with_milopt(self, solver: str, rounds: int) -> tuple[float, float, Result]:
        """Return the time before boosting, the time of boosting, and the result."""
        options, live = Options(), []
        before, problem = time_call(self.declare)
        for oracle in problem.oracles:
            seconds, pricing = time_call(choose_oracle_pricing, problem, oracle, solver, options)
            before += seconds
            live.append(pricing)
        seconds, result = time_call(
            ColumnGeneration(max_rounds=rounds).run_with_pricings, problem, get_solver(solver), live, options
        )
        for pricing in live:
            pricing.close()
        return before, seconds, result


def rows(chosen: argparse.Namespace) -> Iterator[list[object]]:
    """Yield one row per data set, ball and solver."""
    for name, ball in ROUNDS:
        solvers = [solver for solver in chosen.solver if (name, ball, solver) in ASKED]
        if name not in chosen.data or ball not in chosen.ball or not solvers:
            continue
        case = BoostingCase.load(name, ball)
        slow, naive = case.fit_naively(ball, ROUNDS[name, ball])
        for solver in solvers:
            case.fit_with_milopt(solver, naive.rounds)
            fits = [case.fit_with_milopt(solver, naive.rounds) for _ in range(RUNS)]
            before, fast = (statistics.median(fit[k] for fit in fits) for k in (0, 1))
            result = fits[0][2]
            yield [
                f"{name}, {ball}, {solver}",
                f"{naive.rounds} / {len(result.history)}",
                naive.steps,
                naive.gamma,
                result.objective,
                slow,
                fast,
                slow / fast,
                ASKED[name, ball, solver],
                before,
            ]


def complete_fits(chosen: argparse.Namespace) -> Iterator[list[object]]:
    """Yield one row per data set and ball."""
    for name, ball in ROUNDS:
        if name in chosen.data and ball in chosen.ball:
            case = BoostingCase.load(name, ball)
            case.model.set_params(bias=True, two_sided=True)
            fits = [case.fit_with_milopt("native", 1000) for _ in range(4)][1:]
            before, fast = (statistics.median(fit[k] for fit in fits) for k in (0, 1))
            result = fits[0][2]
            yield [f"{name}, {ball}, native", len(result.history), result.objective, before, fast, before / fast]


def main() -> None:
    """Print the tables, or only the rows that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["musk1", "gunpoint", "musk2"])
    parser.add_argument("--ball", nargs="+", default=["l1", "hilbert"])
    parser.add_argument("--solver", nargs="+", default=["native", "highs"])
    chosen = parser.parse_args()
    single_thread()
    heads = ["rounds", "naive steps", "naive gamma", "gamma", "naive s", "milopt s", "ratio", "asked", "before s"]
    table(["fit", *heads], rows(chosen), first=26, least=10)
    print()
    table(
        ["whole fit", "rounds", "gamma", "before s", "boosting s", "ratio"], complete_fits(chosen), first=26, least=10
    )


if __name__ == "__main__":
    main()
