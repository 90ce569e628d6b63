"""The status of a DC program whose first step is infeasible."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Linear, Program, as_bags, bag_max, norm, sum_squares
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import UnsupportedError
from milopt.outcome.result import Result
from tests.schemes.generated_dc import generated_dc

SCHEMES = ("ccp", "representatives", "exact")
X = np.array([[1.0], [-1.0]])


def _two_sides(least: float, *, limit: float = 2.0, square: bool = True) -> Program:
    """Return |w| >= least as the maximum over one bag {1, -1}: its mean is 0, so that the first step is infeasible."""
    program = Program("two sides")
    w = program.variable("w", 1, lower=-limit, upper=limit)
    program.minimize(sum_squares(w) if square else w.sum())
    program.subject_to(bag_max(X @ w, as_bags([X])) >= least, name="far")
    return program


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
@pytest.mark.parametrize("square", [True, False], ids=["qp", "lp"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_infeasible_first_step_does_not_make_the_program_infeasible(scheme: str, square: bool, solver: str) -> None:
    result = milopt.solve(_two_sides(1.0, square=square), solver, scheme)
    assert result.point is PointStatus.CERTIFIED, str(result)
    assert abs(float(result.values["w"][0])) >= 1 - 1e-6
    if scheme == "exact" or square:
        assert result.objective == pytest.approx(1.0 if square else -2.0, rel=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_row_that_no_instance_can_satisfy_proves_infeasibility(scheme: str) -> None:
    result = milopt.solve(_two_sides(3.0), "clarabel", scheme)
    assert result.termination is Termination.INFEASIBLE
    assert result.point is PointStatus.NONE
    assert "at most -1 with every witness" in result.message


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_infeasible_convex_part_proves_infeasibility(scheme: str, solver: str) -> None:
    program = _two_sides(1.0, square=False)
    program.subject_to(program.variables["w"].sum() >= 5, name="ceiling")
    result = milopt.solve(program, solver, scheme)
    assert result.termination is Termination.INFEASIBLE
    assert "'ceiling'" in result.message


def _disjoint() -> Program:
    """Return w >= 1.2 or w <= -2, and w <= -1.2 or w >= 2, over [-1.5, 1.5]: each row can hold, but not both."""
    program = Program("disjoint")
    w = program.variable("w", 1, lower=-1.5, upper=1.5)
    program.minimize(w.sum())
    bags = as_bags([X])
    program.subject_to(bag_max(X @ w - np.array([1.2, 2.0]), bags) >= 0, name="right")
    program.subject_to(bag_max(-X @ w - np.array([1.2, 2.0]), bags) >= 0, name="left")
    return program


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_a_proof_the_result_is_stalled(scheme: str) -> None:
    result = milopt.solve(_disjoint(), "highs", scheme)
    assert result.point is PointStatus.NONE
    if scheme == "exact":
        assert result.termination is Termination.INFEASIBLE
    else:
        assert result.termination is Termination.STALLED
        assert "No feasible point was found" in result.message


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
@pytest.mark.parametrize("scheme", ["ccp", "representatives"])
def test_witnesses_are_found_for_functions_of_a_kernel(scheme: str, solver: str) -> None:
    """Hard margins, and a positive bag with the same mean as a negative one."""
    bags = as_bags([np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([[0.0, 0.0], [0.1, 0.0]])])
    program = Program("hard margins")
    f = program.function("f", Linear())
    b = program.variable("b")
    program.minimize(0.5 * f.norm_squared())
    program.subject_to(np.array([1.0, -1.0]) * (bag_max(f(bags)) + b) >= 1, name="margin")
    result = milopt.solve(program, solver, scheme)
    assert result.point is PointStatus.CERTIFIED, str(result)
    assert (np.array([1.0, -1.0]) * result.value(bag_max(f(bags)) + b) >= 1 - 1e-6).all()


def test_exact_omits_an_open_row_with_a_norm() -> None:
    """The unconstrained minimum satisfies the row by its second instance, so an open row must not exclude it."""
    X = np.array([[1.7, 0.7], [-1.6, 0.0]])
    nearest = np.array([-1.4, -0.4])
    program = Program("norm beside a maximum")
    w = program.variable("w", 2)
    program.minimize(sum_squares(w - nearest))
    program.subject_to(bag_max(X @ w, as_bags([X]))[0] - 0.25 * norm(w) >= 1, name="cone")
    result = milopt.solve(program, "clarabel", "exact")
    assert result.termination is Termination.OPTIMAL, str(result)
    assert result.objective == pytest.approx(0.0, abs=1e-6)


def test_exact_reports_an_unbounded_program() -> None:
    program = Program("unbounded")
    w = program.variable("w", 1)
    program.minimize(w.sum())
    program.subject_to(bag_max(X @ w, as_bags([X])) >= 1)
    for solver in ("highs", "clarabel"):
        assert milopt.solve(program, solver, "exact").termination is Termination.UNBOUNDED
    program = Program("unbounded beside the maxima")
    w, t = program.variable("w", 1, lower=-2, upper=2), program.variable("t", lower=0)
    program.maximize(t)
    program.subject_to(bag_max(X @ w, as_bags([X])) >= 1)
    for solver in ("highs", "clarabel"):
        assert milopt.solve(program, solver, "exact").termination is Termination.UNBOUNDED


def _judge(result: Result, scheme: str, optimum: float, worst_violation: float) -> None:
    if optimum == np.inf:
        assert result.point is PointStatus.NONE
        assert scheme != "exact" or result.termination is Termination.INFEASIBLE
        return
    assert result.termination is not Termination.INFEASIBLE
    if optimum == -np.inf:
        assert scheme != "exact" or result.termination is Termination.UNBOUNDED
        return
    assert result.termination is not Termination.UNBOUNDED
    assert worst_violation <= 1e-5
    value = -result.objective if result.program.maximizes else result.objective  # type: ignore[union-attr]
    slack = 1e-5 * (1 + abs(optimum))
    if result.point is not PointStatus.NONE:
        assert value >= optimum - slack
    if scheme == "exact":
        assert result.termination is Termination.OPTIMAL
        assert value <= optimum + slack


@pytest.mark.parametrize("seed", range(24))
def test_generated_programs_agree_with_the_enumeration_of_witnesses(seed: int) -> None:
    drawn = generated_dc(seed)
    optimum = drawn.optimum()
    for scheme in SCHEMES:
        try:
            result = milopt.solve(drawn.declare(), ("highs", "clarabel")[seed % 2], scheme)
        except UnsupportedError:
            result = milopt.solve(drawn.declare(), "clarabel", scheme)
        violation = 0.0
        if result.values:
            violation = drawn.violation(np.asarray(result.values["w"]))
        _judge(result, scheme, optimum, violation if result.point is not PointStatus.NONE else 0.0)
