"""Multipliers that prove infeasibility, and rays of unbounded programs, verified with numpy."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Program
from milopt.errors import UnknownNameError
from milopt.outcome.result import FittedFunction, Result

LINEAR = ["highs", "clarabel", "ecos", "native", "cvxpy:HIGHS"]
QUADRATIC = ["highs", "clarabel", "ecos", "cvxpy:OSQP"]
CONIC = ["clarabel", "ecos", "cvxpy:CLARABEL", "cvxpy:SCS"]
TOLERANCE = 1e-6


def _bound_terms(r: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the sum of r_j bound_j; the multiplier of an infinite bound must be 0."""
    bound = np.where(r > 0, lower, upper)
    assert np.isfinite(bound[r != 0]).all()
    return float(r[r != 0] @ bound[r != 0])


def _infeasible_rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows A x >= b that contradict l <= x <= u: a positive combination of them is infeasible in the box."""
    generator = np.random.default_rng(seed)
    A = generator.normal(size=(5, 4))
    lower, upper = generator.uniform(-2, 0, 4), generator.uniform(0, 2, 4)
    lower[0], upper[1] = -np.inf, np.inf
    weight = generator.uniform(0.5, 1, 5)
    # The combination of the rows has no entry on columns whose bound in that direction is infinite.
    pull = weight @ A
    A[0, 0] -= (pull[0] - abs(pull[0])) / weight[0]
    A[0, 1] -= (pull[1] + abs(pull[1])) / weight[0]
    pull = weight @ A
    reached = np.where(pull > 0, pull * upper, pull * lower).sum()
    b = generator.normal(size=5)
    b[4] += (reached + 0.5 - weight @ b) / weight[4]
    return A, b, lower, upper


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("solver", sorted({*LINEAR, *QUADRATIC}))
@pytest.mark.parametrize("seed", range(3))
def test_rows_and_bounds_sum_to_a_contradiction(seed: int, solver: str, quadratic: bool) -> None:
    if solver not in (QUADRATIC if quadratic else LINEAR):
        pytest.skip(f"{solver} does not support this kind of program")
    A, b, lower, upper = _infeasible_rows(seed)
    program = Program("infeasible")
    x = program.variable("x", 4, lower=lower, upper=upper)
    program.minimize(x.sum() + (milopt.sum_squares(x) if quadratic else 0.0))
    above = program.subject_to(A[:2] @ x >= b[:2], name="above")
    below = program.subject_to(-A[2:4] @ x <= -b[2:4], name="below")
    interval = program.between(b[4], A[4] @ x, b[4] + 100, name="interval")
    program.subject_to(x <= [np.inf, 50, np.inf, np.inf], name="idle")
    result = milopt.solve(program, solver)
    assert result.termination == "infeasible"
    y = np.concatenate([result.farkas[above], result.farkas[below], [result.farkas[interval]]])
    idle, r = result.farkas["idle"], result.farkas[x]
    assert (y[:4] >= 0).all()
    assert (idle >= 0).all()
    assert idle[[0, 2, 3]] == pytest.approx(0.0)
    slopes = A.T @ y + r - idle
    constant = -y @ b - _bound_terms(r, lower, upper) + 50 * idle[1]
    if y[4] < 0:
        constant += y[4] * (b[4] - (b[4] + 100))
    assert slopes == pytest.approx(np.zeros(4), abs=TOLERANCE)
    assert constant == pytest.approx(-1.0, abs=TOLERANCE)


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_equations_have_multipliers_of_any_sign(solver: str) -> None:
    program = Program()
    x = program.variable("x", 3)
    A, b = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), np.array([1.0, 3.0])
    rows = program.subject_to(A @ x == b, name="rows")
    result = milopt.solve(program, solver)
    y = result.farkas[rows]
    assert A.T @ y == pytest.approx(np.zeros(3), abs=TOLERANCE)
    assert -y @ b == pytest.approx(-1.0, abs=TOLERANCE)
    assert result.farkas["x"] == pytest.approx(np.zeros(3))


@pytest.mark.parametrize("solver", CONIC)
@pytest.mark.parametrize("seed", range(3))
def test_multipliers_separate_a_ball_from_a_half_space(seed: int, solver: str) -> None:
    """The rows are norm(x - c) <= d,  a'x >= b,  x >= -5.

    The sum is largest where a y_2 + r has the direction of x - c.
    """
    generator = np.random.default_rng(seed)
    c, a, d = generator.normal(size=3), generator.normal(size=3), 1.0
    b = a @ c + np.linalg.norm(a) * d + 0.5
    program = Program("far")
    x = program.variable("x", 3, lower=-5)
    program.minimize(x.sum())
    ball = program.subject_to(milopt.norm(x - c) <= d, name="ball")
    half = program.subject_to(a @ x >= b, name="half")
    result = milopt.solve(program, solver)
    assert result.termination == "infeasible"
    y, z, r = float(result.farkas[ball]), float(result.farkas[half]), result.farkas[x]
    assert y >= 0
    assert z >= 0
    assert (r >= 0).all()
    slope = z * a + r
    assert np.linalg.norm(slope) <= y * (1 + TOLERANCE)
    # y d - z b + 5 sum r + slope'x - y ||x - c|| is at most its value at x = c.
    assert y * d - z * b + 5 * r.sum() + slope @ c <= -1 + TOLERANCE


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos"])
def test_multipliers_contradict_linear_rows_of_a_function(solver: str) -> None:
    X, kernel = np.array([[0.0], [1.0], [3.0]]), milopt.RBF(1.0)
    program = Program("function")
    f, b = program.function("f", kernel), program.variable("b", lower=0, upper=1)
    program.minimize(f.norm_squared() + b)
    A = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [-1.0, -2.0, -1.0]])
    rows = program.subject_to(A @ f(X) + b >= [1, 1, 2], name="rows")
    result = milopt.solve(program, solver)
    assert result.termination == "infeasible"
    y, r = result.farkas[rows], float(result.farkas["b"])
    assert (y >= 0).all()
    pull, K = A.T @ y, kernel(X, X)
    assert pull @ K @ pull == pytest.approx(0.0, abs=TOLERANCE)
    assert y.sum() + r == pytest.approx(0.0, abs=TOLERANCE)
    assert -y @ [1, 1, 2] - r * (0 if r > 0 else 1) == pytest.approx(-1.0, abs=TOLERANCE)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_multipliers_contradict_a_norm_bound_and_large_values(solver: str) -> None:
    """The rows are norm(f) <= 0.3 and f(x) >= 1: the sum y'f(X) - z ||f|| is at most 0 if y'K y <= z^2."""
    X, kernel = np.array([[0.0], [1.0], [3.0]]), milopt.RBF(1.0)
    program = Program("short")
    f = program.function("f", kernel)
    program.minimize(f.norm())
    large = program.subject_to(f(X) >= 1, name="large")
    short = program.subject_to(f.norm() <= 0.3, name="short")
    result = milopt.solve(program, solver)
    assert result.termination == "infeasible"
    y, z = result.farkas[large], float(result.farkas[short])
    assert (y >= 0).all()
    assert np.sqrt(y @ kernel(X, X) @ y) <= z * (1 + TOLERANCE)
    assert -y.sum() + 0.3 * z <= -1 + TOLERANCE


@pytest.mark.parametrize("solver", LINEAR)
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_improves_along_a_ray(seed: int, solver: str) -> None:
    generator = np.random.default_rng(seed)
    A, d, q = generator.normal(size=(4, 3)), generator.normal(size=3), generator.normal(size=3)
    A[:2] *= np.sign(A[:2] @ d)[:, None]
    A[2:] -= np.outer(A[2:] @ d, d) / (d @ d)
    q *= np.sign(q @ d)
    program = Program("unbounded")
    x = program.variable("x", 3, lower=np.where(d > 0, -1.0, -np.inf), upper=np.where(d < 0, 1.0, np.inf))
    program.maximize(q @ x)
    program.subject_to(A[:2] @ x >= -1, name="rows")
    program.subject_to(A[2:] @ x == 0, name="equations")
    result = milopt.solve(program, solver)
    assert result.termination == "unbounded"
    ray = result.ray[x]
    assert isinstance(ray, np.ndarray)
    assert np.abs(ray).max() == pytest.approx(1.0)
    assert q @ ray > 1e-3
    assert (A[:2] @ ray >= -TOLERANCE).all()
    assert A[2:] @ ray == pytest.approx([0.0, 0.0], abs=TOLERANCE)
    assert (ray[d > 0] >= 0).all()
    assert (ray[d < 0] <= 0).all()


@pytest.mark.parametrize("solver", ["clarabel", "highs", "ecos"])
def test_the_ray_of_a_quadratic_program_has_no_curvature(solver: str) -> None:
    program = Program("flat")
    x = program.variable("x", 3)
    program.minimize((x[0] - x[1]) ** 2 - x.sum())
    program.subject_to(x[0] + x[2] <= 4, name="rows")
    result = milopt.solve(program, solver)
    assert result.termination == "unbounded"
    ray = result.ray["x"]
    assert isinstance(ray, np.ndarray)
    assert ray[0] == pytest.approx(ray[1], abs=TOLERANCE)
    assert ray[0] + ray[2] <= TOLERANCE
    assert ray.sum() > 1e-3


@pytest.mark.parametrize("solver", CONIC)
def test_the_ray_of_a_second_order_cone_stays_in_it(solver: str) -> None:
    program = Program("cone")
    x, t = program.variable("x", 2), program.variable("t")
    program.minimize(-2 * x[0] + t)
    program.subject_to(milopt.norm(x - [1, 2]) <= t, name="cone")
    result = milopt.solve(program, solver)
    assert result.termination == "unbounded"
    along, height = result.ray[x], result.ray[t]
    assert isinstance(along, np.ndarray)
    assert np.linalg.norm(along) <= height + 1e-5
    assert -2 * along[0] + height < -1e-3


@pytest.mark.parametrize("solver", ["highs", "clarabel", "native"])
def test_the_ray_of_a_function_is_a_function(solver: str) -> None:
    X = np.array([[0.0], [1.0], [3.0]])
    program = Program("functions")
    f = program.function("f", milopt.RBF(1.0))
    program.maximize(f(X) @ [1.0, 2.0, 0.0])
    program.subject_to(f(X)[:1] <= 1, name="rows")
    result = milopt.solve(program, solver)
    assert result.termination == "unbounded"
    ray = result.ray[f]  # type: ignore[index]
    assert isinstance(ray, FittedFunction)
    values = ray(X)
    assert values[0] <= TOLERANCE
    assert values @ [1.0, 2.0, 0.0] > 1e-3


def test_infeasibility_proved_by_integer_search_has_no_multipliers() -> None:
    program = Program("parity")
    x = program.variable("x", 2, lower=0, upper=5, integer=True)
    rows = program.subject_to(2 * x[0] - 2 * x[1] == 1, name="rows")
    result = milopt.solve(program, "highs")
    assert result.termination == "infeasible"
    with pytest.raises(UnknownNameError, match="no Farkas multipliers"):
        result.farkas[rows]


def test_results_with_a_point_have_neither_multipliers_nor_ray() -> None:
    program = Program()
    x = program.variable("x", lower=0)
    program.minimize(x)
    result = milopt.solve(program, "highs")
    assert not result.farkas
    assert not result.ray


def _step_without_a_proof() -> Result:
    """Return the result of ccp for rows whose convex steps are infeasible.

    norm_inf(x) >= 3 cannot hold within the bounds, but an infeasible convex step is no proof of that.
    """
    program = Program("dc")
    x = program.variable("x", 2, lower=-1, upper=[0, 2])
    program.minimize(x.sum())
    program.subject_to(milopt.norm_inf(x) >= 3, name="rows")
    return milopt.solve(program, "highs", scheme="ccp")


def test_an_infeasible_step_of_an_alternation_proves_nothing() -> None:
    result = _step_without_a_proof()
    assert result.point == "none"
    assert not result.farkas


@pytest.mark.parametrize("solver", ["clarabel", "ecos", "cvxpy:CLARABEL"])
def test_cone_multipliers_have_the_direction_of_the_gradient(solver: str) -> None:
    """The program min q'x,  2 norm(x - c) <= 2 has x = c - q / ||q|| and the multipliers (||q||, q) of (1, x - c)."""
    q, c = np.array([3.0, -4.0]), np.array([1.0, 2.0])
    program = Program("ball")
    x = program.variable("x", 2)
    program.minimize(q @ x)
    ball = program.subject_to(2 * milopt.norm(x - c) <= 2, name="ball")
    result = milopt.solve(program, solver)
    assert result.values["x"] == pytest.approx(c - q / 5, abs=1e-5)
    assert result.duals[ball] == pytest.approx(2.5, abs=1e-5)
    (z,) = result.cone_duals[ball]
    assert z == pytest.approx([5.0, *q], abs=1e-5)


def test_cone_multipliers_of_groups_and_objective_satisfy_stationarity() -> None:
    q = np.array([3.0, 4.0, 0.0, 5.0, 12.0])
    program = Program("groups")
    x, t = program.variable("x", 5), program.variable("t", lower=0)
    program.minimize(-q @ x + 2 * milopt.norm(x - 1) + 10 * t)
    balls = program.subject_to(milopt.group_norms(x, [2, 3]) <= t, name="balls")
    program.subject_to(t <= 1)
    result = milopt.solve(program, "clarabel")
    first, second = result.cone_duals[balls]
    assert first.shape == (3,)
    assert second.shape == (4,)
    assert result.duals[balls] == pytest.approx([first[0], second[0]])
    (objective,) = (z for name, (z, *_) in result.cone_duals.items() if name != "balls")
    # Stationarity: -q + (multipliers of the rows x - 1) + (multipliers of the rows x) = 0, with F'z on the right.
    assert -q == pytest.approx(objective[1:] + np.concatenate([first[1:], second[1:]]), abs=1e-5)
    assert objective[0] == pytest.approx(2.0)
