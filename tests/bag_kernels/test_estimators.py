"""Estimates of box counts: compiled code agrees with pure Python, is unbiased, and satisfies its guarantees."""

from __future__ import annotations

from math import exp, log

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from milopt.bag_kernels import estimators, exact
from milopt.bag_kernels.compiled_stream import next_integer_below, next_unit_float, next_word
from milopt.bag_kernels.stream import RandomStream, pair_seed, pair_seeds
from tests.bag_kernels.cases import count_pair, grids

PAPERS = {"karp-luby": estimators.estimate_by_karp_luby, "self-adjusting": estimators.estimate_by_self_adjusting}
P = [(0, 0, 1), (1, 2, 0), (3, 1, 2), (2, 2, 2)]
Q = [(1, 1, 1), (2, 3, 0), (3, 3, 3)]
S = (4, 4, 4)
W = exact.count_by_brute_force(P, Q, S)


def as_codes(points):
    return np.array(points, dtype=np.int32)


def plain(rule, some, others, s, epsilon, delta, seed):
    """Return the pure Python estimate, with the seed that compiled code uses for the pair of words 1 and 2."""
    left = as_codes(some)
    right = left if others is some else as_codes(others)
    start = pair_seed(seed, 1, 1 if others is some else 2)
    if rule in PAPERS:
        return PAPERS[rule](left, right, as_codes(s), start, epsilon, delta)
    return estimators.estimate_by_coverage(left, right, as_codes(s), start, epsilon, delta, rule)


@pytest.mark.parametrize("rule", ["guaranteed", "fast", *PAPERS])
@given(case=grids(), seed=st.integers(0, 2**40), alone=st.booleans())
@settings(max_examples=15, deadline=None)
def test_compiled_estimates_equal_pure_python(rule, case, seed, alone):
    some, others, s = case
    others = some if alone else others
    expected = plain(rule, some, others, s, 0.5, 0.3, seed)
    log_count, draws, universe = count_pair(some, others, s, 0, rule, 0.5, 0.3, seed)
    assert draws == expected.draws
    assert log_count == pytest.approx(expected.log_count, abs=1e-12)
    assert universe == pytest.approx(expected.log_universe, abs=1e-12)


@given(st.integers(0, 2**70), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), st.integers(0, 2**64 - 1))
@settings(max_examples=30, deadline=None)
def test_vectorised_seeds_equal_single_seeds(seed, words, other):
    seeds = pair_seeds(seed, np.array(words, dtype=np.uint64)[:, None], np.array([other, words[0]], dtype=np.uint64))
    assert seeds.tolist() == [[pair_seed(seed, word, other), pair_seed(seed, word, words[0])] for word in words]


@numba.njit
def several(state, count):
    return next_word(state), next_integer_below(state, count), next_unit_float(state)


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**31))
@settings(max_examples=30, deadline=None)
def test_the_compiled_stream_equals_pure_python(seed, count):
    state, stream = np.array([seed], dtype=np.uint64), RandomStream(seed)
    bits, number, share = several(state, count)
    assert (int(bits), number, share) == (
        stream.next_word(),
        stream.next_integer_below(count),
        stream.next_unit_float(),
    )


def test_draws_below_a_number_are_uniform():
    stream = RandomStream(7)
    counts = np.bincount([stream.next_integer_below(7) for _ in range(14_000)], minlength=7)
    assert ((counts - 2000) ** 2 / 2000).sum() < 22.5  # the .999 quantile with 6 degrees of freedom


@pytest.mark.parametrize("alone", [False, True])
def test_every_estimator_is_unbiased(alone):
    """Compare the mean of pure Python draws with W / |U| by a z-test."""
    left, right, s = as_codes(P), as_codes(P if alone else Q), as_codes(S)
    right = left if alone else right
    universe = estimators.PointPairBoxUniverse(left, right, s, RandomStream(3))
    order = estimators.order_by_spread(left, right, s)
    values = np.array([estimators.draw_coverage(universe, order) for _ in range(4000)])
    exact_mean = exact.count_by_brute_force(P, P if alone else Q, S) / exp(universe.log_size)
    assert abs(values.mean() - exact_mean) / (values.std() / np.sqrt(values.size)) < 3.5


def indicator_draws(count):
    """Return Karp-Luby draws, each 0 or 1."""
    left, right = as_codes(P), as_codes(Q)
    universe = estimators.PointPairBoxUniverse(left, right, as_codes(S), RandomStream(5))
    hits = np.empty(count)
    for r in range(count):
        i, j = universe.draw_pair()
        low, high = universe.draw_box(i, j)
        hits[r] = (
            not estimators.is_in_box(left[:i], low, high).any() and not estimators.is_in_box(right[:j], low, high).any()
        )
    return hits, W / exp(universe.log_size)


