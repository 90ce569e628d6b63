"""Public problems with known answers, by every solver that takes them: the known answer, proved, or an honest status.

    python benchmarks/public_problems.py                          every problem by auto and every installed solver
    python benchmarks/public_problems.py --solver auto --solver highs --only QP

`ok` is the known optimum with its certificate, or the known status proved; a status such as `stalled, feasible` is
honest; WRONG is anything false that counts as proved; LATE is an end more than two seconds after the time limit. `-`
means that the solver does not take the problem. Needs MILOPT_DATA.
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
"""The default time limit of a solve."""
GRACE = 2.0
"""Seconds after the time limit in which a result must be there."""
TOLERANCE = 1e-6
"""Distance to the known optimum, relative to max(1, |optimum|): the known ones have eight digits."""


def outcome(problem: KnownProblem, program: milopt.Program, solver: str, seconds: float) -> tuple[str, float]:
    """Return the verdict on one solve, and its seconds."""
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
    """Solve every problem by every solver that takes it; count the verdicts."""
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
    given = parser.parse_args()
    problems = [one for one in known_problems() if given.only in (None, one.kind, one.name)]
    if not problems:
        sys.exit("There are no such problems in the folder `problems` of the one that MILOPT_DATA names.")
    solvers = given.solver or list(SOLVERS)
    counts: dict[str, Counter[str]] = {solver: Counter() for solver in solvers}
    table(("problem", "solver", "verdict", "seconds"), rows(problems, solvers, given.seconds, counts), 16, 26)
    print()
    table(("solver", *VERDICTS), ((solver, *(count[one] for one in VERDICTS)) for solver, count in counts.items()), 16)
    wrong = sum(count["WRONG"] + count["LATE"] for count in counts.values())
    return 1 if wrong or any(counts["auto"][one] for one in ("honest", "-") if "auto" in counts) else 0


if __name__ == "__main__":
    single_thread()
    sys.exit(main())
