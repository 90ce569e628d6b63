"""Programs with exponential cones and known optima, for all solvers that support them: points, multipliers, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from milopt.compilation.elastic_relaxation import ElasticRelaxation
from milopt.compilation.features import cones_of, features_of, kind_name
from milopt.compilation.recession import RecessionProgram
from milopt.compilation.status import Termination
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO
from milopt.errors import UnsupportedError
from milopt.inspection.cvxpy_model import to_cvxpy
from milopt.inspection.lp_file import write_lp
from milopt.inspection.mps_file import write_mps
from milopt.inspection.pyomo_model import to_pyomo
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.columnless import answer_without_columns
from milopt.solving.diagnosis import diagnose
from milopt.solving.options import Options
from milopt.solving.solver_support import check_supported, unsupported_reason

POINT_TOLERANCE = 3e-5
"""Tolerance for points and multipliers: at a smooth optimum, the square root of the tolerance for residuals."""
SOLVERS = ["clarabel", "ecos", "cvxpy:CLARABEL", "cvxpy:ECOS", "cvxpy:SCS"]


def bounded_exponential(build_form):
    """Return  min z  s.t.  exp(x) <= z,  x >= 1.  The optimum is x = 1, z = e with multiplier (-e, 0, 1)."""
    rows = [(EXPONENTIAL, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 0.0])]
    return build_form([0.0, 1.0], rows, lower=[1.0, -np.inf])


def entropy(build_form, c):
    """Return  min sum (x_i log x_i + c_i x_i)  s.t.  sum x = 1;  the optimal x is proportional to exp(-c)."""
    n = len(c)
    rows, offsets = np.zeros((3 * n, 2 * n)), np.tile([0.0, 0.0, 1.0], n)
    rows[3 * np.arange(n), n + np.arange(n)] = -1.0
    rows[3 * np.arange(n) + 1, np.arange(n)] = 1.0
    total = np.concatenate([np.ones(n), np.zeros(n)])
    return build_form(np.concatenate([c, np.ones(n)]), [(ZERO, total, [-1.0]), (EXPONENTIAL, rows, offsets)])


def logistic(build_form, X, y, ridge):
    """Return  min sum log(1 + exp(-y_i w'x_i)) + ridge/2 ||w||^2,  by u + v <= 1, exp(e - t) <= u, exp(-t) <= v."""
    m, d = X.shape
    margins = -y[:, None] * X
    identity, zero, zero_weights = np.eye(m), np.zeros((m, m)), np.zeros((m, d))
    first = np.stack(
        [
            np.hstack([margins, -identity, zero, zero]),
            np.zeros((m, d + 3 * m)),
            np.hstack([zero_weights, zero, identity, zero]),
        ]
    )
    second = np.stack(
        [
            np.hstack([zero_weights, -identity, zero, zero]),
            np.zeros((m, d + 3 * m)),
            np.hstack([zero_weights, zero, zero, identity]),
        ]
    )
    cones = np.concatenate([part.transpose(1, 0, 2).reshape(3 * m, -1) for part in (first, second)])
    sums = np.hstack([zero_weights, zero, -identity, -identity])
    q = np.concatenate([np.zeros(d), np.ones(m), np.zeros(2 * m)])
    rows = [(NONNEGATIVE, sums, np.ones(m)), (EXPONENTIAL, cones, np.tile([0.0, 1.0, 0.0], 2 * m))]
    P = np.diag(np.concatenate([np.full(d, ridge), np.zeros(3 * m)])) if ridge else None
    return build_form(q, rows, P=P)


def balls_and_exponential(build_form, c, radii):
    """Return  min c'x + z  s.t.  ||x_1..2|| <= r_1, ||x_3..5|| <= r_2, x_6 <= r_3, exp(1) <= z."""
    rows = np.zeros((8, 7))
    rows[[1, 2, 4, 5, 6], range(5)] = 1.0
    rows[7, 5] = -1.0
    offset = np.array([radii[0], 0, 0, radii[1], 0, 0, 0, radii[2]])
    exponential_rows = np.zeros((3, 7))
    exponential_rows[2, 6] = 1.0
    blocks = [(SECOND_ORDER, rows, offset, [3, 4, 1]), (EXPONENTIAL, exponential_rows, [1.0, 1.0, 0.0])]
    return build_form(np.append(c, 1.0), blocks)


def solve(name, form):
    return registry.get_solver(name).engine(form, Options()).solve(None)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_smallest_exponential_above_a_bound_is_found(name, build_form, kkt_residuals) -> None:
    form = bounded_exponential(build_form)
    answer = solve(name, form)
    assert answer.termination is Termination.OPTIMAL
    np.testing.assert_allclose(answer.x, [1.0, np.e], atol=1e-6)
    np.testing.assert_allclose(answer.z, [-np.e, 0.0, 1.0], atol=POINT_TOLERANCE)
    assert kkt_residuals(form, answer.x, answer.z).worst <= 1e-6


@pytest.mark.parametrize("name", SOLVERS)
def test_entropy_over_the_simplex_is_solved(name, build_form, kkt_residuals) -> None:
    c = np.array([0.3, -1.0, 2.0, 0.0])
    form = entropy(build_form, c)
    answer = solve(name, form)
    best = np.exp(-c - logsumexp(-c))
    assert answer.termination is Termination.OPTIMAL
    np.testing.assert_allclose(answer.x[:4], best, atol=POINT_TOLERANCE)
    assert form.value(answer.x) == pytest.approx(-logsumexp(-c), abs=1e-6)
    # The derivative of x log x + c x is the same for all x_i.
    assert answer.z[0] == pytest.approx(1.0 - logsumexp(-c), abs=POINT_TOLERANCE)
    assert kkt_residuals(form, answer.x, answer.z).worst <= 1e-6


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("ridge", [0.0, 0.5], ids=["linear", "quadratic"])
def test_logistic_regression_is_solved_to_its_optimum(name, ridge, build_form, kkt_residuals) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), np.where(rng.random(12) < 0.5, -1.0, 1.0)
    form = logistic(build_form, X, y, ridge)
    answer = solve(name, form)

    def loss(w):
        return float(np.logaddexp(0.0, -y * (X @ w)).sum() + 0.5 * ridge * w @ w)

    best = minimize(loss, np.zeros(2), tol=1e-12)
    assert answer.termination is Termination.OPTIMAL
    assert loss(answer.x[:2]) == pytest.approx(best.fun, abs=1e-6)
    assert form.value(answer.x) == pytest.approx(best.fun, abs=1e-6)
    assert kkt_residuals(form, answer.x, answer.z).worst <= 1e-6


@pytest.mark.parametrize("name", SOLVERS)
def test_second_order_cones_of_one_block_and_an_exponential_cone_are_solved(name, build_form, kkt_residuals) -> None:
    c, radii = np.array([3.0, 4.0, 1.0, -2.0, 2.0, -1.0]), np.array([1.0, 2.0, 0.5])
    form = balls_and_exponential(build_form, c, radii)
    answer = solve(name, form)
    assert answer.termination is Termination.OPTIMAL
    np.testing.assert_allclose(answer.x, [-0.6, -0.8, -2 / 3, 4 / 3, -4 / 3, 0.5, np.e], atol=POINT_TOLERANCE)
    np.testing.assert_allclose(answer.z[:8], [5.0, 3.0, 4.0, 3.0, 1.0, -2.0, 2.0, 1.0], atol=POINT_TOLERANCE)
    assert kkt_residuals(form, answer.x, answer.z).worst <= 1e-6


def test_solvers_without_exponential_cones_raise_an_error_that_names_supporting_solvers(build_form) -> None:
    form = bounded_exponential(build_form)
    supporting = [solver.name for solver in registry.installed_solvers() if unsupported_reason(solver, form) is None]
    assert {"clarabel", "ecos"} <= set(supporting)
    for name in ("highs", "native", "libsvm", "cvxpy:OSQP", "cvxpy:HIGHS", "pyomo:highs"):
        with pytest.raises(UnsupportedError, match=r"has exponential cones; .*use .*clarabel") as error:
            check_supported(registry.get_solver(name), form, "program")
        assert str(error.value).count(". ") == 0
    assert kind_name(features_of(form), cones_of(form)) == "exponential cone program"


def test_formats_without_the_cone_raise_an_error_that_names_it(build_form) -> None:
    form = bounded_exponential(build_form)
    for write in (write_lp, write_mps, to_pyomo):
        with pytest.raises(UnsupportedError, match="'rows0' has exponential cones"):
            write(form)


def test_the_cvxpy_problem_has_the_same_optimum(build_form) -> None:
    model = to_cvxpy(bounded_exponential(build_form))
    assert model.problem.solve(solver="CLARABEL") == pytest.approx(np.e, abs=1e-6)


def test_feasibility_of_a_program_without_columns_is_decided_by_its_rows(build_form) -> None:
    holds = build_form([], [(EXPONENTIAL, np.zeros((3, 0)), [0.0, 1.0, 1.0])])
    fails = build_form([], [(EXPONENTIAL, np.zeros((3, 0)), [1.0, 1.0, 1.0])])
    assert answer_without_columns(holds, 1e-6).termination is Termination.OPTIMAL
    assert answer_without_columns(fails, 1e-6).termination is Termination.INFEASIBLE


@pytest.mark.parametrize("name", ["clarabel", "ecos"])
def test_an_infeasible_program_is_proved_infeasible(name, build_form) -> None:
    """Prove that exp(x) <= z, x >= 1, z <= 1 is infeasible; the elastic rows add a multiple of (-1, 1, 1)."""
    form = replace(bounded_exponential(build_form), upper=np.array([np.inf, 1.0]))
    assert ElasticRelaxation(form).form.F.toarray()[:, -1].tolist() == [-1.0, 1.0, 1.0]
    diagnosis = diagnose(form, registry.get_solver(name), Options(), Clock(None), has_all_rows=True)
    assert diagnosis.proved is Termination.INFEASIBLE
    assert "'rows0'" in diagnosis.message


def test_rays_are_confirmed_only_inside_the_cone(build_form) -> None:
    """With exp(x) <= z, the objective -z is unbounded, and -x cannot decrease along a ray without z."""
    rows = [(EXPONENTIAL, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 0.0])]
    recession = RecessionProgram(build_form([0.0, -1.0], rows))
    assert recession.verify_ray(np.array([0.0, 1.0])) is not None
    assert RecessionProgram(build_form([-1.0, 0.0], rows)).verify_ray(np.array([1.0, 1.0])) is None
    # With y = x the rows are (x, x, z), and d = (1, e) is a ray of the cone itself.
    moving = [(EXPONENTIAL, [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.zeros(3))]
    perspective = RecessionProgram(build_form([-1.0, 0.0], moving))
    assert perspective.verify_ray(np.array([1.0, np.e]) / np.e) is not None
    assert perspective.verify_ray(np.array([1.0, 2.0]) / np.e) is None


def test_unboundedness_is_proved_but_not_for_an_unattained_infimum(build_form) -> None:
    rows = [(EXPONENTIAL, [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 0.0])]
    unbounded = build_form([0.0, -1.0], rows)
    diagnosis = diagnose(unbounded, registry.get_solver("clarabel"), Options(), Clock(None), has_all_rows=True)
    assert diagnosis.proved is Termination.UNBOUNDED
    # The infimum 0 of exp(x) is not attained, and there is no direction of descent: nothing is proved.
    unattained = build_form([0.0, 1.0], rows)
    assert (
        diagnose(unattained, registry.get_solver("clarabel"), Options(), Clock(None), has_all_rows=True).proved is None
    )
