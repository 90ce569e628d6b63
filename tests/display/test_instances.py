"""Plots of instances, bag scores and sensitivity agree with the model."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from milopt.data import toy_bags
from milopt.display import BagScoresDisplay, InstanceClustersDisplay, SensitivityDisplay
from milopt.errors import BagsError, ParameterError
from milopt.models import SAFE

DATA = toy_bags("spanning", bags=20)
MODEL = SAFE().fit(DATA.bags, DATA.labels)


def axes():
    return Figure().add_subplot()


def test_instances_have_the_colour_of_their_side() -> None:
    shown = InstanceClustersDisplay.from_estimator(MODEL, DATA.bags, ax=axes())
    scores = np.concatenate(MODEL.instance_scores(DATA.bags))
    low, high = (held.get_offsets() for held in shown.ax_.collections[:2])
    np.testing.assert_array_equal(low, DATA.bags.instances[scores <= 0])
    np.testing.assert_array_equal(high, DATA.bags.instances[scores > 0])
    across, up, values = shown.boundary
    np.testing.assert_allclose(MODEL.instance_scores([[[across[3, 4], up[3, 4]]]])[0], values[3, 4], rtol=1e-10)


def test_data_with_more_than_two_features_have_no_decision_boundary() -> None:
    rng = np.random.default_rng(0)
    lists = [rng.standard_normal((3, 4)) + k % 2 for k in range(10)]
    model = SAFE().fit(lists, np.arange(10) % 2)
    assert InstanceClustersDisplay.from_estimator(model, lists, features=(1, 3), ax=axes()).boundary is None
    with pytest.raises(BagsError, match=r"features must be two of 0, \.\.\., 3"):
        InstanceClustersDisplay.from_estimator(model, lists, features=(0, 4), ax=axes())


def test_bags_lie_at_their_scores_and_those_on_the_other_side_are_counted() -> None:
    flipped = DATA.labels.copy()
    flipped[0] *= -1
    shown = BagScoresDisplay.from_estimator(MODEL, DATA.bags, flipped, ax=axes())
    drawn = np.sort(np.concatenate([shown.ax_.collections[k].get_offsets()[:, 0] for k in (0, 2)]))
    np.testing.assert_allclose(drawn, np.sort(MODEL.decision_function(DATA.bags)))
    right = round(MODEL.score(DATA.bags, flipped) * 20)
    assert shown.ax_.get_title() == f"{right} of 20 bags on the side of their class"
    with pytest.raises(BagsError, match="3 labels for 20 bags"):
        BagScoresDisplay.from_estimator(MODEL, DATA.bags, [1, 1, -1], ax=axes())
    with pytest.raises(BagsError, match="there are bags of class 7"):
        BagScoresDisplay.from_estimator(MODEL, DATA.bags, np.full(len(DATA.bags), 7), ax=axes())
    with pytest.raises(BagsError, match="features must be two of"):
        InstanceClustersDisplay.from_estimator(MODEL, DATA.bags, features=(0,), ax=axes())


def test_three_classes_are_rejected() -> None:
    rng = np.random.default_rng(0)
    lists = [rng.standard_normal((3, 2)) + 3 * (k % 3) for k in range(12)]
    model = SAFE().fit(lists, np.arange(12) % 3)
    with pytest.raises(BagsError, match="The model has 3 classes"):
        InstanceClustersDisplay.from_estimator(model, lists, ax=axes())


def test_the_heat_map_has_every_pair_and_the_limit_curve() -> None:
    shown = SensitivityDisplay.from_estimator(
        SAFE(on_nonconvex="allow"),
        DATA.bags,
        DATA.labels,
        ("rho", [0.1, 10.0]),
        ("gamma", [0.1, 1.0, 1000.0]),
        limit=lambda model: model.largest_convex_gamma(DATA.bags, DATA.labels),
        folds=2,
        ax=axes(),
    )
    assert shown.accuracy.shape == (3, 2)
    assert shown.limits[0] == pytest.approx(SAFE(rho=0.1).largest_convex_gamma(DATA.bags, DATA.labels))
    assert shown.limits[0] < shown.limits[1]
    np.testing.assert_allclose(shown.ax_.lines[1].get_xdata(), [0.1, 10.0])
    with pytest.raises(ParameterError, match="gamma needs at least two values, all above 0"):
        SensitivityDisplay.from_estimator(SAFE(), DATA.bags, DATA.labels, ("rho", [1, 2]), ("gamma", [0, 1]))
