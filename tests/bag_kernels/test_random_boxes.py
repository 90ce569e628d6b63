"""Random boxes: explicit features of an unbiased, positive semidefinite kernel."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import milopt
from milopt import Linear, as_bags, solve
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.errors import ParameterError
from milopt.models import BoxCountingSVM
from tests.bag_kernels.test_box_counting import FIVE, GOLDEN, random_bags
from tests.models.test_box_svm import FunctionInProgram, svm


def test_the_share_of_boxes_is_an_unbiased_estimate_of_the_count(golden_bags):
    bags, _ = golden_bags
    draws = 20_000
    shares = RandomBoxes(count=draws, active=None, grid=FIVE)(bags, bags)
    expected = GOLDEN / 225
    z = (shares - expected) / np.sqrt(expected * (1 - expected) / draws)
    assert np.abs(z).max() < 4


def test_every_interval_is_as_likely():
    features, low, high = RandomBoxes(count=15_000, active=None, grid=FIVE).boxes()
    assert sorted(np.unique(features).tolist()) == [0, 1]
    first = (features == 0).argmax(axis=1)
    rows = np.arange(15_000)
    counts = {pair: 0 for pair in product(range(5), repeat=2) if pair[0] <= pair[1]}
    for pair in zip(low[rows, first].tolist(), high[rows, first].tolist(), strict=True):
        counts[pair] += 1
    observed = np.array(list(counts.values()))
    assert len(counts) == 15
    assert ((observed - 1000) ** 2 / 1000).sum() < 36.1  # the .999 quantile with 14 degrees of freedom


def test_features_indicate_the_boxes_that_a_bag_meets():
    bags = as_bags(random_bags(m=8))
    kernel = RandomBoxes(count=50, active=2, bins=7).fitted_to(bags)
    features, low, high = kernel.boxes()
    codes = np.split(kernel.grid.codes(bags), bags.offsets[1:-1])
    expected = [
        [((c[:, f] >= a) & (c[:, f] <= b)).all(axis=1).any() for f, a, b in zip(features, low, high, strict=True)]
        for c in codes
    ]
    np.testing.assert_array_equal(kernel.features(bags) * np.sqrt(50), np.array(expected, dtype=float))
    np.testing.assert_allclose(kernel.diagonal(bags), kernel(bags, bags).diagonal())
    assert np.linalg.eigvalsh(kernel(bags, bags))[0] > -1e-12


def test_an_svm_on_the_kernel_is_the_linear_one_on_the_features(golden_bags, tmp_path):
    bags, y = golden_bags
    kernel = RandomBoxes(count=300, bins=4)
    model = BoxCountingSVM(C=5.0, kernel=kernel, gram="plain", solver="highs", scale="none").fit(bags, y)
    fitted = kernel.fitted_to(bags)
    linear = solve(svm(FunctionInProgram(Linear()), fitted.features(bags), y, 5.0), "clarabel")
    assert model.result_.objective == pytest.approx(linear.objective, rel=1e-6)
    model.save(tmp_path / "model")
    again = milopt.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(bags), model.decision_function(bags))
    assert again.count_values_outside_grid(bags) == 0


def test_constant_features_are_never_bounded():
    bags = as_bags([np.ones((2, 3)), np.ones((1, 3))])
    kernel = RandomBoxes(count=5).fitted_to(bags)
    np.testing.assert_allclose(kernel(bags, bags), 1.0)
    mix = as_bags([np.array([[1.0, 0.0], [1.0, 2.0]])])
    assert (RandomBoxes(count=20).fitted_to(mix).boxes()[0] == 1).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count": 0}, "count must be a whole number of at least 1, not 0."),
        ({"count": 10**12}, "count must be at most 1000000, not 1000000000000: every bag has as many features."),
        ({"active": 0}, "active must be a whole number of at least 1, not 0."),
        ({"bins": 1}, "bins must be a whole number of at least 2, not 1."),
    ],
)
def test_invalid_parameters_are_rejected_with_one_sentence(wrong, message):
    with pytest.raises(ParameterError) as caught:
        RandomBoxes(**wrong)
    assert str(caught.value) == message


def test_a_plain_box_count_is_a_gram_matrix_of_a_program(golden_bags):
    bags, y = golden_bags
    model = BoxCountingSVM(C=0.05, kernel=BoxCounting(grid=FIVE), gram="plain").fit(bags, y)
    assert model.result_.certificate.worst < 1e-6
