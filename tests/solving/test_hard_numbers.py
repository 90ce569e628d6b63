"""Programs with numbers of very different size, as in public collections: degenerate, redundant, badly scaled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import milopt


def planted_qp(seed: int, spread: float) -> tuple[milopt.Program, float]:
    """Return a QP with singular P and redundant rows, in units that differ by up to 10^(4 spread), and its optimum."""
    draw = np.random.default_rng(seed)
    m, n = 20, 40
    A = sp.random_array((m, n), density=0.3, rng=draw).toarray() * draw.choice([-1, 1], size=(m, n))
    A = np.vstack([A, A[:3] + A[3:6], np.zeros((2, n)), 7 * A[:2]])
    row, column = 10.0 ** draw.uniform(-spread, spread, len(A)), 10.0 ** draw.uniform(-spread, spread, n)
    F, x = row[:, None] * A * column, np.where(draw.random(n) < 0.4, 0.0, draw.uniform(0, 2, n)) / column
    M = draw.normal(size=(n // 3, n)) * column
    y, reduced = draw.normal(size=len(A)) / row, np.where(x == 0, draw.uniform(0, 1, n), 0) * column
    is_inequality = draw.random(len(A)) < 0.4
    y[is_inequality] = np.abs(y[is_inequality])
    q = F.T @ y + reduced - M.T @ (M @ x)
    program = milopt.Program("planted")
    v = program.variable("x", n, lower=0)
    program.minimize(0.5 * milopt.quad_form(v, M.T @ M) + q @ v)
    program.subject_to(F[is_inequality] @ v >= (F @ x)[is_inequality], "above")
    program.subject_to(F[~is_inequality] @ v == (F @ x)[~is_inequality], "equal")
    return program, 0.5 * float((M @ x) @ (M @ x)) + float(q @ x)


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos"])
@pytest.mark.parametrize("seed", range(3))
def test_badly_scaled_quadratic_programs_are_certified(seed: int, solver: str) -> None:
    program, optimum = planted_qp(seed, 3.0)
    result = milopt.solve(program, solver)
    assert result.point == "certified", str(result)
    assert result.objective == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "cvxpy:SCS"])
def test_rows_with_huge_offsets_do_not_change_the_optimum(solver: str) -> None:
    """Solve min ||x - 3||^2  s.t.  sum x <= 4, and redundant rows; the optimum is x = 2 with the multiplier 2."""
    program = milopt.Program("huge")
    x = program.variable("x", 2)
    program.minimize(milopt.sum_squares(x - 3))
    program.subject_to(x >= np.array([-9.9999e19, -1.0]), "floor")
    program.subject_to(x.sum() <= 4, "load")
    result = milopt.solve(program, solver)
    assert result.point == "certified", str(result)
    assert result.values["x"] == pytest.approx([2.0, 2.0], abs=1e-5)
    assert result.duals["load"] == pytest.approx(2.0, abs=1e-4)
    assert result.duals["floor"] == pytest.approx([0.0, 0.0], abs=1e-4)


def test_a_point_is_recognised_as_feasible_if_an_offset_is_tiny() -> None:
    """A tiny offset makes the unit of points tiny, and rounding errors of rows without an offset large in that unit."""
    draw = np.random.default_rng(0)
    inside = draw.uniform(1e3, 1e6, 60)
    A = draw.normal(size=(30, 60))
    A -= np.outer(A @ inside, inside) / (inside @ inside)
    program = milopt.Program("unbounded")
    x = program.variable("x", 60, lower=0.5 * inside, upper=2 * inside)
    free = program.variable("free")
    program.minimize(free)
    program.subject_to(A @ x == 0, "rows")
    program.subject_to(free <= 3e-14, "tiny")
    assert milopt.solve(program, "highs").termination == "unbounded"


def test_polishing_does_not_gain_from_violated_bounds() -> None:
    """Without its bound, x[0] would violate it by 5e-7, within the tolerance, and lower the objective by 0.1 %."""
    lower = np.array([-np.inf, -4550819.84, -np.inf, -np.inf, -np.inf])
    upper = np.array([7.152557373046875e-08, -2348810.24, 382730.24, np.inf, 23.68])
    cost = np.array([-1258291.2, 2.1028518676757813e-05, 2.3460388183593748e-05, 14313062.4, -0.028125])
    weights = np.array([1.099511627776e12, 5.6843418860808015e-14, 1.4551915228366852e-11, 2.74877906944e11, 2.0**-12])
    program = milopt.Program("steep")
    x = program.variable("x", 5, lower=lower, upper=upper)
    program.minimize(cost @ x + milopt.quad_form(x, weights))
    at = np.clip(-cost / (2 * weights), lower, upper)
    result = milopt.solve(program, "highs")
    assert result.values["x"][0] <= upper[0]
    assert result.point != "certified" or result.objective == pytest.approx(cost @ at + weights @ at**2, rel=1e-6)
