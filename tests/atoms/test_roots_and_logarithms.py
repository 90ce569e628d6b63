"""Compare random programs with logarithms, roots, reciprocals, quotients and geometric means with cvxpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import milopt

SIZE = 4
Pair = tuple[Callable[[Any], Any], Callable[[Any], Any]]
CONVEX: dict[str, Pair] = {
    "-log": (lambda e: -milopt.log(e).sum(), lambda e: -cp.sum(cp.log(e))),
    "-sqrt": (lambda e: -milopt.sqrt(e).sum(), lambda e: -cp.sum(cp.sqrt(e))),
    "inv_pos": (lambda e: milopt.inv_pos(e).sum(), lambda e: cp.sum(cp.inv_pos(e))),
    "quad_over_lin": (lambda e: milopt.quad_over_lin(e[1:] - 1, e[0]), lambda e: cp.quad_over_lin(e[1:] - 1, e[0])),
    "-geo_mean": (lambda e: -milopt.geo_mean(e), lambda e: -cp.geo_mean(e)),
    "max": (lambda e: e.max(), cp.max),
    "-min": (lambda e: -e.min(), lambda e: -cp.min(e)),
    "-log sqrt": (lambda e: -milopt.log(1 + milopt.sqrt(e)).sum(), lambda e: -cp.sum(cp.log(1 + cp.sqrt(e)))),
    "inv_pos log": (lambda e: milopt.inv_pos(milopt.log(2 + e)).sum(), lambda e: cp.sum(cp.inv_pos(cp.log(2 + e)))),
    "exp -sqrt": (lambda e: milopt.exp(-milopt.sqrt(e)).sum(), lambda e: cp.sum(cp.exp(-cp.sqrt(e)))),
    "square inv_pos": (lambda e: (milopt.inv_pos(e) ** 2).sum(), lambda e: cp.sum(cp.inv_pos(e) ** 2)),
    "norms of rows": (
        lambda e: milopt.norm(e.reshape(2, 2) - 1, axis=1).max(),
        lambda e: cp.max(cp.norm(cp.reshape(e, (2, 2), order="C") - 1, axis=1)),
    ),
}


def random_data(seed: int) -> tuple[np.ndarray, ...]:
    """Return a matrix A, costs c and a right side b, for which x = 1 satisfies A x <= b strictly."""
    random = np.random.default_rng(seed)
    A = random.uniform(0.2, 1.0, (SIZE, SIZE)) + np.eye(SIZE)
    return A, random.uniform(0.5, 2.0, SIZE), A.sum(axis=1) + random.uniform(0.1, 1.0, SIZE)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CONVEX)
def test_optimum_agrees_with_cvxpy_for_an_atom_in_the_objective(name: str, seed: int, solver: str) -> None:
    ours, theirs = CONVEX[name]
    A, c, b = random_data(seed)
    program = milopt.Program(name)
    x = program.variable("x", SIZE)
    program.minimize(ours(A @ x) + 0.1 * c @ x)
    rows = program.subject_to(A @ x <= b)
    program.subject_to(A @ x >= 0.1)
    result = milopt.solve(program, solver).require_certified()
    y = cp.Variable(SIZE)
    problem = cp.Problem(cp.Minimize(theirs(A @ y) + 0.1 * c @ y), [A @ y <= b, A @ y >= 0.1])
    problem.solve(solver=cp.CLARABEL)
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(problem.value, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(result.duals[rows], problem.constraints[0].dual_value, atol=2e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CONVEX)
def test_optimum_agrees_with_cvxpy_for_an_atom_in_a_row(name: str, seed: int) -> None:
    ours, theirs = CONVEX[name]
    A, c, b = random_data(seed)
    program = milopt.Program(name)
    x = program.variable("x", SIZE)
    limit = cp.Constant(0.0) + theirs(A @ np.ones(SIZE))
    program.minimize(c @ x)
    program.subject_to([ours(A @ x) <= limit.value + 0.05, A @ x >= 0.1, A @ x <= b])
    result = milopt.solve(program).require_certified()
    y = cp.Variable(SIZE)
    problem = cp.Problem(cp.Minimize(c @ y), [theirs(A @ y) <= limit.value + 0.05, A @ y >= 0.1, A @ y <= b])
    problem.solve(solver=cp.CLARABEL)
    assert result.objective == pytest.approx(problem.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["-log", "-sqrt", "inv_pos", "quad_over_lin", "-geo_mean"])
def test_an_atom_on_its_other_side_is_linearised(name: str) -> None:
    program = milopt.Program(name)
    x = program.variable("x", SIZE, lower=0.5, upper=2.0)
    program.minimize(-CONVEX[name][0](x) + milopt.sum_squares(x - 1.2))
    result = milopt.solve(program, "clarabel", scheme="ccp")
    assert result.termination == "stationary"
    assert result.point == "certified"
