"""Time series as bags: every window of a series is an instance of its bag.

For a series tau in R^L, window length ell and stride s: B_tau = {(tau[j], ..., tau[j + ell - 1]) : j = 0, s, 2s, ... <=
L - ell}, and 2 <= ell <= min L.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.data.channels import as_channels, channel_windows
from milopt.data.windows import Windows
from milopt.declaration.array_conversion import as_read_only_rows, describe_nonfinite, to_float_array
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding_windows import window_length
from milopt.errors import BagsError, ParameterError

Series = npt.ArrayLike | Sequence[npt.ArrayLike]
"""A 2-D array with one row per series, or a sequence of 1-D arrays, which may differ in length."""


@overload
def from_series(X: Series, length: float | None, stride: int = 1, znormalise: bool = False) -> Bags: ...
@overload
def from_series(X: Series, length: Sequence[float], stride: int = 1, znormalise: bool = False) -> tuple[Bags, ...]: ...
def from_series(
    X: Series, length: float | Sequence[float] | None, stride: int = 1, znormalise: bool = False
) -> Bags | tuple[Bags, ...]:
    """Convert time series to bags of windows, one bag per series.

    Parameters
    ----------
    X : array of shape (n_series, n_samples) or (n_series, n_channels, n_samples), or sequence of arrays
        The series, which may differ in length. In a sequence, an array has the shape (n_samples,) or (n_channels,
        n_samples), as in aeon. With several channels, a window has the values of all channels of its first sample, then
        those of its second sample, and so on.
    length : int, float, sequence of these, or None
        Window length: a number of samples, or a fraction (strictly between 0 and 1) of the shortest series. None makes
        every sample an instance, for models that cut windows themselves. For a sequence of lengths, one set of bags per
        length is returned.
    stride : int, default=1
        Number of samples between the starts of consecutive windows.
    znormalise : bool, default=False
        Whether to standardise each window to mean 0 and standard deviation 1, in each channel. A constant window
        becomes 0.

    Returns
    -------
    Bags or tuple of Bags
        One instance per window. Windows are views of the series until one array is needed.

    Raises
    ------
    BagsError
        If a series is not 1-D, not finite, or has fewer than 2 samples.
    ParameterError
        If a window is longer than the shortest series, or if a parameter is invalid.

    Examples
    --------
    >>> from milopt import from_series
    >>> bags = from_series([[1.0, 2.0, 4.0, 8.0], [3.0, 2.0, 1.0]], length=2)
    >>> bags[1].tolist(), bags.sizes.tolist()
    ([[3.0, 2.0], [2.0, 1.0]], [3, 2])
    """
    channels = as_channels(X)
    series = as_series(X) if channels is None else channels
    if isinstance(length, Iterable) and not isinstance(length, (str, bytes)):
        lengths = list(length)
        if not lengths:
            raise ParameterError("length is an empty list: give at least one window length.")
        return tuple(_cut_series(series, each, stride, znormalise, channels is not None) for each in lengths)
    return _cut_series(series, length, stride, znormalise, channels is not None)


def _cut_series(
    series: tuple[Floats, ...], length: object, stride: object, znormalise: bool, has_channels: bool
) -> Bags:
    """Return the bags of windows of series with one channel, or with several if `has_channels`."""
    if not has_channels:
        return make_windows(series, length, stride, znormalise)
    return channel_windows(series, length, _check_stride(length, stride, znormalise), znormalise)


def make_windows(
    series: tuple[Floats, ...],
    length: object,
    stride: object,
    znormalise: bool,
    series_name: Callable[[int], str] = "series {}".format,
) -> Bags:
    """Return the bags of windows of series that `as_series` has returned.

    If `length` is None, every sample is an instance; then `stride` must be 1 and `znormalise` False. `series_name(i)`
    is the name of series i in messages.
    """
    step = _check_stride(length, stride, znormalise)
    if length is None:
        return Windows(series, 1, 1, False)
    shortest = min(range(len(series)), key=lambda i: series[i].size)
    samples = window_length(length, series[shortest].size)
    if samples > series[shortest].size:
        size = f"{series_name(shortest)}, which has {series[shortest].size}"
        raise ParameterError(f"A window of {samples} samples is longer than {size}: choose shorter windows.")
    return Windows(series, samples, step, bool(znormalise))


def _check_stride(length: object, stride: object, znormalise: bool) -> int:
    """Return the stride; raise an error if it is not a positive integer, or if `length` is None and windows are set."""
    if isinstance(stride, bool) or not isinstance(stride, (int, np.integer)) or stride < 1:
        raise ParameterError(f"stride must be a whole number of samples, at least 1, not {stride!r}.")
    if length is None and (stride != 1 or znormalise):
        raise ParameterError("stride and znormalise need windows: give a window length as well.")
    return int(stride)


def as_series(X: object) -> tuple[Floats, ...]:
    """Return the series as arrays, or raise an error if one is not 1-D, not finite, or has fewer than 2 samples."""
    if not isinstance(X, (list, tuple)):
        X = np.asarray(X)
        if X.ndim == 3 and X.shape[1] == 1:
            X = X[:, 0]
        if X.ndim == 2:
            X = as_read_only_rows(to_float_array(X, "The series"))
        elif X.ndim != 1 or X.dtype != object:
            raise BagsError(f"A {X.ndim}-D array is not a list of series: give one row per series, or a list.")
    series = tuple(as_read_only_rows(to_float_array(values, f"Series {i}")) for i, values in enumerate(X))
    if not series:
        raise BagsError("There are no series: give at least one.")
    for i, values in enumerate(series):
        if values.ndim != 1:
            raise BagsError(f"Series {i} is {values.ndim}-D: give one 1-D array per series.")
        if values.size < 2:
            raise BagsError(f"Series {i} has {values.size} samples: a window needs at least 2.")
        finite = np.isfinite(values)
        if not finite.all():
            j = int(np.flatnonzero(~finite)[0])
            raise BagsError(f"Series {i} has {describe_nonfinite(values[j])} at sample {j}: values must be finite.")
    return series
