"""Run milopt's checks on the installed scheme and the installed solver, with the exceptions that their author states.

`python check_stranger_algorithms.py` prints JSON. `tests/packaging/test_stranger_algorithms.py` runs this file.
"""

from __future__ import annotations

import json
import sys

from milopt.schemes.registered import scheme_class
from milopt.testing import check_scheme, check_solver

ITERATION_LIMIT = "ProxQP reaches its limit of iterations"
EXCEPTIONS = {
    "dc, infeasible": ITERATION_LIMIT,
    "lp, columns scaled by 1e6": ITERATION_LIMIT,
    "lp, infeasible": ITERATION_LIMIT,
    "lp, unbounded": ITERATION_LIMIT,
    "qp, infeasible": ITERATION_LIMIT,
    "qp, unbounded function": ITERATION_LIMIT,
    "Ctrl-C": "ProxQP does not hear signals",
}


def main() -> None:
    solver = check_solver("proxqp", except_for=EXCEPTIONS)
    scheme = check_scheme(scheme_class("random_restarts")())
    facts = {
        "solver": len(solver.passed),
        "excepted": sorted(solver.excepted),
        "unneeded": sorted(solver.unneeded),
        "time limit": solver.left_out.get("time limit", ""),
        "scheme": len(scheme.passed),
        "passed by the scheme": scheme.passed,
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
