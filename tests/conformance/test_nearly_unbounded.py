"""A program with a very low but finite optimum is not called unbounded, and an unbounded program is."""

from __future__ import annotations

import pytest

import milopt
from milopt import Program, entropy, norm, norm1, square
from milopt.compilation.status import PointStatus, Termination


def parabola(slope: float) -> Program:
    """Declare min slope y - x  s.t.  x^2 <= y, with the optimum -1 / (4 slope)."""
    program = Program("parabola")
    x, y = program.variable("x"), program.variable("y")
    program.minimize(slope * y - x)
    program.subject_to(square(x) <= y)
    return program


def hyperbola(slope: float) -> Program:
    """Declare min slope x_1 - x_0  s.t.  ||x|| <= x_1 + 1, with the optimum of about -1 / (2 slope)."""
    program = Program("hyperbola")
    x = program.variable("x", 2)
    program.minimize(slope * x[1] - x[0])
    program.subject_to(norm(x) <= x[1] + 1)
    program.subject_to(x[0] >= 0)
    return program


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
@pytest.mark.parametrize("slope", [1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10])
@pytest.mark.parametrize("declare", [parabola, hyperbola])
def test_a_far_optimum_is_not_called_unbounded(declare, slope: float, solver: str) -> None:
    assert milopt.solve(declare(slope), solver).termination is not Termination.UNBOUNDED


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
@pytest.mark.parametrize("declare", [parabola, hyperbola])
def test_an_unbounded_program_with_atoms_is_reported(declare, solver: str) -> None:
    assert milopt.solve(declare(-1.0), solver).termination is Termination.UNBOUNDED


def test_large_numbers_do_not_hide_that_a_program_is_infeasible() -> None:
    program = Program("large")
    x, t = program.variable("x", 2), program.variable("t")
    program.minimize(t)
    program.subject_to(norm1(x) <= t)
    program.subject_to(x == 1e8)
    program.subject_to(t <= 2e8 - 100)
    for solver in ("highs", "clarabel"):
        assert milopt.solve(program, solver).termination is Termination.INFEASIBLE


def test_the_domain_of_an_atom_times_zero_does_not_count() -> None:
    program = Program("zero")
    x = program.variable("x", 2, lower=-3)
    program.minimize(x.sum() + 0.0 * entropy(x))
    result = milopt.solve(program, "clarabel")
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(-6.0, abs=1e-6)
