"""Bags whose instances are the windows of series, kept as the series until one contiguous array is truly needed.

B_tau = {(tau[j], ..., tau[j + ell - 1]) : j = 0, stride, 2 stride, ... <= L - ell}: ell times smaller as a series.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.declaration.arrays import frozen, read_only
from milopt.declaration.bags.bags import Bags
from milopt.errors import BagsError


@dataclass(frozen=True)
class Cut:
    """How windows are cut from series; windows that are cut otherwise are other instances."""

    length: int
    """ell, in samples."""
    stride: int
    znormalise: bool

    def __str__(self) -> str:
        if self.length == 1:
            return "series as they are"
        shape = "z-normalised" if self.znormalise else "not z-normalised"
        return f"windows of {self.length} samples, stride {self.stride}, {shape}"


class Windows(Bags):
    """Bags of windows of `length` samples, one every `stride`; the windows of one bag are a view of its series."""

    def __init__(self, series: tuple[Floats, ...], length: int, stride: int, znormalise: bool) -> None:
        self._series = tuple(frozen(one) for one in series)
        self._length, self._stride, self._znormalise = length, stride, znormalise
        counts = [(one.size - length) // stride + 1 for one in series]
        self._offsets = read_only(np.concatenate([[0], np.cumsum(counts, dtype=np.intp)]))

    @cached_property
    def _instances(self) -> Points:
        shape = (int(self._offsets[-1]), self._length)
        try:
            instances = np.empty(shape)
            for i in range(len(self)):
                instances[self._offsets[i] : self._offsets[i + 1]] = self._windows(i)
        except MemoryError:
            size = f"{shape[0]} windows of {shape[1]} samples take {8e-9 * shape[0] * shape[1]:.1f} GB"
            raise BagsError(f"{size}, more than there is: choose shorter windows or a larger stride.") from None
        return read_only(instances)

    @property
    def cut(self) -> Cut:
        """How the windows were cut."""
        return Cut(self._length, self._stride, self._znormalise)

    @property
    def series(self) -> tuple[Floats, ...]:
        """What the windows were cut from, one a bag."""
        return self._series

    @property
    def dimension(self) -> int:
        """ell, the number of samples of a window."""
        return self._length

    def _windows(self, i: int) -> Floats:
        windows = np.lib.stride_tricks.sliding_window_view(self._series[i], self._length)[:: self._stride]
        return znormalised(windows) if self._znormalise else windows

    def _between(self, low: int, high: int) -> Points:
        # Once all windows lie in one array, a part of that array is the cheaper view.
        if high - low > 1 or "_instances" in self.__dict__:
            return super()._between(low, high)
        return read_only(self._windows(low))

    def _span(self, low: int, high: int) -> Bags:
        return Windows(self._series[low:high], self._length, self._stride, self._znormalise)

    def _gather(self, chosen: Index) -> Bags:
        if chosen.size == 0:
            return super()._gather(chosen)
        series = tuple(self._series[i] for i in chosen)
        return Windows(series, self._length, self._stride, self._znormalise)

    def __reduce__(self) -> tuple[Callable[..., Bags], tuple[object, ...]]:
        return Windows, (self._series, self._length, self._stride, self._znormalise)

    def __repr__(self) -> str:
        if self._length == 1:
            return f"Bags({len(self)} series, {self._offsets[-1]} samples)"
        return f"Bags({len(self)} series, {self._offsets[-1]} windows of {self._length} samples)"


def znormalised(windows: Floats) -> Floats:
    """Each window less its mean, divided by its standard deviation; a window that is constant becomes 0."""
    centred: Floats = windows - windows.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    # What is left of a constant by rounding is not a shape.
    constant = spread <= 1e-12 * np.abs(windows).max(axis=1, keepdims=True)
    normalised: Floats = np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))
    return normalised
