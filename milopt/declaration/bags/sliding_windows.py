"""Sliding windows over bags whose instances are in order, such as the time steps (samples) of a time series.

A bag (x_1, ..., x_L) with D features becomes the bag of windows (x_j, ..., x_{j + ell - 1}), j = 1, ..., L - ell + 1.
Each window is one instance with ell D features.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.declaration.array_conversion import make_read_only
from milopt.declaration.bags.bags import Bags
from milopt.errors import BagsError, ParameterError


def window_length(length: object, shortest: int) -> int:
    """Return the number ell of instances per window, at least 2.

    `length` is that number, or a fraction (strictly between 0 and 1) of `shortest`, the size of the shortest bag.
    """
    if isinstance(length, (int, float, np.integer, np.floating)) and not isinstance(length, bool):
        if 0 < length < 1:
            return max(2, round(float(length) * shortest))
        if length >= 2 and float(length).is_integer():
            return int(length)
    wanted = "a whole number of samples, at least 2, or a fraction between 0 and 1"
    raise ParameterError(f"The window length must be {wanted}, not {length!r}.")


def sliding_windows(bags: Bags, samples: int) -> Bags:
    """Return, for each bag, the bag of all its windows of `samples` consecutive instances.

    Raise `ParameterError` if a bag has fewer instances.
    """
    instances = bags.instances
    if sp.issparse(instances):
        raise BagsError("Windows need dense instances: give the series as dense arrays.")
    short = np.flatnonzero(bags.sizes < samples)
    if short.size:
        size = f"bag {short[0]}, which has {bags.sizes[short[0]]}"
        raise ParameterError(f"A window of {samples} samples is longer than {size}: choose shorter windows.")
    counts = bags.sizes - samples + 1
    offsets = np.concatenate([[0], np.cumsum(counts)])
    first = np.arange(offsets[-1]) + np.repeat(bags.offsets[:-1] - offsets[:-1], counts)
    # This view has a window at every row, also across two bags; `first` selects the windows within a bag.
    runs = np.lib.stride_tricks.sliding_window_view(np.asarray(instances), samples, axis=0)
    windows = np.ascontiguousarray(runs[first].transpose(0, 2, 1)).reshape(first.size, -1)
    return Bags(make_read_only(windows), offsets)
