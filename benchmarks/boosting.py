"""Whole boosted-shapelet fits: milopt against the plain cvxpy of `naive_boosting`, both in this run.

Both sides have the same 100 k-means atoms, kernel, nu = 0.3, starts (one-hots of either sign) and stopping rule, no
bias and one-sided hypotheses; milopt stops after as many rounds as the naive side took. Processor seconds: the naive
side once, milopt's the median of several fits, each from a new problem to its certified result. Dictionary and kernel
values are left out on both sides and have a column of their own. Milopt fits once before the clock starts, for numba
compiles on first use. The naive side may have fewer rounds than its cap, where it finds no violated hypothesis; steps
are convex steps.

A second table has milopt's fits as they are by default (bias, two-sided) to their end: boosting beside what comes
before it. The few rounds of the first table are over before k-means is, those of a whole fit are not.

    python benchmarks/boosting.py [--data musk1 gunpoint musk2] [--ball l1 hilbert] [--solver native highs]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from data_sets import data_set
from naive_boosting import Array, Boosted, Sample, boost
from timing import single_thread, table, timed

from milopt import Bags, Options, Result, as_bags, get, load_data
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_pricing import oracle_pricing

NU, RUNS = 0.3, 5
ROUNDS = {
    ("musk1", "l1"): 40,
    ("gunpoint", "l1"): 16,
    ("musk2", "l1"): 4,
    ("musk1", "hilbert"): 40,
    ("gunpoint", "hilbert"): 6,
    ("musk2", "hilbert"): 3,
}
"""At most, so that the naive side ends within minutes."""
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
class Case:
    """A data set, and the model that both sides fit to it."""

    bags: Bags
    y: Array
    model: ShapeletBoost

    @classmethod
    def of(cls, name: str, ball: str) -> Case:
        """By the names of data set and ball."""
        model = ShapeletBoost(nu=NU, ball=ball, bias=False, two_sided=False, scale="none", random_state=0)
        if name != "gunpoint":
            instances, y = data_set(name)
            return cls(as_bags(instances), y, model)
        data = load_data(name, window=0.2)
        return cls(data.bags, np.where(data.labels == data.labels.max(), 1.0, -1.0), model)

    def declared(self) -> SemiInfinite:
        """The problem; this makes the dictionary."""
        problem = self.model.program(self.bags, self.y)
        assert isinstance(problem, SemiInfinite)
        return problem

    def naively(self, ball: str, rounds: int) -> tuple[float, Boosted]:
        """(seconds, what was reached) by cvxpy, over the same dictionary."""
        [function] = self.declared().oracles[0].program.functions.values()
        kernel, atoms = function.kernel, function.dictionary
        assert atoms is not None
        similarities = np.asarray(kernel(self.bags.instances, atoms))
        sample = Sample(similarities, np.asarray(kernel(atoms, atoms)), np.asarray(self.bags.offsets), self.y)
        return timed(boost, sample, ball, NU, rounds)

    def by_milopt(self, solver: str, rounds: int) -> tuple[float, float, Result]:
        """(seconds before, seconds of boosting, its result)."""
        options, live = Options(), []
        before, problem = timed(self.declared)
        for oracle in problem.oracles:
            seconds, one = timed(oracle_pricing, problem, oracle, solver, options)
            before += seconds
            live.append(one)
        seconds, result = timed(ColumnGeneration(max_rounds=rounds).run_with, problem, get(solver), live, options)
        for one in live:
            one.close()
        return before, seconds, result


def rows(chosen: argparse.Namespace) -> Iterator[list[object]]:
    """A row a data set, ball and solver."""
    for name, ball in ROUNDS:
        solvers = [solver for solver in chosen.solver if (name, ball, solver) in ASKED]
        if name not in chosen.data or ball not in chosen.ball or not solvers:
            continue
        case = Case.of(name, ball)
        slow, naive = case.naively(ball, ROUNDS[name, ball])
        for solver in solvers:
            case.by_milopt(solver, naive.rounds)
            fits = [case.by_milopt(solver, naive.rounds) for _ in range(RUNS)]
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


def whole(chosen: argparse.Namespace) -> Iterator[list[object]]:
    """A row a data set and ball."""
    for name, ball in ROUNDS:
        if name in chosen.data and ball in chosen.ball:
            case = Case.of(name, ball)
            case.model.set_params(bias=True, two_sided=True)
            fits = [case.by_milopt("native", 1000) for _ in range(4)][1:]
            before, fast = (statistics.median(fit[k] for fit in fits) for k in (0, 1))
            result = fits[0][2]
            yield [f"{name}, {ball}, native", len(result.history), result.objective, before, fast, before / fast]


def main() -> None:
    """Print the tables, all of it or the rows that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["musk1", "gunpoint", "musk2"])
    parser.add_argument("--ball", nargs="+", default=["l1", "hilbert"])
    parser.add_argument("--solver", nargs="+", default=["native", "highs"])
    chosen = parser.parse_args()
    single_thread()
    heads = ["rounds", "naive steps", "naive gamma", "gamma", "naive s", "milopt s", "ratio", "asked", "before s"]
    table(["fit", *heads], rows(chosen), first=26, least=10)
    print()
    table(["whole fit", "rounds", "gamma", "before s", "boosting s", "ratio"], whole(chosen), first=26, least=10)


if __name__ == "__main__":
    main()
