"""Time limits of 1 and 3 seconds at 120,000 instances with 100 features: how much later a fit ends.

Each fit of a model (see `every_model.py`) with a solver is a process of its own. `seconds` are those of the whole fit
on the clock; `over` is the part that exceeds the limit. The limit holds if a fit ends within 2 s, one pass over the
data and one Newton step after the limit; `pass s` are the seconds of one product of all instances with a vector, and of
the conversion and the checks of the bags. A solver that does not take the program is printed as "not supported".

    python benchmarks/time_limits.py [--bags 12000] [--features 100] [--limits 1 3] [--kernel linear]
                                     [--solvers auto native highs clarabel] [--models ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from every_model import KERNELS, MODELS, run
from linear_scale import make_bags
from timing import single_thread, table

from milopt import Bags

SOLVERS = ("auto", "native", "highs", "clarabel")
MARGIN = 2.0
"""Seconds that a fit may take longer than its limit, besides one pass over the data and one Newton step."""
STOPPED_AFTER = 60.0
"""Seconds after the limit at which a process is stopped."""


def seconds_of_pass(count: int, features: int) -> float:
    """Return the seconds to check bags and to compute one product of all instances with a vector."""
    X, offsets, _ = make_bags(count, features)
    began = perf_counter()
    np.asarray(Bags(X, offsets).instances @ np.ones(features))
    return perf_counter() - began


def rows(asked: argparse.Namespace) -> Iterator[list[object]]:
    """Yield one row per model, solver and limit."""
    once = seconds_of_pass(asked.bags, asked.features)
    for name in asked.models:
        for solver in asked.solvers:
            for limit in asked.limits:
                given = {"limit": limit, "solver": solver}
                found = run(name, asked.kernel, asked.bags, asked.features, given, limit + STOPPED_AFTER)
                if "UnsupportedError" in str(found["point"]):
                    yield [name, solver, limit, "-", "-", once, "not supported", "-"]
                    break
                over = max(found["seconds"] - limit, 0.0)  # NaN if the process was stopped
                verdict = "ok" if over <= MARGIN + once else "late"
                yield [name, solver, limit, found["seconds"], over, once, found["point"], verdict]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bags", type=int, default=12_000, help="number of bags; a bag has 10 instances on average")
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--limits", nargs="+", type=float, default=[1.0, 3.0])
    parser.add_argument("--kernel", choices=list(KERNELS), default="linear")
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    table(["model", "solver", "limit", "seconds", "over", "pass s", "point", ""], rows(parser.parse_args()), 16, 11)


if __name__ == "__main__":
    single_thread()
    main()
