"""How often the convex-concave procedure finds the globally best hypothesis, compared with a MILP.

Weak learning over the 1-norm ball on problems small enough for the exact oracle (a MILP by HiGHS, solved to 1e-4 of
its value or left out): random bags in the plane whose classes overlap, and subsets of Musk1 over 20 k-means atoms, each
at prices d drawn from a Dirichlet distribution. The descents of native start from the best single atom, or from the ten
best that differ. `share` is the fraction of prices at which their edge equals the exact one to 1e-4; `worst` is the
smallest ratio of edges, `mean` the mean ratio.

    python benchmarks/global_share.py [--random 60] [--subsets 10] [--limit 20]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from data_sets import data_set
from naive_boosting import Array
from timing import single_thread, table, time_call

from milopt import RBF, Bags, Options, as_bags, get_solver
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.oracle_pricing import choose_oracle_pricing
from milopt.schemes.oracle_program import ExactPricing
from milopt.solving.clock import Clock

SAME, PRICES = 1e-4, 3

Problem = tuple[SemiInfinite, Array]
"""A boosting problem and prices for its oracle."""


def declare_boosting(bags: Bags, y: Array, atoms: int) -> SemiInfinite:
    """Declare boosting over a dictionary of at most `atoms` atoms."""
    model = ShapeletBoost(bias=False, two_sided=False, scale="none", atoms=atoms, kernel=RBF("median"), random_state=0)
    problem = model.program(bags, y)
    assert isinstance(problem, SemiInfinite)
    return problem


def random_problems(count: int) -> Iterator[Problem]:
    """Yield problems with 10 to 14 bags of 2 to 5 points; bags of one class have one shifted point."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        m = int(rng.integers(10, 15))
        y = np.where(np.arange(m) % 2, 1.0, -1.0)
        arrays = [rng.normal(size=(int(rng.integers(2, 6)), 2)) for _ in range(m)]
        for i in np.flatnonzero(y > 0):
            arrays[i][0] += 1.0
        yield declare_boosting(as_bags(arrays), y, 20), rng.dirichlet(np.ones(m))


def subsets_of_musk1(count: int) -> Iterator[Problem]:
    """Yield problems with 12 bags of Musk1, six per class, of at most 8 instances."""
    rng = np.random.default_rng(1)
    arrays, y = data_set("musk1")
    small = np.array([len(array) <= 8 for array in arrays])
    for _ in range(count):
        chosen = np.concatenate([rng.choice(np.flatnonzero(small & (y == sign)), 6, replace=False) for sign in (-1, 1)])
        problem = declare_boosting(as_bags([arrays[i] for i in chosen]), y[chosen], 20)
        for _ in range(PRICES):
            yield problem, rng.dirichlet(np.ones(chosen.size))


def edges(problem: SemiInfinite, d: Array, limit: float) -> tuple[float, float, float, float] | None:
    """Return the edges from one start and from ten, the optimum and the time of the MILP; None at its time limit."""
    [oracle] = problem.oracles
    [p] = oracle.prices
    options = Options(time_limit=limit)
    native = choose_oracle_pricing(problem, oracle, "native", options)
    from_one_start, from_ten_starts = (native.price({p: d}, starts, Clock(None)).columns[0].value for starts in (1, 10))
    exact = ExactPricing(oracle, problem.bags, get_solver("highs"), options)
    seconds, exact_result = time_call(exact.price, {p: d}, 1, Clock(limit))
    if not exact_result.columns or exact_result.bound is None:
        return None
    best = exact_result.columns[0].value
    return (from_one_start, from_ten_starts, best, seconds) if exact_result.bound - best <= SAME * abs(best) else None


def rows(arguments: argparse.Namespace) -> Iterator[list[object]]:
    """Yield one row per kind of problem."""
    kinds = {"random": random_problems(arguments.random), "Musk1 subsets": subsets_of_musk1(arguments.subsets)}
    for name, problems in kinds.items():
        every = [edges(problem, d, arguments.limit) for problem, d in problems]
        known = np.array([value for value in every if value is not None])
        row: list[object] = [name, len(every), len(known), float(known[:, 3].mean())]
        for k in (0, 1):
            # The MILP is solved to a gap, so the edge of a descent may be larger.
            ratio = np.minimum(known[:, k] / known[:, 2], 1.0)
            row += [f"{(ratio >= 1 - SAME).sum()} of {ratio.size}", float(ratio.min()), float(ratio.mean())]
        yield row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=60)
    parser.add_argument("--subsets", type=int, default=10)
    parser.add_argument("--limit", type=float, default=20.0)
    arguments = parser.parse_args()
    single_thread()
    heads = ["prices", "proved", "MILP s", "one start", "worst", "mean", "ten starts", "worst", "mean"]
    table(["weak learning", *heads], rows(arguments), first=16, least=9)


if __name__ == "__main__":
    main()
