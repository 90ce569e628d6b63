"""MILES with generated columns against its whole linear program; a dense interior-point method; a million similarities.

A bag has 5 to 15 instances of normal features, and one instance of each positive bag is shifted by 1 in every feature.
Processor seconds of whole fits, with the peak memory of the process so far.

1. All instances as columns: the whole linear program by HiGHS, and generated columns.
2. 3000 bags and 600 landmarks: generated columns, the whole dual by HiGHS, and the whole dual by an interior-point
   method on bare arrays, without declaration and similarities.
3. 2000 landmarks at 100,000 instances of 100 features: generated columns. Only `--large` runs it, as well as 1000 bags
   in the first table.
"""

from __future__ import annotations

import resource
import sys
import warnings

import numpy as np
from dense_interior import solve_dual
from timing import single_thread, table, time_call

from milopt import Program, as_bags, solve
from milopt.arrays import Matrix, Vector
from milopt.declaration.kernels.similarity import similarity
from milopt.errors import MiloptWarning
from milopt.models import MILES

SIZES, LARGE_SIZES = ((100, 1.0), (100, 0.1), (300, 1.0), (300, 0.1)), ((1000, 1.0), (1000, 0.1))
"""Numbers of bags and values of lam that are fitted with all instances as columns."""


def make_bags(count: int, features: int) -> tuple[list[Matrix], Vector]:
    """Return bags with features in [0, 1], and their labels."""
    rng = np.random.default_rng(0)
    sizes, y = rng.integers(5, 16, count), np.where(np.arange(count) % 2, 1.0, -1.0)
    instances = rng.normal(size=(int(sizes.sum()), features))
    first = np.concatenate([[0], sizes.cumsum()[:-1]])
    instances[first[y > 0]] += 1.0
    instances -= instances.min(axis=0)
    instances /= instances.max(axis=0)
    return np.split(instances, first[1:]), y


def fit(count: int, lam: float, features: int = 50, **settings: object) -> list[object]:
    """Fit MILES, and return its seconds, objective, relative gap, rounds, selected columns and memory in GB."""
    bags, y = make_bags(count, features)
    seconds, model = time_call(MILES(lam=lam, scale="none", **settings).fit, bags, y)
    result = model.result_
    gap = abs(result.objective - result.bound) / max(1.0, abs(result.objective))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    ensemble = result.ensemble
    chosen = ensemble.count if ensemble else int((np.abs(result.values["u"] - result.values["v"]) > 1e-9).sum())
    return [seconds, result.objective, gap, len(result.history), chosen, f"{peak:.2f}"]


def whole_duals(count: int, atoms: int, lam: float) -> list[list[object]]:
    """Solve the whole dual over landmarks by HiGHS and by the interior-point method; return two rows of the table."""
    bags, y = make_bags(count, 50)
    problem = MILES(lam=lam, scale="none", dictionary="uniform", atoms=atoms, columns="generated").program(bags, y)
    function = problem.oracles[0].program.functions["a"]
    M = similarity(function.kernel.kernel, as_bags(bags), function.dictionary.bags.instances)
    A, cost = y[:, None] * M, np.full(count, 0.5)
    program = Program("whole dual")
    d = program.variable("d", count, lower=0, upper=cost)
    program.maximize(d.sum())
    program.subject_to(y @ d == 0)
    program.between(-lam, A.T @ d, lam)
    seconds, result = time_call(solve, program, "highs")
    own, (primal, dual, iterations) = time_call(solve_dual, A, y, lam, cost)
    gap = (primal - dual) / max(1.0, primal)
    return [
        ["whole dual, HiGHS", lam, seconds, result.objective, 0.0, result.iterations, "-", "-"],
        ["whole dual, interior point", lam, own, dual, gap, iterations, "-", "-"],
    ]


def main() -> None:
    """Print the tables."""
    single_thread()
    warnings.simplefilter("ignore", MiloptWarning)
    is_large = "--large" in sys.argv
    for columns in ("whole", "generated"):
        fit(30, 1.0, columns=columns)  # load the algorithms
    heads = ["columns", "lam", "s", "objective", "gap", "rounds", "selected", "peak GB"]
    table(
        ["bags, all instances", *heads[1:]],
        (
            [f"{count}, {columns}", lam, *fit(count, lam, columns=columns)]
            for count, lam in SIZES + (LARGE_SIZES if is_large else ())
            for columns in ("generated", "whole")
        ),
    )
    print()
    landmarks = {"dictionary": "uniform", "atoms": 600}
    rows = (
        row
        for lam in (1.0, 0.1, 0.01)
        for row in (
            ["generated", lam, *fit(3000, lam, columns="generated", **landmarks)],
            *whole_duals(3000, 600, lam),
        )
    )
    table(["3000 bags, 600 landmarks", *heads[1:]], rows)
    if is_large:
        print()
        large = {"features": 100, "dictionary": "uniform", "atoms": 2000, "columns": "generated"}
        table(
            ["100,000 instances", *heads[1:]],
            (["2000 landmarks", lam, *fit(10_000, lam, **large)] for lam in (20.0, 5.0, 1.0)),
        )


if __name__ == "__main__":
    main()
