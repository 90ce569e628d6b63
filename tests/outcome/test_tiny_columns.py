"""A column with tiny coefficients may need a very large value: its residual counts relative to its own coefficients."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Bags, Program, bag_max
from milopt.errors import UnsupportedError


@pytest.mark.parametrize("solver", ["auto", "clarabel", "ecos", "highs", "native", "piqp", "scip", "cvxpy:CLARABEL"])
def test_an_answer_that_ignores_a_far_point_of_a_dictionary_is_not_certified(solver: str) -> None:
    bags = Bags(np.array([[0.56, -0.57], [-0.66, 1.25]]), [0, 2])
    program = Program("far point")
    x = program.variable("x")
    # Kernel values of 5e-12 and 8e-9: the optimum has a coefficient of -3e11.
    f = program.function("f", RBF(1.0), np.array([[4.29, 2.91]]))
    program.minimize(x)
    program.subject_to(bag_max(f(bags)) + 0.9 <= x)
    program.subject_to(8192 * bag_max(-f(bags)) - 7372.8 <= 8192 * x)
    try:
        result = milopt.solve(program, solver)
    except UnsupportedError:
        pytest.skip(f"{solver} does not support this program")
    if result.point == "certified":
        assert result.objective == pytest.approx(0.4943836, abs=1e-5)
