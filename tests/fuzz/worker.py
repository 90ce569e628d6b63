"""A process that judges programs: it reads "seed solver" lines and writes JSON, one line per judgement and null.

A solver that hangs inside a library can only be ended with its process; see `run`.
"""

from __future__ import annotations

import json
import os
import sys

import milopt
from tests.fuzz.draw import draw
from tests.fuzz.judge import judged


def compile_native() -> None:
    """Solve one program per algorithm of `native`, so that later times hold no compilation."""
    for bounds, rows, square in (((0.0, 1.0), True, False), ((0.0, 1.0), False, True), ((None, None), False, True)):
        program = milopt.Program("small")
        x = program.variable("x", 2, lower=bounds[0], upper=bounds[1])
        program.minimize(x.sum() + (milopt.sum_squares(x) if square else 0.0))
        if rows:
            program.subject_to(x[0] - x[1] <= 1)
        milopt.solve(program, "native")


def main() -> None:
    # What solvers print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    compile_native()
    answers.write("null\n")
    for line in sys.stdin:
        seed, _, solver = line.strip().partition(" ")
        try:
            for one in judged(draw(int(seed)), solver):
                answers.write(json.dumps([one.verdict.value, one.detail, one.solve]) + "\n")
        except Exception as error:
            # A fault of the judge must not pass as an answer either.
            answers.write(json.dumps(["crash", f"the judge itself failed: {type(error).__name__}: {error}", 0]) + "\n")
        answers.write("null\n")


if __name__ == "__main__":
    main()