def test_indicator_draws_have_the_same_mean_and_more_variance():
    hits, exact_mean = indicator_draws(4000)
    assert abs(hits.mean() - exact_mean) / (hits.std() / np.sqrt(hits.size)) < 3.5
    left, right, s = as_codes(P), as_codes(Q), as_codes(S)
    universe = estimators.PointPairBoxUniverse(left, right, s, RandomStream(6))
    order = estimators.order_by_spread(left, right, s)
    values = np.array([estimators.draw_coverage(universe, order) for _ in range(4000)])
    assert values.var() < 0.8 * hits.var()


@pytest.mark.parametrize(("rule", "delta"), [("guaranteed", 0.1), ("karp-luby", 0.1), ("self-adjusting", 0.1)])
def test_estimates_are_within_epsilon_with_the_guaranteed_probability(rule, delta):
    """Test 500 seeds: fewer than a fraction 1 - delta within epsilon would refute the guarantee (binomial test)."""
    epsilon, seeds = 0.2, 500
    errors = [exp(count_pair(P, Q, S, 0, rule, epsilon, delta, seed)[0]) / W - 1 for seed in range(seeds)]
    within = int((np.abs(errors) <= epsilon).sum())
    assert binomtest(within, seeds, 1 - delta, alternative="less").pvalue > 1e-3
    assert abs(np.mean(errors)) < 5 * np.std(errors) / np.sqrt(seeds) + 0.01
    assert np.std(errors) > 0


def test_the_fast_rule_is_nearly_as_accurate_as_stated_with_fewer_draws():
    runs = [count_pair(P, Q, S, 0, "fast", 0.2, 0.1, seed) for seed in range(500)]
    errors = np.array([exp(run[0]) / W - 1 for run in runs])
    assert (np.abs(errors) <= 0.2).mean() > 0.85
    assert np.mean([run[1] for run in runs]) < 0.5 * count_pair(P, Q, S, 0, "guaranteed", 0.2, 0.1, 0)[1]


def test_the_fast_rule_is_less_accurate_if_boxes_overlap_much():
    """The docstring of the class states this for a tight cluster and a distant point."""
    rng = np.random.default_rng(0)
    some, others = (
        exact.as_grid_points(np.vstack([50 + rng.integers(0, 2, (8, 10)), rng.integers(0, 100, (1, 10))]))
        for _ in range(2)
    )
    s = (99,) * 10
    log_count = count_pair(some, others, s, 0, "guaranteed", 0.02, 0.01)[0]
    fast = np.array([count_pair(some, others, s, 0, "fast", 0.1, 0.01, seed)[0] for seed in range(400)])
    errors = np.expm1(fast - log_count)
    assert 0.03 < (np.abs(errors) > 0.1).mean() < 0.12
    assert -0.05 < errors.mean() < 0


def test_the_binomial_test_would_notice_an_estimator_that_stops_too_early():
    errors = [exp(count_pair(P, Q, S, 0, "guaranteed", 0.9, 0.9, seed)[0]) / W - 1 for seed in range(500)]
    within = int((np.abs(errors) <= 0.02).sum())
    assert binomtest(within, 500, 0.9, alternative="less").pvalue < 1e-3


def test_numbers_of_draws_are_those_of_the_paper():
    assert estimators.karp_luby_draws(5, 5, 0.1, 0.01) == pytest.approx(4 * 25 * log(200) * 100, abs=1)
    expected = 8 * 1.1 * 25 * log(300) / ((1 - 0.01 / 8) * 0.01)
    assert estimators.self_adjusting_pair_count(5, 5, 0.1, 0.01) == pytest.approx(expected, abs=1)
    assert estimators.stopping_sum(0.1, 0.01) == pytest.approx(1 + 1.1 * 4 * (np.e - 2) * log(200) / 0.01)
    assert estimators.normal_quantile(0.05) == pytest.approx(1.959964, abs=1e-6)


@given(grids(), st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_log_counts_agree_with_counts_if_both_are_finite(case, seed):
    some, others, s = case
    log_count, _, universe = count_pair(some, others, s, 0, "guaranteed", 0.5, 0.3, seed)
    total = sum(exact.count_boxes_containing((p, q), s) for p in some for q in others)
    assert exp(universe) == pytest.approx(total, rel=1e-12)
    assert (
        exact.count_by_sweep(some, others, s)
        <= total
        <= len(some) * len(others) * exact.count_by_sweep(some, others, s)
    )
    assert 0 < exp(log_count) <= total * 1.0000001
