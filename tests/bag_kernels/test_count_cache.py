"""Cache of counts: stored counts are returned, and the size is limited."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.bag_kernels import count_cache
from milopt.bag_kernels.count_cache import EMPTY_COUNT_CACHE, cached_counts, clear_count_cache, store_counts

SEEDS = st.lists(st.integers(0, 12), max_size=8)


@pytest.fixture(autouse=True)
def room(monkeypatch):
    clear_count_cache()
    monkeypatch.setattr(count_cache, "MAX_CACHED_PAIRS", 6)
    yield
    clear_count_cache()


def words(seeds):
    return np.array(seeds, dtype=np.uint64)


def counts(seeds, offset=0.0):
    return np.array([(seed + offset, 1.0, 2.0) for seed in seeds]).reshape(-1, 3)


@given(SEEDS, SEEDS, SEEDS)
@settings(max_examples=60, deadline=None)
def test_added_counts_are_returned_and_others_are_missing(first, second, wanted):
    known = EMPTY_COUNT_CACHE.with_pairs(words(first), counts(first)).with_pairs(words(second), counts(second, 0.5))
    table = {seed: float(seed) for seed in first} | {seed: seed + 0.5 for seed in second}
    missing = known.missing_positions(words(wanted))
    assert sorted(wanted[place] for place in missing) == sorted(set(wanted) - set(table))
    there = [seed for seed in wanted if seed in table]
    assert known.lookup(words(there))[:, 0].tolist() == [table[seed] for seed in there]
    assert known.restrict_to(words(there)).seeds.tolist() == sorted(set(there))


def test_least_recently_used_grids_are_dropped():
    for key in ("a", "b", "a", "c"):
        store_counts(key, EMPTY_COUNT_CACHE.with_pairs(words([1, 2, 3]), counts([1, 2, 3])), words([1]))
    assert [cached_counts(key).seeds.size for key in ("a", "b", "c")] == [3, 0, 3]


def test_only_the_latest_pairs_of_one_large_grid_are_kept():
    many = list(range(9))
    store_counts("a", EMPTY_COUNT_CACHE.with_pairs(words(many), counts(many)), words([[7, 3], [3, 7]]))
    assert cached_counts("a").seeds.tolist() == [3, 7]
    assert cached_counts("a").lookup(words([7]))[:, 0].tolist() == [7.0]
