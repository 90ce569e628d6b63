"""Bad input: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import Bags, Linear, load_data
from milopt.compilation.status import PointStatus, Termination
from milopt.data.toys import toy_bags
from milopt.display.sensitivity import SensitivityDisplay
from milopt.errors import BagsError, ConvexityError, MiloptWarning, ParameterError
from milopt.estimator.scikit_learn import UnfittedError
from milopt.models import LSSVM, SAFE, SoftKSC, SpectralBagClustering
from tests.models.safe.cases import K, Matrices, solved


def test_zero_degrees_under_spectral_clustering_name_the_instance(golden_bags):
    bags, y = golden_bags
    with pytest.raises(ParameterError, match=r"instance 0 of bag 0 has degree 0. Take a kernel of positive"):
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
        result = solved(bags, y, kind, gamma, 1.0)
        saddle = np.linalg.eigvalsh(some.hessian())[0] < 0
        ended = Termination.STATIONARY if saddle else Termination.OPTIMAL
        assert (result.termination, result.point) == (ended, PointStatus.CERTIFIED)
        alpha, b = some.s1()
        np.testing.assert_allclose(result.instance_scores(bags.instances), some.omega @ alpha + b, atol=1e-8)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("rho", 0, "rho must be a positive number, not 0: without labels, take SpectralBagClustering"),
        ("rho", -1, "rho must be a positive number, not -1"),
        ("gamma", -0.1, "gamma must be a number of at least 0, not -0.1"),
        ("core", "pca", 'core must be one of "ksc", "kpca"'),
        ("aggregation", "median", 'aggregation must be one of "sum", "mean", "max"'),
        ("loss", "logistic", 'loss must be one of "square", "huber", "hinge"'),
        ("on_nonconvex", "ignore", 'on_nonconvex must be one of "warn", "error", "allow"'),
        ("rank", 0, "rank must be a whole number of at least 1, not 0"),
        ("rank", 2.5, "rank must be a whole number"),
    ],
)
def test_fields_out_of_range(field, value, said, golden_bags):
    with pytest.raises(ParameterError, match=said):
        SAFE(**{field: value}).fit(*golden_bags)


def test_landmarks_of_an_unknown_kind(golden_bags):
    with pytest.raises(ParameterError, match='landmarks must be one of "kmeans", "uniform", "sample"'):
        SAFE(landmarks="all").fit(*golden_bags)  # also where there are none


def test_one_class(golden_bags):
    bags, y = golden_bags
    with pytest.raises(BagsError, match="one class"):
        SAFE().fit(bags, np.ones_like(y))


def test_saddles_are_warned_of_refused_or_allowed(golden_bags, recwarn):
    bags, y = golden_bags
    given = {"gamma": 0.5, "rho": 0.001, "kernel": K, "scale": "none", "aggregation": "sum"}
    with pytest.warns(
        MiloptWarning, match=r"gamma=0\.5 is not convex, and its point is a saddle: 1 negative direction"
    ):
        warned = SAFE(**given).fit(bags, y)
    assert warned.result_.termination is Termination.STATIONARY
    assert "saddle: 1 negative direction" in str(warned.report())
    with pytest.raises(ConvexityError, match="largest_convex_gamma tells how far"):
        SAFE(**given, on_nonconvex="error").fit(bags, y)
    recwarn.clear()
    SAFE(**given, on_nonconvex="allow").fit(bags, y)
    assert not [one for one in recwarn if issubclass(one.category, MiloptWarning)]


def test_clusters_out_of_range(golden_bags):
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
def test_small_and_large_parameters_leave_the_signs_and_the_scores_right(rho, golden_bags):
    # Of gamma / rho alone depends whether the bias bends down.
    bags, y = golden_bags
    saddle = solved(bags, y, gamma=1e3 * rho, rho=rho)
    assert saddle.inertia.negative >= 1
    scores = solved(bags, y, gamma=0.0, rho=rho).score(bags)
    gram = bags.membership.T @ K(bags.instances, bags.instances) @ bags.membership
    n = bags.sizes.astype(float)
    system = np.block([[gram + np.eye(len(bags)) / rho, n[:, None]], [n[None], np.zeros((1, 1))]])
    due = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(scores, gram @ due[:-1] + n * due[-1], atol=1e-5)


def test_a_large_bag_alone_is_no_trouble():
    rng = np.random.default_rng(0)
    bags = Bags(rng.standard_normal((301, 2)), [0, 300, 301])
    model = SAFE(aggregation="sum").fit(bags, [0, 1])
    assert model.result_.point is PointStatus.CERTIFIED


def test_it_saves_and_loads_with_its_inertia(tmp_path):
    from milopt import load_model

    data = load_data("musk1")
    for model in (SAFE(), SAFE(rank=20, random_state=0), SoftKSC(), LSSVM()):
        model.fit(data.bags, data.labels).save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        np.testing.assert_array_equal(loaded.decision_function(data.bags), model.decision_function(data.bags))
        assert loaded.result_.inertia == model.result_.inertia


def test_no_more_clusters_than_instances(golden_bags):
    bags, y = golden_bags
    count = bags.instances.shape[0]
    with pytest.raises(ParameterError, match=f"clusters=1000 are more than the {count} instances"):
        SoftKSC(clusters=1000).fit(bags, y)
    assert SoftKSC(clusters=count).fit(bags, y).score(bags, y) >= 0.5


@pytest.mark.parametrize(
    ("given", "said"),
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
def test_toy_bags_that_cannot_be_drawn(given, said):
    with pytest.raises(ParameterError, match=said):
        toy_bags("spanning", **given)


def test_a_sensitivity_map_needs_two_folds(golden_bags):
    with pytest.raises(ParameterError, match="folds must be a whole number of at least 2, not 1"):
        SensitivityDisplay.from_estimator(SAFE(), *golden_bags, ("rho", (1, 10)), ("gamma", (0.1, 1)), folds=1)
