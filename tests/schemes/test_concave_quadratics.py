"""`scheme="ccp"` linearises concave quadratics of an objective, if the sum of all its quadratics is not convex."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import ConvexConcave, Program, norm, quad_form, square, sum_squares
from milopt.compilation.status import Termination
from milopt.errors import ConvexityError, UnsupportedError
from milopt.outcome.result import Result

POINTS = np.array([[0.0], [1.0], [3.0]])
GRAM = np.exp(-((POINTS - POINTS.T) ** 2))


def solve_by_ccp(program: Program, max_steps: int = 100) -> Result:
    return milopt.solve(program, "clarabel", ConvexConcave(max_steps=max_steps))


def largest_eigenvalue_problem() -> tuple[Program, np.ndarray]:
    root = np.random.default_rng(3).normal(size=(4, 4))
    W = root @ root.T
    program = Program("largest eigenvalue")
    x = program.variable("x", 4)
    program.minimize(-quad_form(x, W))
    program.subject_to(norm(x) <= 1)
    return program, W


def test_minus_a_quadratic_form_over_the_unit_ball_is_the_power_method() -> None:
    """The tangent at x is -2(Wx)'y + x'Wx, whose minimum over the ball is at Wx / ||Wx||."""
    program, W = largest_eigenvalue_problem()
    result = solve_by_ccp(program)
    for k, step in enumerate(result.history[1:], 1):
        x = W @ solve_by_ccp(program, max_steps=k).values["x"]
        x = x / np.linalg.norm(x)
        assert step.objective == pytest.approx(-x @ W @ x, rel=1e-6)
    assert result.termination is Termination.STATIONARY
    assert result.objective == pytest.approx(-np.linalg.eigvalsh(W)[-1], rel=1e-6)
    assert result.program is program


def test_a_quartic_minus_a_square_follows_its_majorisation() -> None:
    """For x^4 - x^2 the next point minimises y^4 - 2xy, so y^3 = x / 2; the limit is x^2 = 1/2."""
    program = Program("double well")
    x, t = program.variable("x", 1), program.variable("t", 1)
    program.minimize(sum_squares(t) - sum_squares(x))
    program.subject_to(square(x) <= t)
    result = solve_by_ccp(program)
    assert len(result.history) > 3
    for k, step in enumerate(result.history[1:], 1):
        at = float(np.cbrt(solve_by_ccp(program, max_steps=k).values["x"][0] / 2.0))
        assert step.objective == pytest.approx(at**4 - at**2, abs=1e-6)
    assert result.require_certified().objective == pytest.approx(-0.25, abs=1e-6)


@pytest.mark.parametrize("maximizes", [False, True])
def test_each_kind_of_quadratic_is_linearised(maximizes: bool) -> None:
    """The limit can be computed by hand: the box is a product of intervals, and each variable is in one square."""
    program = Program("three quadratics")
    x = program.variable("x", 3, lower=-1.0, upper=2.0)
    y = program.variable("y", lower=-1.0, upper=3.0)
    objective = (
        np.array([1.0, -1.0, 0.0]) @ square(x)
        + x[0]
        + quad_form(x[1:], np.array([0.0, -0.5]))
        - 2.0 * square(y)
        - 0.3 * (x[1] + x[2] + y)
    )
    if maximizes:
        program.maximize(-objective)
    else:
        program.minimize(objective)
    result = solve_by_ccp(program).require_certified()
    assert np.allclose(result.values["x"], [-0.5, 2.0, 2.0], atol=1e-6)
    assert result.values["y"] == pytest.approx(3.0)
    sign = -1.0 if maximizes else 1.0
    assert sign * result.objective == pytest.approx(-0.25 - 4.0 - 2.0 - 18.0 - 0.3 * 7.0, rel=1e-6)


def test_an_indefinite_form_does_not_end_at_its_saddle_point() -> None:
    """The convex part of 2 x_1 x_2 is smallest at 0, where the tangent of the concave part is flat."""
    program = Program("saddle")
    x = program.variable("x", 2, lower=-1.0, upper=2.0)
    program.minimize(quad_form(x, np.array([[0.0, 1.0], [1.0, 0.0]])))
    assert solve_by_ccp(program).require_certified().objective == pytest.approx(-4.0, rel=1e-6)


def test_a_convex_sum_is_an_ordinary_convex_program() -> None:
    program = Program("convex sum")
    x = program.variable("x", 2, lower=-1.0, upper=5.0)
    program.minimize(2.0 * sum_squares(x - 1.0) - sum_squares(x))
    result = solve_by_ccp(program)
    assert (result.termination, result.scheme) == (Termination.OPTIMAL, "direct")
    assert result.objective == pytest.approx(-4.0, rel=1e-6)


def test_a_sum_that_is_convex_on_the_feasible_subspace_is_convex() -> None:
    program = Program("convex on a line")
    x = program.variable("x", 2, lower=-1.0, upper=5.0)
    program.minimize(square(x[0]) - square(x[1]))
    program.subject_to(x[0] == 2.0 * x[1] + 1.0)
    result = solve_by_ccp(program)
    assert result.scheme == "direct"
    assert result.objective == pytest.approx(-1.0 / 3.0, rel=1e-6)


@pytest.mark.parametrize("dictionary", [None, POINTS], ids=["free", "dictionary"])
def test_minus_the_squared_norm_of_a_function(dictionary: np.ndarray | None) -> None:
    """The minimum of c'f(X) - ||f||^2 over ||f|| <= 2 is on the boundary of the ball, opposite to c'f(X)."""
    program, c = Program("function"), np.array([1.0, -0.5, 0.2])
    f = program.function("f", milopt.RBF(1.0), dictionary)
    program.minimize(c @ f(POINTS) - f.norm_squared())
    program.subject_to(f.norm() <= 2.0)
    result = milopt.solve(program, "clarabel", "ccp").require_certified()
    assert result.objective == pytest.approx(-2.0 * np.sqrt(c @ GRAM @ c) - 4.0, rel=1e-5)


def test_minus_squares_of_function_values() -> None:
    """The minimum of ||f||^2 - 3 ||f(X)||^2 over ||f|| <= 2 depends on the largest eigenvalue of the kernel matrix."""
    program = Program("values of a function")
    f = program.function("f", milopt.RBF(1.0))
    program.minimize(f.norm_squared() - 3.0 * sum_squares(f(POINTS)))
    program.subject_to(f.norm() <= 2.0)
    result = milopt.solve(program, "auto", "ccp").require_certified()
    assert result.objective == pytest.approx(4.0 * (1.0 - 3.0 * np.linalg.eigvalsh(GRAM)[-1]), rel=1e-5)


def test_quadratics_are_split_only_if_ccp_is_requested_by_name() -> None:
    program, _ = largest_eigenvalue_problem()
    with pytest.raises(ConvexityError, match="non-convex terms: "):
        milopt.solve(program, "clarabel")


def test_ccp_linearises_quadratics_beside_maxima() -> None:
    """The program is a DC program because of its maximum; the square is linearised too."""
    program = Program("square and maximum")
    x = program.variable("x", 2, lower=-1.0, upper=2.0)
    program.minimize(-1.0 * sum_squares(x) - milopt.maximum(x[:1], x[1:]).sum())
    assert solve_by_ccp(program).require_certified().objective == pytest.approx(-10.0, rel=1e-6)


@pytest.mark.parametrize("solver", ["auto", "clarabel", "ecos"])
def test_a_negative_weight_of_a_functions_norm_is_not_convex_even_without_points(solver: str) -> None:
    """Directions orthogonal to all points have only that weight; here there are no points at all."""
    program = Program("no points")
    f = program.function("f", milopt.RBF(1.0))
    program.minimize(-f.norm_squared())
    program.subject_to(f.norm() <= 1)
    with pytest.raises((ConvexityError, UnsupportedError), match="not convex"):
        milopt.solve(program, solver)


def test_a_point_of_an_objective_with_a_negative_weight_of_a_norm_is_only_stationary() -> None:
    program = Program("losses minus a norm")
    f = program.function("f", milopt.RBF(1.0))
    program.minimize(sum_squares(f(POINTS) - 1) - 0.1 * f.norm_squared())
    assert milopt.solve(program, "native").termination is Termination.STATIONARY
