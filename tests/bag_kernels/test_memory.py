"""Counts that are kept: what was remembered comes back, nothing else, and no more than there is room for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.bag_kernels import memory
from milopt.bag_kernels.memory import NOTHING, forget_counts, known_counts, remember

SEEDS = st.lists(st.integers(0, 12), max_size=8)


@pytest.fixture(autouse=True)
def room(monkeypatch):
    forget_counts()
    monkeypatch.setattr(memory, "MOST_PAIRS", 6)
    yield
    forget_counts()


def words(seeds):
    return np.array(seeds, dtype=np.uint64)


def counts(seeds, offset=0.0):
    return np.array([(seed + offset, 1.0, 2.0) for seed in seeds]).reshape(-1, 3)


@given(SEEDS, SEEDS, SEEDS)
@settings(max_examples=60, deadline=None)
def test_what_was_added_is_known_and_the_rest_is_missing(first, second, wanted):
    known = NOTHING.extended(words(first), counts(first)).extended(words(second), counts(second, 0.5))
    table = {seed: float(seed) for seed in first} | {seed: seed + 0.5 for seed in second}
    missing = known.missing(words(wanted))
    assert sorted(wanted[place] for place in missing) == sorted(set(wanted) - set(table))
    there = [seed for seed in wanted if seed in table]
    assert known.of(words(there))[:, 0].tolist() == [table[seed] for seed in there]
    assert known.only(words(there)).seeds.tolist() == sorted(set(there))


def test_grids_used_least_recently_are_forgotten():
    for key in ("a", "b", "a", "c"):
        remember(key, NOTHING.extended(words([1, 2, 3]), counts([1, 2, 3])), words([1]))
    assert [known_counts(key).seeds.size for key in ("a", "b", "c")] == [3, 0, 3]


def test_of_one_large_grid_the_latest_pairs_stay():
    many = list(range(9))
    remember("a", NOTHING.extended(words(many), counts(many)), words([[7, 3], [3, 7]]))
    assert known_counts("a").seeds.tolist() == [3, 7]
    assert known_counts("a").of(words([7]))[:, 0].tolist() == [7.0]
