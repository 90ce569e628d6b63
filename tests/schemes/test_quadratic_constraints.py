"""Constraints with quadratic forms that are not positive semidefinite."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import Program, quad_form, solve
from milopt.errors import ConvexityError


def least_sum(weight: list[float], side: float) -> Program:
    """Return the program min sum(x) s.t. x'diag(weight)x >= side, -1 <= x <= 1."""
    program = Program("form")
    x = program.variable("x", len(weight), lower=-1, upper=1)
    program.minimize(x.sum())
    program.subject_to(quad_form(x, np.diag(weight)) >= side)
    return program


def test_negative_definite_form_from_below_is_a_convex_constraint() -> None:
    result = solve(least_sum([-1.0, -1.0, -1.0], -1.0), scheme="direct")
    x = result.value(result.program.variables["x"])
    assert result.point == "certified"
    assert result.objective == pytest.approx(-np.sqrt(3), abs=1e-6)
    assert x @ x <= 1 + 1e-6


def test_negative_definite_form_from_above_is_replaced_by_tangents() -> None:
    program = Program("form")
    x = program.variable("x", 2, lower=-1, upper=1)
    program.minimize(x.sum())
    program.subject_to(quad_form(x, [-1.0, -2.0]) <= -1.0)
    result = solve(program, scheme="ccp")
    values = result.value(x)
    assert result.point == "certified"
    assert values[0] ** 2 + 2 * values[1] ** 2 >= 1 - 1e-6


def test_indefinite_form_in_a_constraint_raises_an_error() -> None:
    with pytest.raises(ConvexityError, match="neither convex nor concave"):
        solve(least_sum([1.0, -1.0, 1.0], 1.0))
