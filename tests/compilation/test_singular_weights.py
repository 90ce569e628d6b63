"""Singular weights: the dual form is rejected, and eigenvalues that Lanczos cannot separate are computed densely."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Linear, Program, as_bags, bag_mean, quad_form, solve
from milopt.compilation.dual_form import dual_unsupported_reason
from milopt.compilation.lowering import Lowering
from milopt.compilation.status import PointStatus
from milopt.models import SAFE


def laplacian_svm(seed: int) -> Program:
    rng = np.random.default_rng(seed)
    bags = as_bags([rng.normal(size=(int(rng.integers(1, 4)), 2)) for _ in range(8)])
    points, y = bags.instances, np.where(np.arange(8) % 2, 1.0, -1.0)
    near = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    program = Program("Laplacian SVM")
    f, b = program.function("f", RBF(0.5)), program.variable("b")
    slack = program.variable("slack", 8, lower=0)
    program.minimize(0.5 * f.norm_squared() + 0.5 * quad_form(f(bags), np.diag(near.sum(axis=1)) - near) + slack.sum())
    program.subject_to(y * (bag_mean(f(bags), bags) + b) >= 1 - slack)
    return program


def test_a_laplacian_weight_is_recognised_as_singular() -> None:
    """For some seeds, rounding lets the Cholesky factorisation succeed."""
    for seed in range(40):
        assert "singular" in (dual_unsupported_reason(Lowering(laplacian_svm(seed)).form()) or "")


@pytest.mark.parametrize("solver", ["highs", "clarabel", "cvxpy:SCS"])
def test_a_laplacian_svm_is_certified(solver: str) -> None:
    for seed in range(3):
        result = solve(laplacian_svm(seed), solver)
        assert result.point is PointStatus.CERTIFIED


def test_the_largest_convex_gamma_of_points_far_from_each_other() -> None:
    """The eigenvalues of such points nearly coincide."""
    rng = np.random.default_rng(1)
    bags = []
    for _ in range(100):
        counts = rng.poisson(0.2, (4, 50)).astype(float)
        counts[np.arange(4), rng.integers(0, 50, 4)] += 1
        bags.append(counts)
    model = SAFE(kernel=RBF(1.0), scale="none", aggregation="sum")
    assert model.largest_convex_gamma(bags, np.where(np.arange(100) % 2, 1, -1)) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "cvxpy:SCS"])
@pytest.mark.parametrize("seed", [1, 31, 6])
def test_duplicate_dictionary_points_do_not_change_the_optimum(seed: int, solver: str) -> None:
    """An SVM of f + g has the same optimum if the dictionary of g contains a point twice instead of once."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 6))
    points = np.round(rng.normal(size=(m, 2)), 1)
    y = np.where(rng.random(m) < 0.5, -1.0, 1.0)

    def optimum(dictionary: np.ndarray) -> float:
        program = Program("two functions")
        f = program.function("f", RBF(0.5))
        g = program.function("g", RBF(1.0) if seed % 3 == 0 else Linear(), dictionary=dictionary)
        slack = program.variable("slack", m, lower=0)
        program.minimize(0.5 * f.norm_squared() + 0.5 * g.norm_squared() + slack.sum())
        program.subject_to(y * (f(points) + g(points)) >= 1 - slack)
        result = solve(program, solver)
        assert result.point is PointStatus.CERTIFIED
        return result.objective

    assert optimum(points[[0, 0, 1]]) == pytest.approx(optimum(points[[0, 1]]), rel=1e-5)
