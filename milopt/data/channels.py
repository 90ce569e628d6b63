"""Time series with several channels: a window of ell samples of C channels is one instance with ell C features.

The features of a window are those of its first sample, then those of its second sample, and so on. aeon stores series
as arrays of shape (n_series, n_channels, n_samples), or as lists of arrays of shape (n_channels, n_samples).
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats
from milopt.data.windows import znormalise_windows
from milopt.declaration.array_conversion import describe_nonfinite, make_read_only, to_float_array
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding_windows import window_length
from milopt.errors import BagsError, ParameterError


def as_channels(X: object) -> tuple[Floats, ...] | None:
    """Return series with several channels as arrays of shape (n_samples, n_channels); None if X has one channel.

    Raise `BagsError` if the series have different numbers of channels, or if a value is not finite.
    """
    if not isinstance(X, (list, tuple)):
        array = np.asarray(X)
        if array.ndim != 3 or array.shape[1] < 2:
            return None
        members = list(array)
    else:
        if not X or any(np.ndim(member) != 2 for member in X) or all(np.shape(member)[0] == 1 for member in X):
            return None
        members = list(X)
    series = tuple(to_float_array(member, f"Series {i}").T for i, member in enumerate(members))
    for i, values in enumerate(series):
        if values.shape[1] != series[0].shape[1]:
            channels = f"{values.shape[1]} channels, but series 0 has {series[0].shape[1]}"
            raise BagsError(f"Series {i} has {channels}: give arrays of shape (n_channels, n_samples).")
        if values.shape[0] < 2:
            raise BagsError(f"Series {i} has {values.shape[0]} samples: a window needs at least 2.")
        finite = np.isfinite(values)
        if not finite.all():
            sample, channel = np.argwhere(~finite)[0]
            what = f"{describe_nonfinite(values[sample, channel])} at sample {sample} of channel {channel}"
            raise BagsError(f"Series {i} has {what}: values must be finite.")
    return series


def channel_windows(series: tuple[Floats, ...], length: object, stride: int, znormalise: bool) -> Bags:
    """Return the bags of windows of series with several channels; `length` None makes every sample an instance.

    z-normalised windows have mean 0 and standard deviation 1 in each channel; a constant channel of a window becomes 0.
    """
    shortest = min(range(len(series)), key=lambda i: len(series[i]))
    samples = 1 if length is None else window_length(length, len(series[shortest]))
    if samples > len(series[shortest]):
        size = f"series {shortest}, which has {len(series[shortest])}"
        raise ParameterError(f"A window of {samples} samples is longer than {size}: choose shorter windows.")
    parts = [_windows(values, samples, stride, znormalise) for values in series]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Bags(make_read_only(np.concatenate(parts)), offsets)


def _windows(values: Floats, samples: int, stride: int, znormalise: bool) -> Floats:
    """Return the windows of one series of shape (n_samples, n_channels), one row per window."""
    windows = np.lib.stride_tricks.sliding_window_view(values, samples, axis=0)[::stride]
    count, channels, _ = windows.shape
    if znormalise:
        windows = znormalise_windows(windows.reshape(count * channels, samples)).reshape(windows.shape)
    return np.ascontiguousarray(windows.transpose(0, 2, 1)).reshape(count, samples * channels)
