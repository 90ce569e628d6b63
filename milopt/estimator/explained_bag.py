"""One bag prepared for an explanation: in its original units, scaled, and with the positions of its windows.

The columns (weak learners) of an ensemble either use the instances of the bag or cut windows from the bag themselves.
In the second case, the bag is a time series, its instances are samples, and the windows play the role of instances. A
window covers `length` samples from sample `start` on. The time series of the bag is known if it was given, or is
reconstructed from the windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.data.windows import Windows, WindowSettings
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding_windows import sliding_windows
from milopt.errors import BagsError


@dataclass(frozen=True, eq=False)
class ExplainedBag:
    """One bag in original units and scaled, with the settings by which its windows were cut."""

    given: Bags
    """The bag in the units of the user."""
    scaled: Bags
    """The same bag with scaled features."""
    window_settings: WindowSettings | None
    """Length and stride of the windows if the instances are windows of a time series; otherwise None."""

    def window_spans(self, instances: Index, samples: int | None) -> tuple[Index, Index] | None:
        """Return the starts and lengths of windows in samples, or None if the instances are not windows.

        `instances` has the indices of the windows. `samples` is the length of windows that columns (weak learners) cut
        themselves, with stride 1, or None if the columns use the instances of the bag.
        """
        if samples is not None:
            return instances, np.full(instances.size, samples)
        if self.window_settings is not None:
            return instances * self.window_settings.stride, np.full(instances.size, self.window_settings.length)
        return None

    def column_instances(self, samples: int | None) -> Bags:
        """Return the unscaled instances, or, if `samples` is not None, all windows of this length as instances."""
        return self.given if samples is None else sliding_windows(self.given, samples)

    @cached_property
    def series(self) -> Floats | None:
        """Time series of the bag, one row per sample, or None if it cannot be reconstructed.

        It cannot be reconstructed from z-normalised windows, or if the instances are sparse. If the instances were not
        cut from a series, they are the samples. Samples that no window covers are NaN.
        """
        if isinstance(self.given, Windows):
            return self.given.series[0][:, None]
        rows = self.given.instances
        if not isinstance(rows, np.ndarray):
            return None
        if self.window_settings is None:
            return rows
        if self.window_settings.znormalise:
            return None
        starts = np.arange(rows.shape[0]) * self.window_settings.stride
        series = np.full(int(starts[-1]) + self.window_settings.length, np.nan)
        series[starts[:, None] + np.arange(self.window_settings.length)] = rows
        return series[:, None]


def as_single_bag(bag: Points | Bags) -> object:
    """Return one bag in a form that `check_new_bags` accepts: a list of one array, or Bags of length 1."""
    if not isinstance(bag, Bags):
        return [bag]
    if len(bag) != 1:
        raise BagsError(f"One bag can be explained at a time, not {len(bag)}: give bags[i] or bags[i:i + 1].")
    return bag
