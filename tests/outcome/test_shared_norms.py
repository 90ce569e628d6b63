"""The norm of a function in several cones: the certificate divides its multiplier among them."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Program
from milopt.compilation.status import PointStatus

POINTS = np.random.default_rng(0).normal(size=(5, 2))
PULL = np.array([1.0, -2.0, 0.5, 1.0, 0.3])
LENGTH = float(np.sqrt(PULL @ RBF(0.5)(POINTS, POINTS) @ PULL))


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
@pytest.mark.parametrize(("first", "second"), [(1.0, 2.0), (1.0, 1.0), (2.0, 1.0)])
def test_two_balls_have_the_optimum_of_the_smaller_one(first: float, second: float, solver: str) -> None:
    program = Program("two balls")
    f = program.function("f", RBF(0.5))
    program.maximize(PULL @ f(POINTS))
    program.subject_to(f.norm() <= first, name="first")
    program.subject_to(f.norm() <= second, name="second")
    result = milopt.solve(program, solver)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(LENGTH * min(first, second), rel=1e-7)
    assert float(result.duals["first"] + result.duals["second"]) == pytest.approx(LENGTH, rel=1e-5)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_a_norm_in_the_objective_and_in_a_constraint_is_certified(solver: str) -> None:
    program = Program("norm twice")
    f = program.function("f", RBF(0.5))
    program.maximize(PULL @ f(POINTS) - 0.5 * f.norm())
    program.subject_to(f.norm() <= 1, name="ball")
    result = milopt.solve(program, solver)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(LENGTH - 0.5, rel=1e-7)
