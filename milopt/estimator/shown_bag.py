"""One bag to be shown: as it was given and as the programs see it, and where its windows lie in its series.

An instance is one of the bag's own, or one of the windows that columns cut themselves. Where it is a window it covers
`length` samples from `start`; the series is the bag's samples, or is put together again from overlapping windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milopt.arrays import Floats, Index, Points
from milopt.data.windows import Cut, Windows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding import sliding
from milopt.errors import BagsError


@dataclass(frozen=True, eq=False)
class ShownBag:
    """A single bag."""

    given: Bags
    """In the units of whoever gave it."""
    scaled: Bags
    cut: Cut | None
    """How its instances were cut from a series, where they were."""

    def spans(self, instances: Index, samples: int | None) -> tuple[Index, Index] | None:
        """The start and length, in samples, of instances that are windows; None where they are no windows.

        `samples` is the length of the windows that columns cut themselves, None where they look at the instances.
        """
        if samples is not None:
            return instances, np.full(instances.size, samples)
        if self.cut is not None:
            return instances * self.cut.stride, np.full(instances.size, self.cut.length)
        return None

    def seen(self, samples: int | None) -> Bags:
        """What columns look at, in the units of whoever gave the bag."""
        return self.given if samples is None else sliding(self.given, samples)

    @cached_property
    def series(self) -> Floats | None:
        """L x D, a sample a row, NaN where no window reaches; None where the bag cannot be put together to one."""
        if isinstance(self.given, Windows):
            return self.given.series[0][:, None]
        rows = self.given.instances
        if not isinstance(rows, np.ndarray):
            return None
        if self.cut is None:
            return rows
        if self.cut.znormalise:
            return None
        starts = np.arange(rows.shape[0]) * self.cut.stride
        series = np.full(int(starts[-1]) + self.cut.length, np.nan)
        series[starts[:, None] + np.arange(self.cut.length)] = rows
        return series[:, None]


def single(bag: Points | Bags) -> object:
    """What `new_bags` takes for one bag: a 2-D array, or bags of which there is one."""
    if not isinstance(bag, Bags):
        return [bag]
    if len(bag) != 1:
        raise BagsError(f"One bag is shown at a time, and these are {len(bag)}: give bags[i] or bags[i:i + 1].")
    return bag
