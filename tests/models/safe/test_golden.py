"""Known optima of six hand-made bags, found by every solver."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import solve
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ConvexityError
from tests.models.general_solvers import general_solvers
from tests.models.safe.cases import Matrices, safe, solve_safe

SOLVERS = ["native", *general_solvers(Feature.QUADRATIC, but=("cvxpy:SCS",))]
GOLDEN = {
    "kpca": (0.05, 0.072785, (0.572365, -0.647446, 0.632831, -0.858017, 0.767948, -0.659493), 0.930950, 0.76062),
    "ksc": (0.5, 0.130338, (0.671987, -0.664785, 0.709563, -0.899409, 0.922292, -0.693350), 0.719307, 0.73354),
}


@pytest.mark.parametrize("kind", GOLDEN)
@pytest.mark.parametrize("name", SOLVERS)
def test_safe_reaches_the_golden_optima(name, kind, golden_bags):
    bags, y = golden_bags
    gamma, b, E, objective, smallest = GOLDEN[kind]
    result = solve_safe(bags, y, kind, gamma, solver=name)
    assert (result.termination, result.point) == (Termination.OPTIMAL, PointStatus.CERTIFIED)
    assert result.objective == pytest.approx(objective, abs=1e-5)
    assert float(result.values["b"]) == pytest.approx(b, abs=1e-5)
    np.testing.assert_allclose(result.score(bags), E, atol=1e-5)
    assert np.linalg.eigvalsh(Matrices(bags, y, kind, gamma, 1.0).hessian())[0] == pytest.approx(smallest, abs=1e-5)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "native"])
def test_convex_solvers_raise_an_error_with_the_smallest_eigenvalue_at_a_saddle_point(name, golden_bags):
    bags, y = golden_bags
    with pytest.raises(ConvexityError, match=r"quad_form.*; smallest eigenvalue -2\.02"):
        solve_safe(bags, y, "ksc", 0.5, 0.001, solver=name)


def test_native_returns_the_saddle_point_with_its_status(golden_bags):
    bags, y = golden_bags
    result = solve_safe(bags, y, "ksc", 0.5, 0.001)
    assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    assert result.message == "saddle: 1 negative direction, smallest eigenvalue -2.02"
    assert (result.inertia.negative, result.inertia.zero) == (1, 0)
    assert result.inertia.smallest == pytest.approx(-2.02286, abs=1e-5)
    alpha, b = Matrices(bags, y, "ksc", 0.5, 0.001).s1()
    omega = Matrices(bags, y, "ksc", 0.5, 0.001).omega
    np.testing.assert_allclose(result.instance_scores(bags.instances), omega @ alpha + b, atol=1e-10)


def test_a_fallback_continues_until_a_solver_supports_the_nonconvex_program(golden_bags):
    bags, y = golden_bags
    result = solve(safe(bags, y, "ksc", 0.5, 0.001), ("highs", "native"))
    assert [attempt.solver for attempt in result.attempts] == ["highs", "native"]
    assert result.inertia.is_saddle
