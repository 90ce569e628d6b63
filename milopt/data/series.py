"""Series as bags: every window of a series is an instance of its bag.

tau in R^L, window ell, stride s: B_tau = {(tau[j], ..., tau[j + ell - 1]) : j = 0, s, 2s, ... <= L - ell}, and
2 <= ell <= min L.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.data.windows import Windows
from milopt.declaration.arrays import frozen, numeric, spelled
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding import window_length
from milopt.errors import BagsError, ParameterError

Series = npt.ArrayLike | Sequence[npt.ArrayLike]
"""A 2-D array, one row a series; or 1-D arrays, which may differ in length."""


@overload
def from_series(X: Series, length: float | None, stride: int = 1, znormalise: bool = False) -> Bags: ...
@overload
def from_series(X: Series, length: Sequence[float], stride: int = 1, znormalise: bool = False) -> tuple[Bags, ...]: ...
def from_series(
    X: Series, length: float | Sequence[float] | None, stride: int = 1, znormalise: bool = False
) -> Bags | tuple[Bags, ...]:
    """One bag a series, one instance a window; for several lengths, one set of bags a length.

    `length` is a number of samples, or a fraction (strictly between 0 and 1) of the shortest series; None leaves the
    samples as they are, one an instance, for models that cut windows themselves. `znormalise` gives each window mean 0
    and standard deviation 1. The windows stay views of the series until one array is needed:

    >>> bags = from_series([[1.0, 2.0, 4.0, 8.0], [3.0, 2.0, 1.0]], length=2)
    >>> bags[1].tolist(), bags.sizes.tolist()
    ([[3.0, 2.0], [2.0, 1.0]], [3, 2])
    """
    series = as_series(X)
    if isinstance(length, Iterable) and not isinstance(length, (str, bytes)):
        lengths = list(length)
        if not lengths:
            raise ParameterError("length is an empty list: give at least one window length.")
        return tuple(windows(series, one, stride, znormalise) for one in lengths)
    return windows(series, length, stride, znormalise)


def windows(
    series: tuple[Floats, ...],
    length: object,
    stride: object,
    znormalise: bool,
    called: Callable[[int], str] = "series {}".format,
) -> Bags:
    """Bags of windows of checked series; `called(i)` is how a message names series i."""
    if isinstance(stride, bool) or not isinstance(stride, (int, np.integer)) or stride < 1:
        raise ParameterError(f"stride must be a whole number of samples, at least 1, not {stride!r}.")
    if length is None:
        if stride != 1 or znormalise:
            raise ParameterError("stride and znormalise are about windows: give a window length as well.")
        return Windows(series, 1, 1, False)
    shortest = min(range(len(series)), key=lambda i: series[i].size)
    samples = window_length(length, series[shortest].size)
    if samples > series[shortest].size:
        size = f"{called(shortest)}, which has {series[shortest].size}"
        raise ParameterError(f"A window of {samples} samples is longer than {size}: choose shorter windows.")
    return Windows(series, samples, int(stride), bool(znormalise))


def as_series(X: object) -> tuple[Floats, ...]:
    """The series, each checked: 1-D, at least 2 samples, finite."""
    if not isinstance(X, (list, tuple)):
        X = np.asarray(X)
        if X.ndim == 3 and X.shape[1] == 1:
            X = X[:, 0]
        if X.ndim == 2:
            X = frozen(numeric(X, "The series"))
        elif X.ndim != 1 or X.dtype != object:
            raise BagsError(f"A {X.ndim}-D array is no list of series: give a 2-D array, one row a series, or a list.")
    series = tuple(frozen(numeric(one, f"Series {i}")) for i, one in enumerate(X))
    if not series:
        raise BagsError("There are no series: give at least one.")
    for i, one in enumerate(series):
        if one.ndim != 1:
            raise BagsError(f"Series {i} is {one.ndim}-D: give a 1-D array a series.")
        if one.size < 2:
            raise BagsError(f"Series {i} has {one.size} samples: a window needs at least 2.")
        finite = np.isfinite(one)
        if not finite.all():
            j = int(np.flatnonzero(~finite)[0])
            raise BagsError(f"Series {i} has {spelled(one[j])} at sample {j}: every value must be finite.")
    return series
