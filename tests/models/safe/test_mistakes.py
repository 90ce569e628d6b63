"""Invalid input of SAFE raises an error of one sentence that names the problem and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import RBF, Bags, Linear, Nystrom, load_data
from milopt.compilation.status import PointStatus, Termination
from milopt.data.toys import toy_bags
from milopt.display.sensitivity import SensitivityDisplay
from milopt.errors import BagsError, ConvexityError, MiloptWarning, ParameterError
from milopt.estimator.scikit_learn import UnfittedError
from milopt.models import LSSVM, SAFE, SoftKSC, SpectralBagClustering
from tests.models.safe.cases import K, Matrices, solve_safe


def test_the_error_for_a_zero_degree_names_the_instance(golden_bags):
    bags, y = golden_bags
    with pytest.raises(ParameterError, match=r"instance 0 of bag 0 has degree 0. Use a kernel with positive"):
        SAFE(kernel=Linear(), scale="none").fit(bags, y)
    assert SAFE(kernel=Linear(), scale="none", core="kpca", gamma=0.001).fit(bags, y).score(bags, y) >= 0.5


@pytest.mark.parametrize("kind", ["kpca", "ksc"])
def test_a_gamma_that_makes_a_bags_block_singular_is_solved(kind, golden_bags):
    bags, y = golden_bags
    v = Matrices(bags, y, kind, 1.0, 1.0).v
    for bag in range(len(bags)):
        gamma = float((1 / v[bags.offsets[bag] : bags.offsets[bag + 1]]).sum())
        some = Matrices(bags, y, kind, gamma, 1.0)
        block = some.G[bags.offsets[bag] : bags.offsets[bag + 1]][:, bags.offsets[bag] : bags.offsets[bag + 1]]
        assert abs(np.linalg.eigvalsh(block)).min() < 1e-12
        result = solve_safe(bags, y, kind, gamma, 1.0)
        saddle = np.linalg.eigvalsh(some.hessian())[0] < 0
        ended = Termination.STATIONARY if saddle else Termination.OPTIMAL
        assert (result.termination, result.point) == (ended, PointStatus.CERTIFIED)
        alpha, b = some.s1()
        np.testing.assert_allclose(result.instance_scores(bags.instances), some.omega @ alpha + b, atol=1e-8)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("rho", 0, "rho must be a positive number, not 0: without labels, use SpectralBagClustering"),
        ("rho", -1, "rho must be a positive number, not -1"),
        ("gamma", -0.1, "gamma must be a number of at least 0, not -0.1"),
        ("core", "pca", 'core must be one of "ksc", "kpca"'),
        ("aggregation", "median", 'aggregation must be one of "sum", "mean", "max"'),
        ("loss", "logistic", 'loss must be one of "square", "huber", "hinge"'),
        ("on_nonconvex", "ignore", 'on_nonconvex must be one of "warn", "error", "allow"'),
    ],
)
def test_hyper_parameters_out_of_range_raise_an_error(field, value, message, golden_bags):
    with pytest.raises(ParameterError, match=message):
        SAFE(**{field: value}).fit(*golden_bags)


def test_labels_of_one_class_raise_an_error(golden_bags):
    bags, y = golden_bags
    with pytest.raises(BagsError, match="one class"):
        SAFE().fit(bags, np.ones_like(y))


def test_saddle_points_give_a_warning_an_error_or_nothing(golden_bags, recwarn):
    bags, y = golden_bags
    given = {"gamma": 0.5, "rho": 0.001, "kernel": K, "scale": "none", "aggregation": "sum"}
    with pytest.warns(
        MiloptWarning, match=r"gamma=0\.5 is not convex, and its solution is a saddle: 1 negative direction"
    ):
        warned = SAFE(**given).fit(bags, y)
    assert warned.result_.termination is Termination.STATIONARY
    assert "saddle: 1 negative direction" in str(warned.report())
    with pytest.raises(ConvexityError, match="largest_convex_gamma computes the limit"):
        SAFE(**given, on_nonconvex="error").fit(bags, y)
    recwarn.clear()
    SAFE(**given, on_nonconvex="allow").fit(bags, y)
    assert not [warning for warning in recwarn if issubclass(warning.category, MiloptWarning)]


def test_invalid_numbers_of_clusters_raise_an_error(golden_bags):
    bags, y = golden_bags
    with pytest.raises(ParameterError, match="clusters must be a whole number of at least 2, not 1"):
        SoftKSC(clusters=1).fit(bags, y)
    with pytest.raises(ParameterError, match="clusters must be at most the 12 instances, not 13"):
        SpectralBagClustering(clusters=13).fit(bags)
    with pytest.raises(ParameterError, match="kernel must be a Kernel such as RBF"):
        SpectralBagClustering(kernel="rbf").fit(bags)
    with pytest.raises(UnfittedError):
        SpectralBagClustering().predict(bags)
    with pytest.raises(ParameterError, match="C must be a positive number"):
        LSSVM(C=0).fit(bags, y)


@pytest.mark.parametrize("rho", [1e-11, 1e-6, 1.0, 1e6])
def test_scores_are_accurate_for_small_and_large_parameters(rho, golden_bags):
    # Only gamma / rho determines whether the objective is concave in the bias.
    bags, y = golden_bags
    saddle = solve_safe(bags, y, gamma=1e3 * rho, rho=rho)
    assert saddle.inertia.negative >= 1
    scores = solve_safe(bags, y, gamma=0.0, rho=rho).score(bags)
    gram = bags.membership.T @ K(bags.instances, bags.instances) @ bags.membership
    n = bags.sizes.astype(float)
    system = np.block([[gram + np.eye(len(bags)) / rho, n[:, None]], [n[None], np.zeros((1, 1))]])
    due = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(scores, gram @ due[:-1] + n * due[-1], atol=1e-5)


def test_a_single_large_bag_is_solved():
    rng = np.random.default_rng(0)
    bags = Bags(rng.standard_normal((301, 2)), [0, 300, 301])
    model = SAFE(aggregation="sum").fit(bags, [0, 1])
    assert model.result_.point is PointStatus.CERTIFIED


def test_the_inertia_is_saved_and_loaded(tmp_path):
    from milopt import load_model

    data = load_data("musk1")
    for model in (SAFE(), SAFE(kernel=Nystrom(RBF("median"), 20)), SoftKSC(), LSSVM()):
        model.fit(data.bags, data.labels).save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        np.testing.assert_array_equal(loaded.decision_function(data.bags), model.decision_function(data.bags))
        assert loaded.result_.inertia == model.result_.inertia


def test_more_clusters_than_instances_raise_an_error(golden_bags):
    bags, y = golden_bags
    count = bags.instances.shape[0]
    with pytest.raises(ParameterError, match=f"clusters=1000 must be at most the number of instances, {count}"):
        SoftKSC(clusters=1000).fit(bags, y)
    assert SoftKSC(clusters=count).fit(bags, y).score(bags, y) >= 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bags": 2.5}, "bags must be a whole number of at least 2"),
        ({"bags": 1}, "bags must be a whole number of at least 2"),
        ({"size": 0}, "size must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"share": 2}, "share must lie between 0 and 1"),
        ({"across": -1}, "across must be a number of at least 0"),
    ],
    ids=str,
)
def test_invalid_sizes_of_toy_bags_raise_an_error(given, message):
    with pytest.raises(ParameterError, match=message):
        toy_bags("spanning", **given)


def test_a_sensitivity_map_needs_two_folds(golden_bags):
    with pytest.raises(ParameterError, match="folds must be a whole number of at least 2, not 1"):
        SensitivityDisplay.from_estimator(SAFE(), *golden_bags, ("rho", (1, 10)), ("gamma", (0.1, 1)), folds=1)
