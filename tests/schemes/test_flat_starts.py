"""The convex-concave procedure does not start at a maximum, where all tangents are flat and no step would change it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import milopt
from milopt import Program, huber, logistic, norm, norm1, square, sum_squares
from milopt.declaration.programs.expression import Expression

LOGISTIC_AT_MINUS_1 = 0.31326168751822286

OBJECTIVES: dict[str, tuple[Callable[[Expression], Expression], float]] = {
    "minus a square": (lambda x: -sum_squares(x), -2.0),
    "minus an absolute value": (lambda x: -norm1(x), -2.0),
    "minus a norm, with a ridge": (lambda x: 0.1 * sum_squares(x) - norm(x), 0.2 - 2.0**0.5),
    "minus a Huber loss, with a ridge": (lambda x: sum_squares(x) - 3.0 * huber(x).sum(), -1.0),
    "a decreasing atom of an absolute value": (lambda x: logistic(-abs(x)).sum(), 2.0 * LOGISTIC_AT_MINUS_1),
    "an indefinite quadratic": (lambda x: sum_squares(x) - 3.0 * square(x[0] - x[1]), -10.0),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_symmetric_objective_leaves_its_centre(name: str) -> None:
    """The centre of the box is the optimum of the convex part and stationary, but every vertex is better."""
    objective, least = OBJECTIVES[name]
    program = Program(name)
    x = program.variable("x", 2, lower=-1.0, upper=1.0)
    program.minimize(objective(x))
    result = milopt.solve(program, "clarabel", scheme="ccp").require_certified()
    assert result.objective == pytest.approx(least, rel=1e-6)
