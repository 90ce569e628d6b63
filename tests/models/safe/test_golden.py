"""SAFE as a program: one quadratic, solved in closed form where it is convex, and told apart where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Program, bag_sum, quad_form, solve, sum_squares
from milopt.errors import ConvexityError
from milopt.outcome.status import PointStatus, Termination
from milopt.solving.solver import Feature
from tests.models.general_solvers import general_solvers

K = RBF(0.5)
SOLVERS = ["native", *general_solvers(Feature.QUADRATIC, but=("cvxpy:SCS",))]
GOLDEN = {
    "KPCA": (0.05, 0.072785, (0.572365, -0.647446, 0.632831, -0.858017, 0.767948, -0.659493), 0.930950),
    "KSC": (0.5, 0.130338, (0.671987, -0.664785, 0.709563, -0.899409, 0.922292, -0.693350), 0.719307),
}


def core(bags, kind):
    """v = 1 (KPCA), or 1 / the degrees of the Gram matrix (KSC)."""
    degree = K(bags.instances, bags.instances).sum(axis=1)
    return np.ones(degree.size) if kind == "KPCA" else 1 / degree


def safe(bags, y, v, gam, rho) -> Program:
    """min 1/2 ||f||^2 - gam/2 e'Ve + rho/2 ||J'e - y||^2,  e = f + b."""
    program = Program("SAFE")
    f = program.function("f", K)
    b = program.variable("b")
    e = f(bags.instances) + b
    program.minimize(0.5 * f.norm_squared() - 0.5 * gam * quad_form(e, v) + 0.5 * rho * sum_squares(bag_sum(e) - y))
    program.score(lambda new: bag_sum(f(new) + b), instances=lambda x: f(x) + b)
    return program


@pytest.mark.parametrize("kind", GOLDEN)
@pytest.mark.parametrize("name", SOLVERS)
def test_golden_rows(name, kind, golden_bags):
    bags, y = golden_bags
    gam, b, E, objective = GOLDEN[kind]
    result = solve(safe(bags, y, core(bags, kind), gam, 1.0), name)
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert result.objective == pytest.approx(objective, abs=1e-5)
    assert float(result.values["b"]) == pytest.approx(b, abs=1e-5)
    np.testing.assert_allclose(result.score(bags), E, atol=1e-5)
    assert result.objective == pytest.approx(0.5 * (y @ y - y @ result.score(bags)), abs=1e-6)


@pytest.mark.parametrize("name", ["highs", "clarabel", "ecos"])
def test_indefinite_quadratic_is_refused_with_its_smallest_eigenvalue(name, golden_bags):
    bags, y = golden_bags
    with pytest.raises(ConvexityError, match=r"-2\.02"):
        solve(safe(bags, y, core(bags, "KSC"), 0.5, 0.001), name)


def test_indefinite_quadratic_has_a_stationary_point_natively(golden_bags):
    bags, y = golden_bags
    gam, rho, v = 0.5, 0.001, core(bags, "KSC")
    result = solve(safe(bags, y, v, gam, rho), "native")
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    assert "-2.02" in result.message
    # The system (S1) of the specification, from the definitions.
    J = bags.membership.toarray()
    omega, G = K(bags.instances, bags.instances), rho * J @ J.T - gam * np.diag(v)
    one = np.ones((12, 1))
    system = np.block([[np.eye(12) + G @ omega, G @ one], [one.T, np.zeros((1, 1))]])
    *alpha, b = np.linalg.solve(system, np.append(rho * J @ y, 0.0))
    np.testing.assert_allclose(result.instance_scores(bags.instances), omega @ alpha + b, atol=1e-10)


def test_without_a_core_it_is_the_least_squares_svm_on_the_sum_kernel(golden_bags):
    bags, y = golden_bags
    rho = 3.0
    result = solve(safe(bags, y, np.ones(12), 0.0, rho), "native")
    gram = bags.sum(bags.sum(K(bags.instances, bags.instances)).T)
    n = bags.sizes[:, None].astype(float)
    system = np.block([[gram + np.eye(6) / rho, n], [n.T, np.zeros((1, 1))]])
    *a, b = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(result.score(bags), gram @ a + n[:, 0] * b, atol=1e-10)


def test_opposite_labels_negate_the_scores(golden_bags):
    bags, y = golden_bags
    v = core(bags, "KSC")
    one, other = (solve(safe(bags, s * y, v, 0.5, 1.0), "native") for s in (1, -1))
    np.testing.assert_allclose(one.score(bags), -other.score(bags), atol=1e-12)
