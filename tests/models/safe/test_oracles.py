"""Identities of SAFE that hold for all data: systems, limits, curvature, value and symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from milopt import Nystrom, Program, as_bags, quad_form, solve
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus, Termination
from milopt.models import SAFE
from tests.models.general_solvers import general_solvers
from tests.models.safe.cases import K, Matrices, problems, safe, solve_safe

EXAMPLES = settings(max_examples=25, deadline=None)


def solve_natively(some):
    return solve_safe(some.bags, some.y, some.kind, some.gamma, some.rho)


def coefficients(result, bags):
    """Return alpha at all instances; the result contains only the points with nonzero coefficients."""
    points = result.functions["f"].points
    alpha = np.zeros(int(bags.offsets[-1]))
    for point, a in zip(points, result.functions["f"].coefficients, strict=True):
        alpha[np.flatnonzero((bags.instances == point).all(axis=1))[0]] += a
    return alpha


@EXAMPLES
@given(problems())
def test_all_linear_systems_have_the_same_solution(some):
    assume(np.linalg.cond(some.hessian()) < 1e8)
    result = solve_natively(some)
    e = result.instance_scores(some.bags.instances)
    alpha, b = some.s1()
    scale = 1 + np.abs(e).max()
    np.testing.assert_allclose(e / scale, (some.omega @ alpha + b) / scale, atol=1e-8)
    np.testing.assert_allclose(e / scale, some.s3() / scale, atol=1e-7)
    if abs((some.one.T @ some.G @ some.one).item()) > 1e-3:
        alpha, b = some.s2()
        np.testing.assert_allclose(e / scale, (some.omega @ alpha + b) / scale, atol=1e-7)


@EXAMPLES
@given(problems())
def test_kkt_residuals_vanish_at_the_point(some):
    assume(np.linalg.cond(some.hessian()) < 1e8)
    result = solve_natively(some)
    assert result.point is PointStatus.CERTIFIED
    alpha, e = coefficients(result, some.bags), result.instance_scores(some.bags.instances)
    scale = 1 + np.abs(some.G).max() * np.abs(e).max()
    assert np.abs(alpha + some.G @ e - some.rho * some.J @ some.y).max() <= 1e-8 * scale
    assert abs(alpha.sum()) <= 1e-8 * scale
    assert np.abs(e - some.omega @ alpha - float(result.values["b"])).max() <= 1e-8 * scale


def test_the_gradient_of_the_objective_is_zero_in_every_direction(golden_bags):
    bags, y = golden_bags
    some = Matrices(bags, y, "ksc", 0.5, 0.001)
    Z, rng, step = some.coordinates(), np.random.default_rng(0), 1e-4

    def objective(theta):
        e, w = Z @ theta, theta[:-1]
        return 0.5 * w @ w - 0.5 * some.gamma * e @ (some.v * e) + 0.5 * some.rho * np.sum((some.J.T @ e - y) ** 2)

    result = solve_natively(some)
    theta = np.append(Z[:, :-1].T @ coefficients(result, bags), result.values["b"])
    for direction in rng.standard_normal((10, theta.size)):
        slope = (objective(theta + step * direction) - objective(theta - step * direction)) / (2 * step)
        assert abs(slope) < 1e-9


def test_the_printed_system_is_singular_and_its_solution_is_not_stationary(golden_bags):
    bags, y = golden_bags
    for kind, gamma in (("kpca", 0.05), ("ksc", 0.5)):
        some = Matrices(bags, y, kind, gamma, 1.0)
        matrix, alpha, b = some.printed()
        assert np.linalg.matrix_rank(matrix) < matrix.shape[0]
        assert np.abs(some.gradient(alpha, b)).max() > 0.1
        assert np.abs(some.gradient(*some.s1())).max() < 1e-12


@pytest.mark.parametrize("rho", [0.3, 3.0])
def test_safe_with_gamma_zero_is_the_least_squares_svm_on_the_sum_kernel(rho, golden_bags):
    bags, y = golden_bags
    result = solve_safe(bags, y, "kpca", 0.0, rho)
    gram = bags.sum(bags.sum(K(bags.instances, bags.instances)).T)
    n = bags.sizes[:, None].astype(float)
    system = np.block([[gram + np.eye(6) / rho, n], [n.T, np.zeros((1, 1))]])
    *a, b = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(result.score(bags), gram @ a + n[:, 0] * b, atol=1e-10)


def test_bag_scores_tend_to_the_labels_for_large_rho_and_to_zero_for_small_rho(golden_bags):
    bags, y = golden_bags
    np.testing.assert_allclose(solve_safe(bags, y, "ksc", 0.5, 1e6).score(bags), y, atol=1e-4)
    assert np.abs(solve_safe(bags, y, "ksc", 0.5, 1e-6).functions["f"].coefficients).max() < 1e-5


def core_alone(bags, gamma, v):
    """Build the program for rho = 0, kernel spectral clustering: min 1/2 ||f||^2 - gamma/2 e'Ve."""
    program = Program("core")
    f, b = program.function("f", K), program.variable("b")
    program.minimize(0.5 * f.norm_squared() - 0.5 * gamma * quad_form(f(bags) + b, v))
    return program


