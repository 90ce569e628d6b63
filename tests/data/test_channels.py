"""Series with several channels: windows of all channels, and the transformer that cuts them in a pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import milopt
from milopt import WindowTransformer, from_series
from milopt.errors import BagsError, ParameterError
from milopt.models import SetKernelSVM, ShapeletBoost

RNG = np.random.default_rng(0)
SERIES = RNG.normal(size=(6, 3, 11))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("znormalise", [False, True])
def test_a_window_has_the_values_of_all_channels_sample_by_sample(stride: int, znormalise: bool) -> None:
    bags = from_series(SERIES, 4, stride, znormalise)
    for series, bag in zip(SERIES, bags, strict=True):
        starts = range(0, 11 - 4 + 1, stride)
        assert len(bag) == len(starts)
        for start, window in zip(starts, bag, strict=True):
            part = series[:, start : start + 4]
            if znormalise:
                part = (part - part.mean(axis=1, keepdims=True)) / part.std(axis=1, keepdims=True)
            np.testing.assert_allclose(window, part.T.ravel(), atol=1e-12)


def test_one_channel_is_a_plain_series() -> None:
    assert np.array_equal(from_series(SERIES[:, :1], 4).instances, from_series(SERIES[:, 0], 4).instances)


def test_series_of_different_lengths_are_a_list() -> None:
    given = [SERIES[0], SERIES[1][:, :7]]
    bags = from_series(given, 0.5)
    assert bags.sizes.tolist() == [8, 4]
    assert bags.dimension == 4 * 3


def test_without_a_length_every_sample_is_an_instance_for_models_that_cut_windows() -> None:
    bags = from_series(SERIES, None)
    assert np.array_equal(bags[2], SERIES[2].T)
    y = np.arange(6) % 2
    assert ShapeletBoost(window=3, atoms=4, nu=0.5).fit(bags, y).predict(bags).shape == (6,)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([SERIES[0], SERIES[1][:2]], "Series 1 has 2 channels, but series 0 has 3"),
        ([np.where(SERIES[0] > 2, np.nan, SERIES[0]), np.full((3, 9), np.nan)], "NaN at sample . of channel"),
        (SERIES[:, :, :1], "1 samples: a window needs at least 2"),
    ],
)
def test_wrong_channels_are_one_sentence(given: object, words: str) -> None:
    with pytest.raises(BagsError, match=words):
        from_series(given, 2)


def test_a_window_longer_than_a_series_is_an_error() -> None:
    with pytest.raises(ParameterError, match="A window of 12 samples is longer than series 0, which has 11"):
        from_series(SERIES, 12)


@pytest.mark.parametrize("given", [SERIES, SERIES[:, 0], list(SERIES), [series[0] for series in SERIES]])
def test_the_transformer_cuts_windows_of_the_length_of_the_fit(given) -> None:
    transformer = WindowTransformer(0.4, stride=2, znormalise=True).fit(given)
    assert transformer.length_ == 4
    assert np.array_equal(transformer.transform(given).instances, from_series(given, 4, 2, True).instances)
    shorter = [np.asarray(series)[..., :6] for series in given]
    assert transformer.transform(shorter).dimension == 4 * transformer.n_channels_


def test_the_transformer_works_in_a_pipeline() -> None:
    y = np.arange(20) % 2
    series = RNG.normal(size=(20, 2, 30))
    series[y == 1, 1, 10:15] += 4
    model = make_pipeline(WindowTransformer(length=5), SetKernelSVM())
    assert cross_val_score(clone(model), series, y, cv=4).mean() > 0.7
    assert model.set_params(windowtransformer__length=6).fit(series, y).score(series, y) > 0.9


def test_other_numbers_of_channels_are_an_error() -> None:
    with pytest.raises(BagsError, match="The series have 1 channels, but those of the fit had 3"):
        WindowTransformer(4).fit(SERIES).transform(SERIES[:, 0])
    with pytest.raises(milopt.errors.ParameterError, match="not fitted yet"):
        WindowTransformer(4).transform(SERIES)
