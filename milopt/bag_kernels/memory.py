"""Counts that were computed before, by grid and way of counting: a fit with another C, or other labels, counts nothing.

A pair of bags is known by the seed of its stream. The least recently used grids are forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Floats, Index
from milopt.bag_kernels.stream import Words

MOST_PAIRS = 5_000_000
"""Pairs that are kept over all grids, 32 bytes each."""


@dataclass(frozen=True, eq=False)
class Known:
    """counts[r] = (log count, draws, log |U|) of the pair with seeds[r]; the seeds are in order."""

    seeds: Words
    counts: Floats

    def missing(self, seeds: Words) -> Index:
        """Where, in all seeds row after row, those are that are not known; each one once."""
        wanted, places = np.unique(seeds, return_index=True)
        return np.asarray(places[~np.isin(wanted, self.seeds, assume_unique=True)])

    def of(self, seeds: Words) -> Floats:
        """The counts of known pairs, in the shape of the seeds, three each."""
        return np.asarray(self.counts[np.searchsorted(self.seeds, seeds)])

    def extended(self, seeds: Words, counts: Floats) -> Known:
        """With other pairs, the new ones where both have them."""
        both, first = np.unique(np.concatenate([seeds, self.seeds]), return_index=True)
        return Known(both, np.concatenate([counts, self.counts])[first])

    def only(self, seeds: Words) -> Known:
        """These pairs alone."""
        wanted = np.unique(seeds)
        return Known(wanted, self.of(wanted))


NOTHING = Known(np.empty(0, dtype=np.uint64), np.empty((0, 3)))
_KNOWN: OrderedDict[object, Known] = OrderedDict()


def known_counts(key: object) -> Known:
    """The counts of one grid and way of counting."""
    return _KNOWN.get(key, NOTHING)


def remember(key: object, known: Known, latest: Words) -> None:
    """Keep counts, and as many of those used before as there is room for; of one large grid the latest pairs."""
    _KNOWN[key] = known if known.seeds.size <= MOST_PAIRS else known.only(latest)
    _KNOWN.move_to_end(key)
    while len(_KNOWN) > 1 and sum(one.seeds.size for one in _KNOWN.values()) > MOST_PAIRS:
        _KNOWN.popitem(last=False)


def forget_counts() -> None:
    """Forget everything, as a benchmark must before it counts again."""
    _KNOWN.clear()
