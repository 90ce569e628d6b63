"""Time series as bags of windows: definition, views, and invalid input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milopt import Bags, as_bags, from_series
from milopt.data.windows import Windows
from milopt.errors import BagsError, ParameterError

RAGGED = [np.arange(6.0), np.array([5.0, 3.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])]


@given(
    sizes=st.lists(st.integers(2, 12), min_size=1, max_size=5),
    data=st.data(),
    stride=st.integers(1, 4),
    znormalise=st.booleans(),
)
def test_the_bags_are_the_windows_of_the_definition(sizes, data, stride, znormalise) -> None:
    draw = np.random.default_rng(len(sizes) + sum(sizes))
    series = [draw.normal(size=size) for size in sizes]
    length = data.draw(st.integers(2, min(sizes)))
    bags = from_series(series, length, stride, znormalise)
    expected = []
    for samples in series:
        windows = np.array([samples[j : j + length] for j in range(0, samples.size - length + 1, stride)])
        if znormalise:
            windows = (windows - windows.mean(axis=1, keepdims=True)) / windows.std(axis=1, keepdims=True)
        expected.append(windows)
    assert bags.dimension == length
    assert bags.sizes.tolist() == [len(windows) for windows in expected]
    # Access the bags one by one as views, then all at once, then one by one from the array.
    for _ in range(2):
        for i, windows in enumerate(expected):
            np.testing.assert_allclose(bags[i], windows, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(bags.instances, np.concatenate(expected), rtol=1e-12, atol=1e-12)


def test_windows_are_views_of_the_series_until_all_are_needed() -> None:
    X = np.arange(200.0).reshape(10, 20).copy()
    X.flags.writeable = False
    bags = from_series(X, 5)
    assert all(np.shares_memory(bag, X) for bag in bags)
    assert all(np.shares_memory(bag, X) for bag in bags[2:7])
    assert all(np.shares_memory(bag, X) for bag in bags[[9, 0, 3]])
    assert not bags[0].flags.writeable
    instances = bags.instances
    assert instances is bags.instances
    assert instances.flags.c_contiguous
    assert np.shares_memory(bags[3], instances)


def test_later_writes_to_the_series_do_not_reach_the_bags() -> None:
    X = np.zeros((3, 8))
    bags = from_series(X, 4)
    X[:] = 1
    assert not bags[0].any()
    with pytest.raises(ValueError, match="read-only"):
        bags[0][0, 0] = 1


def test_windows_behave_like_bags() -> None:
    windows = from_series(RAGGED, 2)
    plain = as_bags([np.array(bag) for bag in from_series(RAGGED, 2)])
    assert isinstance(windows, Bags)
    assert windows.digest() == plain.digest()
    assert np.array_equal(windows.offsets, plain.offsets)
    for which in (slice(1, 3), slice(None, None, -1), [2, 0], np.array([True, False, True])):
        assert windows[which].digest() == plain[which].digest()
    assert as_bags(windows) is windows
    again = pickle.loads(pickle.dumps(windows))
    assert again.digest() == plain.digest()
    assert not again[0].flags.writeable
    assert len(pickle.dumps(from_series(np.zeros((4, 1000)), 200))) < 50_000
    with pytest.raises(BagsError, match="selection is empty: select at least one of the 3 bags"):
        windows[[]]
    with pytest.raises(IndexError):
        windows[3]


def test_lengths_may_be_samples_or_fractions_or_several() -> None:
    X = np.zeros((2, 150))
    assert from_series(X, 30).dimension == 30
    assert from_series(X, np.int64(30)).dimension == 30
    assert from_series(X, 0.2).dimension == 30
    assert from_series(X, 0.001).dimension == 2
    assert from_series(RAGGED, 0.9).dimension == 3
    assert [bags.dimension for bags in from_series(X, [10, 0.2, 150])] == [10, 30, 150]


def test_one_channel_arrays_and_object_arrays_are_series() -> None:
    X = np.arange(12.0).reshape(2, 6)
    assert from_series(X[:, None, :], 3).digest() == from_series(X, 3).digest()
    ragged = np.empty(3, dtype=object)
    ragged[:] = RAGGED
    assert from_series(ragged, 2).digest() == from_series(RAGGED, 2).digest()


def test_a_constant_window_is_normalised_to_zero() -> None:
    bags = from_series([[1e9, 1e9, 1e9, 1e9 + 1], [0.1, 0.1, 0.1, 0.1]], 3, znormalise=True)
    assert not bags[0][0].any()
    assert bags[0][1].any()
    assert not bags[1].any()


@pytest.mark.parametrize(
    ("X", "length", "message"),
    [
        (RAGGED, 4, "A window of 4 samples is longer than series 1, which has 3: choose shorter windows."),
        (RAGGED, 1, "at least 2, or a fraction between 0 and 1, not 1."),
        (RAGGED, 0, "not 0."),
        (RAGGED, -0.5, "not -0.5."),
        (RAGGED, 1.0, "not 1.0."),
        (RAGGED, 2.5, "not 2.5."),
        (RAGGED, float("nan"), "not nan."),
        (RAGGED, float("inf"), "not inf."),
        (RAGGED, True, "not True."),
        (RAGGED, "3", "not '3'."),
        (RAGGED, [], "at least one window length"),
    ],
)
def test_an_invalid_window_length_is_rejected(X, length, message) -> None:
    with pytest.raises(ParameterError) as refusal:
        from_series(X, length)
    assert str(refusal.value).endswith(message) or message in str(refusal.value)


@pytest.mark.parametrize("stride", [0, -1, 1.5, True, "1", None])
def test_an_invalid_stride_is_rejected(stride) -> None:
    with pytest.raises(ParameterError, match="stride must be a whole number of samples, at least 1"):
        from_series(RAGGED, 2, stride)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "There are no series"),
        (np.zeros(5), "1-D array is not a list of series"),
        (np.zeros((2, 2, 2, 2)), "4-D array is not a list of series"),
        ([np.zeros((2, 2)), np.zeros(4)], "Series 0 is 2-D"),
        ([np.zeros(4), np.zeros(1)], "Series 1 has 1 samples"),
        ([np.zeros(4), [1, np.nan, 2]], "Series 1 has NaN at sample 1"),
        ([["a", "b"]], "Series 0 has values of type"),
        (np.array([[1.0, np.inf]]), "Series 0 has infinity"),
    ],
)
def test_invalid_series_are_rejected(X, message) -> None:
    with pytest.raises(BagsError, match=message):
        from_series(X, 2)


def test_windows_that_do_not_fit_into_memory_raise_an_error() -> None:
    bags = Windows((np.zeros(4_000_000),), 2_000_000, 1, False)
    assert bags[0].shape == (2_000_001, 2_000_000)
    with pytest.raises(BagsError, match=r"take 32000.0 GB, which is not available: choose shorter windows"):
        _ = bags.instances


def test_without_a_length_the_samples_are_the_instances() -> None:
    bags = from_series(RAGGED, None)
    assert [bag.ravel().tolist() for bag in bags] == [samples.tolist() for samples in RAGGED]
    assert (bags.dimension, bags.sizes.tolist()) == (1, [6, 3, 4])
    with pytest.raises(ParameterError, match="give a window length as well"):
        from_series(RAGGED, None, stride=2)
