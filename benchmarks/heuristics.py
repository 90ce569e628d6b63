"""What the two heuristics of boosted shapelets bring: the best single atom as start, and k-means atoms as dictionary.

Fits with the 1-norm ball, nu = 0.3, no bias and one-sided hypotheses, to their end or for so many rounds: processor
seconds from bags to certified result (dictionary included), rounds, convex steps a round, and gamma reached, which is a
lower bound that the class's optimum exceeds: the larger it is, the more the oracles found.

* start: descents from the best single atom, from the bags' means, or from u = 0, where all instances tie and the first
  of each bag is taken; by HiGHS over the oracle's program as it is declared, which takes any start. Once none finds a
  violated hypothesis, boosting ends (one start each, so that they alone differ).
* dictionary: 100 k-means centroids, or all instances; by native.

Ratios are to the first line of each group. numba compiles before the clock starts.

    python benchmarks/heuristics.py [--rounds 60]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from boosting import Case
from naive_boosting import Array
from timing import single_thread, table, timed

from milopt import Options, Result, get
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_pricing import oracle_pricing
from milopt.schemes.oracle_program import ProgramPricing
from milopt.solving.clock import Clock
from milopt.solving.pricing import Found, Pricing

Starts = Callable[[Mapping[Parameter, Array]], list[Array]] | None


class Counted(Pricing):
    """A pricing, and its convex steps."""

    def __init__(self, inner: Pricing) -> None:
        self.solver, self.inner, self.steps = inner.solver, inner, 0

    def price(self, prices: Mapping[Parameter, Array], starts: int, clock: Clock) -> Found:
        """The inner one's answer."""
        found = self.inner.price(prices, starts, clock)
        self.steps += sum(column.steps for column in found.columns)
        return found


def from_start(case: Case, start: str, rounds: int) -> tuple[Result, int]:
    """(the result, convex steps) of a fit whose descents begin there."""
    problem = case.declared()
    [oracle] = problem.oracles
    nowhere = np.zeros(case.bags.instances.shape[0])
    if start != "best atom":
        starts: Starts = None if start == "bag means" else lambda prices: [nowhere]
        oracle = replace(oracle, starts=starts)
    counted = Counted(ProgramPricing(oracle, case.bags, get("highs"), Options()))
    result = ColumnGeneration(max_rounds=rounds, starts=1).run_with(problem, get("highs"), [counted], Options())
    counted.inner.close()
    return result, counted.steps


def over_dictionary(case: Case, dictionary: str, rounds: int) -> tuple[Result, int]:
    """(the result, convex steps) of a fit over that dictionary."""
    case.model.set_params(dictionary=dictionary)
    problem = case.model.program(case.bags, case.y)
    assert isinstance(problem, SemiInfinite)
    counted = Counted(oracle_pricing(problem, problem.oracles[0], "native", Options()))
    return ColumnGeneration(max_rounds=rounds).run_with(problem, get("native"), [counted], Options()), counted.steps


def rows(rounds: int) -> Iterator[list[object]]:
    """A row a data set and choice."""
    fits = {
        "start": (from_start, ("best atom", "bag means", "zero")),
        "dictionary": (over_dictionary, ("kmeans", "all")),
    }
    over_dictionary(Case.of("musk1", "l1"), "kmeans", 2)
    for what, (fit, choices) in fits.items():
        for name in ("musk1", "gunpoint"):
            first = 0.0
            for choice in choices:
                seconds, (result, steps) = timed(fit, Case.of(name, "l1"), choice, rounds)
                first = first or seconds
                count = len(result.history)
                ended = f" {result.termination}"
                yield [
                    f"{name}, {what}: {choice}",
                    seconds,
                    seconds / first,
                    count,
                    steps / count,
                    result.objective,
                    ended,
                ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    single_thread()
    heads = ["seconds", "ratio", "rounds", "steps a round", "gamma", "ended"]
    table(["fit", *heads], rows(given.rounds), first=34, least=10)


if __name__ == "__main__":
    main()
