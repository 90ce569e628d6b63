"""Regression tests: small programs that milopt once crashed on, rejected as not convex, or did not certify."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Program
from milopt.compilation.status import PointStatus
from milopt.outcome.result import Result


def solve(program: Program, scheme: str | None = None) -> Result:
    return milopt.solve(program, "clarabel", scheme=scheme)


def test_atoms_in_unused_entries_need_no_minorant() -> None:
    program = Program("unused entries")
    x = program.variable("x", 2, lower=-2.0, upper=2.0)
    inside = np.array([[1.0], [0.0]]) @ milopt.square(x[:1] + 3.0) + x
    program.minimize(-x.sum())
    program.subject_to(milopt.exp(inside)[1:] <= 1.0)
    result = solve(program)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(-2.0, abs=1e-6)


def test_atoms_in_unused_entries_need_no_tangent() -> None:
    program = Program("unused entries on the other side")
    x = program.variable("x", 2, lower=-2.0, upper=2.0)
    inside = np.array([[1.0], [0.0]]) @ milopt.logistic(x[:1]) + x
    program.minimize(milopt.sum_squares(x) - milopt.exp(inside)[1:].sum())
    assert solve(program, "ccp").point is PointStatus.CERTIFIED


def test_a_positive_semidefinite_form_is_known_to_be_nonnegative() -> None:
    program = Program("norm of a quadratic")
    x = program.variable("x", 2, lower=1.0, upper=2.0)
    program.minimize(milopt.norm(milopt.quad_form(x, np.array([[2.0, 1.0], [1.0, 2.0]]))))
    result = solve(program)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(6.0, rel=1e-6)


def test_a_nested_atom_on_its_other_side_has_a_starting_point() -> None:
    program = Program("logistic of minus an absolute value")
    x = program.variable("x", 2, lower=-2.0, upper=2.0)
    program.minimize(milopt.logistic(-abs(x - 0.5)).sum() + 0.1 * milopt.sum_squares(x))
    result = solve(program, "ccp")
    assert result.point is PointStatus.CERTIFIED
    x_at = result.values["x"]
    slope = -np.sign(x_at - 0.5) / (1.0 + np.exp(np.abs(x_at - 0.5))) + 0.2 * x_at
    at_bounds = np.abs(x_at) > 2.0 - 1e-6
    assert np.abs(np.where(at_bounds, 0.0, slope)).max() < 1e-5


def test_a_concave_quadratic_of_an_atom_is_linearised_inside_too() -> None:
    program = Program("minus the square of an exponential")
    x = program.variable("x", 1, lower=-1.0, upper=1.0)
    program.minimize((-1.0 * milopt.square(milopt.exp(x))).sum())
    result = solve(program, "ccp")
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(-np.exp(2.0), rel=1e-6)


def test_a_tie_in_a_maximum_of_atoms_goes_to_the_first_entry() -> None:
    program = Program("a tie without features")
    x = program.variable("x", 2, lower=-2.0, upper=2.0)
    inside = np.array([0.0, 1.0]) * milopt.norm(x)
    program.minimize(milopt.sum_squares(x - 1.0) - milopt.positive_part(inside).sum())
    result = solve(program, "ccp")
    assert result.point is PointStatus.CERTIFIED
    # ||x - 1||^2 - ||x|| is smallest at x = t (1, 1) with 4 (t - 1) = sqrt(2).
    assert np.allclose(result.values["x"], 1.0 + 2.0**0.5 / 4.0, atol=1e-5)


def test_a_squared_norm_in_an_inactive_row_does_not_affect_the_certificate() -> None:
    program = Program("two norms of one function")
    points = np.array([[0.0], [1.0], [3.0]])
    f = program.function("f", milopt.RBF(1.0))
    program.minimize(np.array([1.0, -0.5, 0.2]) @ f(points))
    program.subject_to(f.norm() <= 0.5)
    others = np.array([[0.3, 0.0, 0.1], [0.0, 1.0, 0.0]]) @ f(points)
    program.subject_to(np.array([0.7, 0.0]) * f.norm_squared() + others <= 5.0)
    result = solve(program)
    assert result.point is PointStatus.CERTIFIED
    gram = np.exp(-((points - points.T) ** 2))
    c = np.array([1.0, -0.5, 0.2])
    assert result.objective == pytest.approx(-0.5 * np.sqrt(c @ gram @ c), rel=1e-6)


def test_a_function_that_occurs_in_inactive_rows_only_is_certified() -> None:
    program = Program("a function in inactive rows")
    points = np.array([[0.0], [1.0], [3.0]])
    x = program.variable("x", 2, lower=-1.0, upper=1.0)
    f = program.function("f", milopt.RBF(1.0))
    program.minimize(np.array([1.0, -2.0]) @ x)
    program.subject_to(f.norm() <= 3.0)
    program.subject_to(milopt.logistic(f(points)) + x[0] <= 5.0)
    program.subject_to(milopt.huber(f(points)) - x[1] <= 4.0)
    result = solve(program)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(-3.0, abs=1e-6)


def test_a_constant_objective_is_certified_with_a_zero_dual_residual() -> None:
    program = Program("feasibility")
    x = program.variable("x", 2)
    program.minimize(0.0 * x.sum())
    program.subject_to(milopt.norm(x) + x[0] <= 1.0)
    program.subject_to(milopt.norm1(x - 0.2) <= 0.5)
    result = solve(program)
    assert result.point is PointStatus.CERTIFIED
    assert result.certificate is not None
    assert result.certificate.dual == 0.0


def test_rounding_at_the_edge_of_a_domain_does_not_weaken_the_bound() -> None:
    program = Program("an inactive relative entropy at the edge of its domain")
    p = program.variable("p", 1, lower=0.0, upper=2.0)
    program.minimize(p.sum() + 0.5 * milopt.sum_squares(p + 4.0))
    weights = np.array([[1.2348], [1.0584], [1.1508], [0.1932]])
    below = 0.222 + np.array([[0.2294], [1.1026], [0.5476], [0.4736]]) @ p
    program.subject_to(np.array([1.1, 0.52]) * milopt.relative_entropy(weights @ p, below) <= 1.5)
    result = solve(program)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(8.0, abs=1e-6)
