"""Baselines of SAFE: the two-stage method, the least-squares SVM, clustering without labels, and the two toy sets."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from milopt import RBF, Bags, Linear, Nystrom, Program, RandomFourier, quad_form, solve
from milopt.compilation.status import PointStatus
from milopt.data import toy_bags
from milopt.declaration.kernels.kernel import CallableKernel
from milopt.declaration.kernels.spectrum import leading_directions, make_code_book
from milopt.errors import MiloptWarning, ParameterError
from milopt.models import LSSVM, SAFE, SoftKSC, SpectralBagClustering
from tests.models.safe.cases import K, Matrices


def test_the_least_squares_svm_solves_its_linear_system(golden_bags):
    bags, y = golden_bags
    result = LSSVM(C=3.0, kernel=K, scale="none").fit(bags, y).result_
    J = bags.membership.toarray() / bags.sizes
    gram = J.T @ K(bags.instances, bags.instances) @ J
    system = np.block([[gram + np.eye(6) / 3, np.ones((6, 1))], [np.ones((1, 6)), np.zeros((1, 1))]])
    *a, b = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(result.score(bags), gram @ a + b, atol=1e-10)
    np.testing.assert_allclose(y - result.score(bags), np.array(a) / 3, atol=1e-10)
    assert abs(sum(a)) < 1e-10


def test_on_bags_of_one_instance_safe_with_gamma_zero_is_the_least_squares_svm():
    rng = np.random.default_rng(0)
    bags = Bags(rng.standard_normal((12, 2)), np.arange(13))
    y = np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
    model = SAFE(gamma=0.0, rho=2.0, kernel=K).fit(bags, y)
    np.testing.assert_allclose(
        model.decision_function(bags), LSSVM(C=2.0, kernel=K).fit(bags, y).decision_function(bags), atol=1e-10
    )


def test_directions_solve_the_eigenproblem_and_centre_the_scores(golden_bags):
    bags, y = golden_bags
    some = Matrices(bags, y, "ksc", 1.0, 1.0)
    # The first eigenvalue of a row-stochastic matrix is 1, with the vector of ones; centring removes it.
    np.testing.assert_allclose((some.omega * some.v[:, None]) @ np.ones(12), np.ones(12), atol=1e-12)
    directions = leading_directions(K, bags.instances, some.v, 3)
    P = np.eye(12) - np.outer(np.ones(12), some.v) / some.v.sum()
    np.testing.assert_allclose(
        np.diag(some.v) @ P @ some.omega @ directions.alpha, directions.alpha * directions.values, atol=1e-10
    )
    assert np.all(np.diff(directions.values) <= 0)
    assert directions.values[0] < 1
    np.testing.assert_allclose(some.v @ directions.scores(bags.instances), 0, atol=1e-10)
    np.testing.assert_allclose(np.einsum("pk,pq,qk->k", directions.alpha, some.omega, directions.alpha), 1, atol=1e-10)
    with pytest.raises(ParameterError, match="12 instances have 1 to 11 directions, not 12"):
        leading_directions(K, bags.instances, some.v, 12)


@pytest.mark.parametrize("kernel", [Linear(), Nystrom(K, 6), RandomFourier(RBF(0.3), 8)], ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_directions_of_features_are_those_of_the_gram_matrix(kernel, sparse, monkeypatch):
    rng = np.random.default_rng(4)
    points, v = rng.standard_normal((40, 4)), rng.random(40) + 0.5
    fitted = kernel.fitted(points)
    expected = leading_directions(CallableKernel(lambda A, B: fitted(A, B)), points, v, 3)
    expected_scores = expected.scores(points)
    monkeypatch.setattr("milopt.declaration.kernels.feature_rows.row_slices", lambda *_: [slice(0, 15), slice(15, 40)])
    monkeypatch.setattr(type(fitted), "_gram", None)  # no kernel values between instances are computed
    found = leading_directions(fitted, sp.csr_array(points) if sparse else points, v, 3)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-10)
    np.testing.assert_allclose(found.scores(points), expected_scores, atol=1e-9)
    np.testing.assert_allclose(found.b, expected.b, atol=1e-9)


def test_more_directions_than_features_are_those_of_the_gram_matrix():
    points, v = np.random.default_rng(4).standard_normal((20, 2)), np.ones(20)
    assert leading_directions(Linear(), points, v, 3).alpha.shape == (20, 3)


def test_without_labels_the_system_is_singular_at_the_inverse_of_each_eigenvalue(golden_bags):
    bags, y = golden_bags
    v = Matrices(bags, y, "ksc", 1.0, 1.0).v
    for value in leading_directions(K, bags.instances, v, 2).values:
        program = Program("core")
        f, b = program.function("f", K), program.variable("b")
        program.minimize(0.5 * f.norm_squared() - 0.5 / value * quad_form(f(bags) + b, v))
        assert solve(program, "native").inertia.zero == 1


def test_memberships_and_bag_features_sum_to_one(golden_bags):
    bags, y = golden_bags
    scores = leading_directions(K, bags.instances, Matrices(bags, y, "ksc", 1.0, 1.0).v, 2).scores(bags.instances)
    soft = make_code_book(scores, 3, np.ones(len(scores))).memberships(scores)
    assert np.all(soft >= 0)
    np.testing.assert_allclose(soft.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(bags.mean(soft).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize(("kind", "one_stage", "two_stage"), [("clusters", 1.0, 1.0), ("spanning", 0.99, 0.66)])
def test_the_toy_sets_separate_the_one_stage_from_the_two_stage_method(kind, one_stage, two_stage):
    drawn = [(toy_bags(kind, seed=2 * k), toy_bags(kind, bags=400, seed=2 * k + 1)) for k in range(4)]

    def accuracy(model):
        return np.mean([model.fit(a.bags, a.labels).score(b.bags, b.labels) for a, b in drawn])

    # The accuracies of the paper; on 1600 new bags the last one has a standard error of 0.012.
    assert accuracy(SAFE(aggregation="sum")) == pytest.approx(one_stage, abs=0.01)
    assert accuracy(SoftKSC(clusters=2)) == pytest.approx(two_stage, abs=0.05 if two_stage < 1 else 1e-12)


def test_clusters_of_bags_and_instances_are_found_without_labels():
    known, new = toy_bags("clusters", seed=0), toy_bags("clusters", seed=1)
    model = SpectralBagClustering().fit(known.bags)
    assert adjusted_rand_score(known.labels, model.labels_) == 1.0
    assert adjusted_rand_score(new.labels, model.predict(new.bags)) == 1.0
    assert adjusted_rand_score(np.repeat(new.labels, 5), np.concatenate(model.predict_instances(new.bags))) > 0.95
    np.testing.assert_array_equal(model.fit_predict(known.bags), model.labels_)


def test_toy_sets_have_the_requested_sizes():
    data = toy_bags("spanning", bags=8, size=3, seed=5)
    assert (len(data.bags), data.bags.sizes.tolist(), sorted(set(data.labels.tolist()))) == (8, [3] * 8, [-1, 1])
    assert data.digest == toy_bags("spanning", bags=8, size=3, seed=5).digest
    with pytest.raises(ParameterError, match='kind must be one of "clusters", "spanning"'):
        toy_bags("moons")


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_certificates_do_not_depend_on_the_unit_of_the_features(unit):
    data = toy_bags("spanning", bags=20, seed=3)
    bags = Bags(unit * data.bags.instances, data.bags.offsets)
    model = LSSVM(kernel=Linear(), scale="none").fit(bags, data.labels)
    same = LSSVM(kernel=Linear(), scale="none", C=10 * unit**2).fit(data.bags, data.labels)
    assert model.result_.point is PointStatus.CERTIFIED
    np.testing.assert_allclose(model.decision_function(bags), same.decision_function(data.bags), rtol=1e-6)


@pytest.mark.parametrize("solver", ["native", "clarabel"])
@pytest.mark.parametrize("small", [0.03, 1e-4])
@pytest.mark.parametrize("seed", range(6))
def test_a_direction_below_the_rounding_of_the_kernel_values_is_not_certified(solver, small, seed):
    """One feature of size 1e6 hides another, which separates the classes, below the rounding of the Gram matrix."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    x = np.column_stack([1e6 * rng.standard_normal(40), small * y * (1 + 0.3 * rng.standard_normal(40))])
    design = np.column_stack([x, np.ones(40)])
    theta = np.linalg.solve(np.diag([1.0, 1.0, 0.0]) + 100 * design.T @ design, 100 * design.T @ y)
    best = 0.5 * theta[:2] @ theta[:2] + 50 * np.sum((design @ theta - y) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MiloptWarning)
        result = LSSVM(C=100, kernel=Linear(), scale="none", solver=solver).fit(list(x[:, None]), y).result_
    assert result.point is not PointStatus.CERTIFIED or result.objective == pytest.approx(best, rel=1e-5)
