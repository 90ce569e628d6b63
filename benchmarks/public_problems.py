"""Public problems with known answers, solved by every solver that supports them.

    python benchmarks/public_problems.py                          every problem by auto and every installed solver
    python benchmarks/public_problems.py --solver auto --solver highs --only QP

`ok` is the known optimum with a certificate, or the proved known status; a status such as `stalled, feasible` makes no
claim; WRONG is a false result that is certified; LATE is an end more than two seconds after the time limit. `-` means
that the solver does not support the problem. Needs MILOPT_DATA.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from time import perf_counter

from known_problems import KnownProblem, known_problems
from timing import single_thread, table

import milopt

SOLVERS = (
    *("auto", "highs", "clarabel", "ecos", "native"),
    *("cvxpy:SCS", "cvxpy:OSQP", "cvxpy:HIGHS", "cvxpy:SCIPY", "pyomo:highs"),
)
VERDICTS = ("ok", "honest", "WRONG", "LATE", "-")
SECONDS = 30.0
"""Default time limit of a solve in seconds."""
GRACE = 2.0
"""Tolerated seconds after the time limit."""
TOLERANCE = 1e-6
"""Tolerated difference from the known optimum, relative to max(1, |optimum|); known optima have eight digits."""


def outcome(problem: KnownProblem, program: milopt.Program, solver: str, seconds: float) -> tuple[str, float]:
    """Return the verdict of one solve and its time in seconds."""
    began = perf_counter()
    try:
        with warnings.catch_warnings(action="ignore"):
            result = milopt.solve(program, solver, time_limit=seconds)
    except (milopt.errors.UnsupportedError, milopt.errors.ConvexityError):
        return "-", 0.0
    took = perf_counter() - began
    verdict = problem.verdict(result, TOLERANCE)
    return (f"LATE: {verdict}" if took > seconds + GRACE else verdict), took


def rows(
    problems: list[KnownProblem], solvers: list[str], seconds: float, counts: dict[str, Counter[str]]
) -> Iterator[tuple[str, str, str, float]]:
    """Solve every problem with every solver that supports it, and count the verdicts."""
    for problem in problems:
        program = problem.program()
        for solver in solvers:
            verdict, took = outcome(problem, program, solver, seconds)
            kind = verdict.partition(":")[0]
            counts[solver][kind if kind in VERDICTS else "honest"] += 1
            if verdict != "-":
                yield problem.name, solver, verdict, took


def main() -> int:
    """Print one row per problem and solver, and the counts per solver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solver", action="append", help="a solver; may be given several times")
    parser.add_argument("--only", help="LP, MIP, QP or the name of a problem")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of a solve")
    arguments = parser.parse_args()
    problems = [problem for problem in known_problems() if arguments.only in (None, problem.kind, problem.name)]
    if not problems:
        sys.exit("There are no such problems in the subfolder `problems` of the folder in the variable MILOPT_DATA.")
    solvers = arguments.solver or list(SOLVERS)
    counts: dict[str, Counter[str]] = {solver: Counter() for solver in solvers}
    table(("problem", "solver", "verdict", "seconds"), rows(problems, solvers, arguments.seconds, counts), 16, 26)
    print()
    table(
        ("solver", *VERDICTS),
        ((solver, *(count[verdict] for verdict in VERDICTS)) for solver, count in counts.items()),
        16,
    )
    wrong = sum(count["WRONG"] + count["LATE"] for count in counts.values())
    return 1 if wrong or any(counts["auto"][verdict] for verdict in ("honest", "-") if "auto" in counts) else 0


if __name__ == "__main__":
    single_thread()
    sys.exit(main())
