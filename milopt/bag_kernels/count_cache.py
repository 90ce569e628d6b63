"""Cache of box counts, keyed by grid and counting settings.

A second fit with other labels or another parameter C of an SVM finds all its counts here. A pair of bags is identified
by the seed of its random stream. The counts of the least recently used grids are removed first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Floats, Index, Words

MAX_CACHED_PAIRS = 5_000_000
"""Maximum number of cached pairs over all grids. A pair takes 32 bytes."""


@dataclass(frozen=True, eq=False)
class CountCache:
    """Counts of pairs of bags for one grid: counts[r] = (log count, draws, log |U|) of the pair with seeds[r].

    U is the universe of the draws (see `box_counting.CountDetails`). The seeds are sorted.
    """

    seeds: Words
    counts: Floats

    def missing_positions(self, seeds: Words) -> Index:
        """Return the positions in `seeds.ravel()` of the seeds without a cached count, each seed once."""
        wanted, places = np.unique(seeds, return_index=True)
        return np.asarray(places[~np.isin(wanted, self.seeds, assume_unique=True)])

    def lookup(self, seeds: Words) -> Floats:
        """Return (log count, draws, log |U|) for each seed along the last axis; all seeds must be in the cache."""
        return np.asarray(self.counts[np.searchsorted(self.seeds, seeds)])

    def with_pairs(self, seeds: Words, counts: Floats) -> CountCache:
        """Return a cache with these pairs added. A new count replaces the cached count of the same pair."""
        both, first = np.unique(np.concatenate([seeds, self.seeds]), return_index=True)
        return CountCache(both, np.concatenate([counts, self.counts])[first])

    def restrict_to(self, seeds: Words) -> CountCache:
        """Return a cache with only the pairs with these seeds, which must all be in this cache."""
        wanted = np.unique(seeds)
        return CountCache(wanted, self.lookup(wanted))


EMPTY_COUNT_CACHE = CountCache(np.empty(0, dtype=np.uint64), np.empty((0, 3)))
"""Cache without pairs."""
_CACHES: OrderedDict[object, CountCache] = OrderedDict()


def cached_counts(key: object) -> CountCache:
    """Return the cached counts for the key of a grid and counting settings; they are empty if nothing is cached."""
    return _CACHES.get(key, EMPTY_COUNT_CACHE)


def store_counts(key: object, cache: CountCache, latest: Words) -> None:
    """Store the counts of one grid, and remove other grids while there are more than `MAX_CACHED_PAIRS` pairs.

    The least recently used grids are removed first. If this grid alone exceeds the limit, only its pairs with the seeds
    `latest` are stored.
    """
    _CACHES[key] = cache if cache.seeds.size <= MAX_CACHED_PAIRS else cache.restrict_to(latest)
    _CACHES.move_to_end(key)
    while len(_CACHES) > 1 and sum(entry.seeds.size for entry in _CACHES.values()) > MAX_CACHED_PAIRS:
        _CACHES.popitem(last=False)


def clear_count_cache() -> None:
    """Remove all cached counts, for example so that a benchmark measures the time of counting."""
    _CACHES.clear()
