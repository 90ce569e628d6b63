"""Solve programs with the installed scheme and the installed solver, and print the results as JSON.

`python use_stranger_algorithms.py` prints JSON. `tests/packaging/test_stranger_algorithms.py` runs this file and reads
it.
"""

from __future__ import annotations

import json
import sys
import warnings

import milopt_stranger_algorithms
import numpy as np

import milopt

BAGS, SIZE = 20, 4


def bags_and_labels() -> tuple[milopt.Bags, np.ndarray]:
    """Return bags of noise; those of the positive class have one instance near (2, 2)."""
    rng = np.random.default_rng(2)
    y = np.where(np.arange(BAGS) % 2 == 0, 1, -1)
    instances = rng.normal(size=(BAGS, SIZE, 2))
    instances[y > 0, 0] += 2.0
    return milopt.as_bags(list(instances)), y


def quadratic_program(columns: int) -> milopt.Program:
    """Return a convex QP with an equality, inequalities and bounds."""
    rng = np.random.default_rng(1)
    program = milopt.Program("quadratic")
    x = program.variable("x", columns, lower=-1, upper=2)
    program.minimize(milopt.sum_squares(x - rng.normal(size=columns)) + rng.normal(size=columns) @ x)
    program.subject_to(x.sum() == 1, name="sum")
    program.subject_to(rng.normal(size=(3, columns)) @ x <= 0.5, name="rows")
    return program


def describe_result(result: milopt.Result) -> dict[str, object]:
    return {
        "solver": result.solver,
        "scheme": result.scheme,
        "termination": str(result.termination),
        "point": str(result.point),
        "objective": result.objective,
        "steps": len(result.history),
        "attempts": [attempt.solver for attempt in result.attempts],
        "seconds": [step.seconds for step in result.history],
        "total": result.seconds.total,
        "solve": result.seconds.solve,
    }


def main() -> None:
    bags, y = bags_and_labels()
    model = milopt.models.MISVM
    program = model(kernel=milopt.RBF(5.0), C=10.0).program(bags, y)
    fitted = model(kernel=milopt.RBF(5.0), C=10.0, scheme="random_restarts").fit(bags, y)
    fitted.save("fitted.milopt")
    own = milopt.solve(program, scheme="random_restarts", solver="clarabel")
    kept = model(kernel=milopt.RBF(5.0), C=10.0, scheme=type(registered_scheme())(restarts=2))
    kept.fit(bags, y).save("kept.milopt")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        limited = milopt.solve(quadratic_program(5), "proxqp", time_limit=60)
        automatic = milopt.solve(quadratic_program(5), time_limit=60)
    facts = {
        "from": milopt_stranger_algorithms.__file__,
        "restarts": describe_result(own),
        "ccp": describe_result(milopt.solve(program, scheme="ccp", solver="clarabel")),
        "fitted": describe_result(fitted.result_),
        "loaded": milopt.load_model("fitted.milopt").report().as_dict()["scheme"],
        "kept": repr(milopt.load_model("kept.milopt").scheme),
        "small": describe_result(milopt.solve(quadratic_program(5))),
        "clarabel": describe_result(milopt.solve(quadratic_program(5), "clarabel")),
        "large": describe_result(milopt.solve(quadratic_program(600))),
        "linear": describe_result(milopt.solve(linear_program())),
        "limited": describe_result(limited),
        "automatic within a limit": describe_result(automatic),
        "warnings": [str(warning.message) for warning in caught],
    }
    json.dump(facts, sys.stdout)


def registered_scheme() -> milopt.Scheme:
    from milopt.schemes.registered import scheme_class

    return scheme_class("random_restarts")()


def linear_program() -> milopt.Program:
    program = milopt.Program("linear")
    x = program.variable("x", 3, lower=0)
    program.minimize(x.sum())
    program.subject_to(x[0] + 2 * x[1] >= 1)
    return program


if __name__ == "__main__":
    main()
