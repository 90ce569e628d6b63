"""Bags of windows of time series, stored as series until one contiguous array is needed.

B_tau = {(tau[j], ..., tau[j + ell - 1]) : j = 0, stride, 2 stride, ... <= L - ell} is the bag of a series tau of L
samples, with windows of ell samples. With stride 1, the series need about ell times less memory than the windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.declaration.array_conversion import as_read_only_rows, make_read_only
from milopt.declaration.bags.bags import Bags
from milopt.errors import BagsError


@dataclass(frozen=True)
class WindowSettings:
    """Settings with which windows were cut from series: length, stride and normalisation.

    Windows that were cut with different settings are not comparable.

    Attributes
    ----------
    length : int
        Window length ell in samples. 1 means that the series are not cut.
    stride : int
        Number of samples between the starts of consecutive windows.
    znormalise : bool
        Whether each window has mean 0 and standard deviation 1. Constant windows become 0.
    """

    length: int
    stride: int
    znormalise: bool

    def __str__(self) -> str:
        if self.length == 1:
            return "series as they are"
        shape = "z-normalised" if self.znormalise else "not z-normalised"
        return f"windows of {self.length} samples, stride {self.stride}, {shape}"


class Windows(Bags):
    """Bags of windows of `length` samples, one every `stride` samples; windows of a bag are views of its series.

    Windows are copies if they are z-normalised, or if one array contains the windows of several bags.
    """

    def __init__(self, series: tuple[Floats, ...], length: int, stride: int, znormalise: bool) -> None:
        self._series = tuple(as_read_only_rows(values) for values in series)
        self._length, self._stride, self._znormalise = length, stride, znormalise
        counts = [(values.size - length) // stride + 1 for values in series]
        self._offsets = make_read_only(np.concatenate([[0], np.cumsum(counts, dtype=np.intp)]))

    @cached_property
    def _instances(self) -> Points:
        """All windows in one array."""
        shape = (int(self._offsets[-1]), self._length)
        try:
            instances = np.empty(shape)
            for i in range(len(self)):
                instances[self._offsets[i] : self._offsets[i + 1]] = self._windows_of_series(i)
        except MemoryError:
            size = f"{shape[0]} windows of {shape[1]} samples take {8e-9 * shape[0] * shape[1]:.1f} GB"
            raise BagsError(f"{size}, which is not available: choose shorter windows or a larger stride.") from None
        return make_read_only(instances)

    @property
    def window_settings(self) -> WindowSettings:
        """Settings with which the windows were cut."""
        return WindowSettings(self._length, self._stride, self._znormalise)

    @property
    def series(self) -> tuple[Floats, ...]:
        """Series that the windows were cut from, one per bag."""
        return self._series

    @property
    def dimension(self) -> int:
        """Number of samples per window, ell."""
        return self._length

    def _windows_of_series(self, i: int) -> Floats:
        """Return the windows of series i, one row per window, z-normalised if this was chosen."""
        windows = np.lib.stride_tricks.sliding_window_view(self._series[i], self._length)[:: self._stride]
        return znormalise_windows(windows) if self._znormalise else windows

    def _instances_between(self, low: int, high: int) -> Points:
        # If all windows are in one array already, a slice of this array is cheaper.
        if high - low > 1 or "_instances" in self.__dict__:
            return super()._instances_between(low, high)
        return make_read_only(self._windows_of_series(low))

    def _bag_range(self, low: int, high: int) -> Bags:
        return Windows(self._series[low:high], self._length, self._stride, self._znormalise)

    def _select(self, chosen: Index) -> Bags:
        if chosen.size == 0:
            return super()._select(chosen)
        series = tuple(self._series[i] for i in chosen)
        return Windows(series, self._length, self._stride, self._znormalise)

    def __reduce__(self) -> tuple[Callable[..., Bags], tuple[object, ...]]:
        return Windows, (self._series, self._length, self._stride, self._znormalise)

    def __repr__(self) -> str:
        if self._length == 1:
            return f"Bags({len(self)} series, {self._offsets[-1]} samples)"
        return f"Bags({len(self)} series, {self._offsets[-1]} windows of {self._length} samples)"


def znormalise_windows(windows: Floats) -> Floats:
    """Return each window minus its mean, divided by its standard deviation; constant windows become 0."""
    centred: Floats = windows - windows.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    # The deviations of a constant window are rounding errors.
    constant = spread <= 1e-12 * np.abs(windows).max(axis=1, keepdims=True)
    normalised: Floats = np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))
    return normalised
