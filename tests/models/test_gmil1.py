"""GMIL-1: Winnow over all boxes, whose inner products equal the counts of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from milopt import as_bags
from milopt.bag_kernels import exact
from milopt.data.generated import conjunctive
from milopt.errors import BagsError, ParameterError
from milopt.models.gmil1 import GMIL1, box_features
from tests.bag_kernels.test_box_counting import FIVE, GOLDEN


def test_features_equal_the_golden_matrix(golden_bags):
    bags, _ = golden_bags
    features = box_features(FIVE.codes(bags), bags, FIVE.s)
    np.testing.assert_array_equal(features @ features.T, GOLDEN)
    points = [exact.as_grid_points(np.asarray(bag) + 1) for bag in bags]
    expected = [[exact.box_meets(P, *box) for box in exact.all_boxes((4, 4))] for P in points]
    np.testing.assert_array_equal(features, np.array(expected, dtype=float))


def test_winnow_learns_a_conjunction_with_repulsion():
    train, y = conjunctive(120, seed=0)
    test, z = conjunctive(200, seed=1)
    names = np.where(y == 1, "binds", "not")
    model = GMIL1(bins=7, binning="uniform").fit(train, names)
    assert (model.predict(train) == names).mean() > 0.95
    assert (model.predict(test) == np.where(z == 1, "binds", "not")).mean() > 0.7


def test_weights_change_by_the_promotion_after_mistakes_only():
    bags = as_bags([np.array([[0.0]]), np.array([[1.0]])])
    model = GMIL1(bins=2, promotion=2.0, epochs=1).fit(bags, [0, 1])
    # x = (phi, 1 - phi) over {0}, {0, 1}, {1}: w'x = 3 = theta for both bags, which is a mistake for the second.
    assert model.mistakes_ == 1
    np.testing.assert_allclose(model.weights_, [1, 2, 2, 2, 1, 1])
    assert GMIL1(bins=2, promotion=2.0).fit(bags, [0, 1]).predict(bags).tolist() == [0, 1]


def test_bad_input_raises_an_error():
    bags, y = conjunctive(20)
    with pytest.raises(ParameterError, match=r"promotion must be a number above 1, not 1\.0"):
        GMIL1(promotion=1.0).fit(bags, y)
    with pytest.raises(ParameterError, match="promotion must be a positive number, not 'much'"):
        GMIL1(promotion="much").fit(bags, y)
    with pytest.raises(ParameterError, match="epochs must be a whole number of at least 1, not 0"):
        GMIL1(epochs=0).fit(bags, y)
    with pytest.raises(ParameterError, match=r"The grid has 2\.55e\+07 boxes, too many to store as features"):
        GMIL1(bins=100, binning="uniform").fit(bags, y)
    with pytest.raises(BagsError, match="one label per bag, of two classes, not 20 labels of 20 classes"):
        GMIL1().fit(bags, np.arange(20))
    with pytest.raises(ParameterError, match="not fitted yet"):
        GMIL1().predict(bags)
