"""Effect of the two heuristics of boosted shapelets: the best single atom as start, and a k-means dictionary.

Fits with the 1-norm ball, nu = 0.3, no bias and one-sided hypotheses, to their end or for `--rounds` rounds: processor
seconds from bags to certified result (dictionary included), rounds, convex steps per round, and gamma, a lower bound on
the optimum: the larger it is, the better the columns of the oracles.

* start: descents from the best single atom, from the bags' means, or from u = 0, where all instances tie and the first
  of each bag is taken; by HiGHS over the oracle's program as it is declared, which takes any start. Once none finds a
  violated hypothesis, boosting ends (one start each, so that they alone differ).
* dictionary: 100 k-means centroids, or all instances; by native.

Ratios are to the first line of each group. numba compiles before the measurement.

    python benchmarks/heuristics.py [--rounds 60]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from boosting import BoostingCase
from naive_boosting import Array
from timing import single_thread, table, time_call

from milopt import Options, Result, get_solver
from milopt.declaration.programs.leaves import Parameter
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.schemes.column_generation import ColumnGeneration
from milopt.schemes.oracle_pricing import choose_oracle_pricing
from milopt.schemes.oracle_program import ProgramPricing
from milopt.solving.clock import Clock
from milopt.solving.pricing import Pricing, PricingResult

StartFunction = Callable[[Mapping[Parameter, Array]], list[Array]]


class StepCountingOracle(Pricing):
    """Oracle that counts its convex steps."""

    def __init__(self, inner: Pricing) -> None:
        self.solver, self.inner, self.steps = inner.solver, inner, 0

    def price(self, prices: Mapping[Parameter, Array], start_count: int, clock: Clock) -> PricingResult:
        """Return the columns of the inner oracle."""
        result = self.inner.price(prices, start_count, clock)
        self.steps += sum(column.steps for column in result.columns)
        return result


def from_start(case: BoostingCase, start: str, rounds: int) -> tuple[Result, int]:
    """Return result and number of convex steps of a fit with a given start of the descents."""
    problem = case.declare()
    [oracle] = problem.oracles
    nowhere = np.zeros(case.bags.instances.shape[0])
    if start != "best atom":
        start_function: StartFunction | None = None if start == "bag means" else lambda prices: [nowhere]
        oracle = replace(oracle, starts=start_function)
    counted = StepCountingOracle(ProgramPricing(oracle, case.bags, get_solver("highs"), Options()))
    result = ColumnGeneration(max_rounds=rounds, starts=1).run_with_pricings(
        problem, get_solver("highs"), [counted], Options()
    )
    counted.inner.close()
    return result, counted.steps


def over_dictionary(case: BoostingCase, dictionary: str, rounds: int) -> tuple[Result, int]:
    """Return result and number of convex steps of a fit over a dictionary."""
    case.model.set_params(dictionary=dictionary)
    problem = case.model.program(case.bags, case.y)
    assert isinstance(problem, SemiInfinite)
    counted = StepCountingOracle(choose_oracle_pricing(problem, problem.oracles[0], "native", Options()))
    return ColumnGeneration(max_rounds=rounds).run_with_pricings(
        problem, get_solver("native"), [counted], Options()
    ), counted.steps


def rows(rounds: int) -> Iterator[list[object]]:
    """Yield one row per data set and heuristic."""
    fits = {
        "start": (from_start, ("best atom", "bag means", "zero")),
        "dictionary": (over_dictionary, ("kmeans", "all")),
    }
    over_dictionary(BoostingCase.load("musk1", "l1"), "kmeans", 2)
    for what, (fit, choices) in fits.items():
        for name in ("musk1", "gunpoint"):
            first = 0.0
            for choice in choices:
                seconds, (result, steps) = time_call(fit, BoostingCase.load(name, "l1"), choice, rounds)
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
    arguments = parser.parse_args()
    single_thread()
    heads = ["seconds", "ratio", "rounds", "steps a round", "gamma", "ended"]
    table(["fit", *heads], rows(arguments.rounds), first=34, least=10)


if __name__ == "__main__":
    main()