def test_without_labels_the_solution_is_zero_except_at_eigenvalues(golden_bags):
    bags, y = golden_bags
    some = Matrices(bags, y, "ksc", 1.0, 0.0)
    Mv = np.eye(12) - np.outer(np.ones(12), some.v) / some.v.sum()
    largest = np.linalg.eigvals(np.diag(some.v) @ Mv @ some.omega).real.max()
    at, off = (solve(core_alone(bags, gamma, some.v), "native") for gamma in (1 / largest, 0.9 / largest))
    # The bias is always a direction of descent, and so is the leading eigenvector for gamma > 1 / its eigenvalue.
    assert (at.inertia.zero, at.inertia.negative) == (1, 1)
    assert (off.inertia.zero, off.inertia.negative) == (0, 1)
    assert solve(core_alone(bags, 1.1 / largest, some.v), "native").inertia.negative == 2
    assert abs(float(off.values["b"])) < 1e-12
    assert off.functions["f"].norm_squared < 1e-20


@EXAMPLES
@given(problems())
def test_the_inertia_is_that_of_the_hessian_in_coordinates(some):
    values = np.linalg.eigvalsh(some.hessian())
    assume(np.abs(values).min() > 1e-6 * np.abs(values).max())
    result = solve_natively(some)
    assert result.inertia.negative == int((values < 0).sum())
    assert (result.termination is Termination.OPTIMAL) == bool(values[0] > 0)
    if values[0] < 0:
        assert result.inertia.smallest == pytest.approx(values[0], rel=1e-4)
        directions = np.random.default_rng(0).standard_normal((100, values.size))
        curvature = np.einsum("ij,jk,ik->i", directions, some.hessian(), directions) / (directions**2).sum(axis=1)
        assert curvature.min() >= result.inertia.smallest * (1 + 1e-4)


@EXAMPLES
@given(problems())
def test_the_optimal_value_has_a_closed_form(some):
    assume(np.linalg.cond(some.hessian()) < 1e6)
    result = solve_natively(some)
    value = 0.5 * some.rho * (some.y @ some.y - some.y @ result.score(some.bags))
    assert result.objective == pytest.approx(value, rel=1e-6, abs=1e-6 * (1 + abs(value)))


def test_opposite_labels_negate_the_scores(golden_bags):
    bags, y = golden_bags
    solution, negated_solution = (solve_safe(bags, s * y, "ksc", 0.5, 1.0) for s in (1, -1))
    np.testing.assert_allclose(solution.score(bags), -negated_solution.score(bags), atol=1e-12)


@pytest.mark.thorough(unless={"aggregation": ["sum"]})
@pytest.mark.parametrize("kind", ["ksc", "kpca"])
@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_convex_objectives_of_all_solvers_are_equal(kind, aggregation, data_set):
    lists, y = data_set("musk1")
    bags = as_bags(lists[::4])
    program = safe(bags, y[::4], kind, 0.3 if kind == "ksc" else 0.005, 2.0, aggregation=aggregation)
    names = ["native", *general_solvers(Feature.QUADRATIC, but=("cvxpy:SCS", "cvxpy:OSQP", "cvxpy:COSMO"))]
    objectives = {name: solve(program, name).objective for name in names}
    for name, objective in objectives.items():
        assert objective == pytest.approx(objectives["native"], rel=1e-6), name


@pytest.mark.parametrize("rho", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("kernel", [K, Nystrom(K, 12)])
def test_the_largest_convex_gamma_is_where_the_inertia_changes(rho, kernel, golden_bags):
    bags, y = golden_bags
    model = SAFE(rho=rho, kernel=kernel, scale="none", aggregation="sum", on_nonconvex="allow")
    most = model.largest_convex_gamma(bags, y)
    for factor, expected in ((0.999, 0), (1.001, 1)):
        assert model.set_params(gamma=factor * most).fit(bags, y).result_.inertia.negative == expected
