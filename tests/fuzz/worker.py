"""Process that judges programs: it reads lines "seed solver" and writes one JSON line per judgement, then null.

A solver that hangs inside a library can only be stopped by killing its process; see `run`.
"""

from __future__ import annotations

import json
import os
import sys

import milopt
from tests.fuzz.draw import draw
from tests.fuzz.judge import judge_solver


def compile_native() -> None:
    """Solve one program per algorithm of `native`, so that later solves do not include compilation."""
    for bounds, rows, square in (((0.0, 1.0), True, False), ((0.0, 1.0), False, True), ((None, None), False, True)):
        program = milopt.Program("small")
        x = program.variable("x", 2, lower=bounds[0], upper=bounds[1])
        program.minimize(x.sum() + (milopt.sum_squares(x) if square else 0.0))
        if rows:
            program.subject_to(x[0] - x[1] <= 1)
        milopt.solve(program, "native")


def main() -> None:
    """Judge the programs that are requested on standard input."""
    # Output of solvers to standard output must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    compile_native()
    answers.write("null\n")
    for line in sys.stdin:
        seed, _, solver = line.strip().partition(" ")
        try:
            for judgement in judge_solver(draw(int(seed)), solver):
                answers.write(json.dumps([judgement.verdict.value, judgement.detail, judgement.solve]) + "\n")
        except Exception as error:
            # An error in the judge is reported as a crash.
            answers.write(json.dumps(["crash", f"the judge itself failed: {type(error).__name__}: {error}", 0]) + "\n")
        answers.write("null\n")


if __name__ == "__main__":
    main()
