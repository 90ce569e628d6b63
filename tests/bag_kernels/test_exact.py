"""Exact box counts: four methods in integers and one in logarithms, and identities of counts."""

from __future__ import annotations

from itertools import product
from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.bag_kernels import exact
from milopt.bag_kernels.estimators import log_volumes
from milopt.errors import ParameterError
from tests.bag_kernels.cases import count_pair, grids


@given(grids())
@settings(max_examples=60, deadline=None)
def test_all_exact_methods_agree(case):
    P, Q, s = case
    expected = exact.count_by_brute_force(P, Q, s)
    assert exact.count_by_inclusion_exclusion(P, Q, s) == expected
    assert exact.count_by_sweep(P, Q, s) == expected
    assert exact.count_by_recursion(P, Q, s) == expected
    assert exp(count_pair(P, Q, s)[0]) == pytest.approx(expected, rel=1e-12)
    assert exp(count_pair(P, P, s)[0]) == pytest.approx(exact.count_by_sweep(P, P, s), rel=1e-12)


@given(grids(most_points=7, most=9, dimensions=6))
@settings(max_examples=40, deadline=None)
def test_compiled_counts_equal_pure_python_on_larger_grids(case):
    P, Q, s = case
    assert exp(count_pair(P, Q, s)[0]) == pytest.approx(exact.count_by_recursion(P, Q, s), rel=1e-12)


@pytest.mark.parametrize(("s", "d", "boxes"), [(1, 3, 27), (3, 2, 100), (4, 2, 225), (2, 3, 216)])
def test_the_whole_grid_meets_all_boxes(s, d, boxes):
    whole = [tuple(point) for point in product(range(s + 1), repeat=d)]
    assert exact.number_of_boxes((s,) * d) == boxes == comb(s + 2, 2) ** d
    assert sum(1 for _ in exact.all_boxes((s,) * d)) == boxes
    assert exact.count_by_sweep(whole, whole, (s,) * d) == boxes


@given(st.integers(1, 5), st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_boxes_around_the_origin_count_assignments_of_a_monotone_formula(n, rows):
    """With P = {0} and Q the terms of a monotone DNF, the corner u is an assignment.

    A box meets Q if u satisfies a term.
    """
    terms = exact.as_grid_points([[int(v) for v in row[:n]] for row in rows])
    satisfying = sum(
        any(all(u >= t for u, t in zip(assignment, term, strict=True)) for term in terms)
        for assignment in product((0, 1), repeat=n)
    )
    origin = [(0,) * n]
    assert exact.count_by_sweep(origin, terms, (1,) * n) == satisfying
    assert exp(count_pair(origin, terms, (1,) * n)[0]) == pytest.approx(satisfying, rel=1e-12)


def test_a_formula_with_eleven_assignments():
    terms = [(1, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 1, 0), (0, 1, 0, 1)]
    assert exact.count_by_sweep([(0, 0, 0, 0)], terms, (1, 1, 1, 1)) == 11


@given(grids(), st.data())
@settings(max_examples=60, deadline=None)
def test_identities_of_counts(case, data):
    P, Q, s = case
    k = exact.count_by_sweep
    both = sorted({*P, *Q})
    assert k(P, Q, s) == k(Q, P, s)
    assert k(P, Q, s) + k(both, both, s) == k(P, P, s) + k(Q, Q, s)
    assert k(P, Q, s) <= min(k(P, P, s), k(Q, Q, s))
    assert k(both, Q, s) >= k(P, Q, s)
    flipped = data.draw(st.lists(st.booleans(), min_size=len(s), max_size=len(s)))
    reflected = [
        [tuple(m - v if flip else v for v, m, flip in zip(p, s, flipped, strict=True)) for p in bag] for bag in (P, Q)
    ]
    assert k(reflected[0], reflected[1], s) == k(P, Q, s)
    assert exp(count_pair(P, Q, s)[0]) == pytest.approx(exp(count_pair(*reflected, s)[0]), rel=1e-12)


@given(grids())
@settings(max_examples=30, deadline=None)
def test_single_points_have_the_product_formula(case):
    P, Q, s = case
    volumes = log_volumes(*(np.array(bag, dtype=np.int32) for bag in (P, Q)), np.array(s, dtype=np.int32))
    for i, p in enumerate(P):
        for j, q in enumerate(Q):
            assert volumes[i, j] == pytest.approx(log(exact.count_by_brute_force([p], [q], s)), abs=1e-12)


def test_too_large_counts_are_rejected_with_one_sentence():
    with pytest.raises(ParameterError, match=r"The grid has 25502500 boxes, and brute force lists at most 1000000\."):
        exact.count_by_brute_force([(0, 0)], [(0, 0)], (99, 99))
    many = [(i,) for i in range(21)]
    with pytest.raises(ParameterError, match=r"over 21 points has more than 1048576 terms"):
        exact.count_by_inclusion_exclusion(many, many, (30,))


@pytest.mark.parametrize("s", [(60,), (6, 5), (3, 2, 3), (4, 0, 3), (1, 2, 1, 1)])
@pytest.mark.parametrize("seed", range(4))
def test_many_points_in_few_coordinates_are_swept(s, seed):
    rng = np.random.default_rng(seed)
    P, Q = (exact.as_grid_points(np.stack([rng.integers(0, m + 1, size=25) for m in s], axis=1)) for _ in range(2))
    for rule in ("guaranteed", "fast"):
        for some, others in ((P, Q), (P, P)):
            log_count = count_pair(some, others, s, exact_below=None, rule=rule)
            if rule == "guaranteed" or len(s) == 1:
                assert log_count[1] == 0
                assert exp(log_count[0]) == pytest.approx(exact.count_by_brute_force(some, others, s), rel=1e-12)
    assert count_pair(P, Q, s, exact_below=0)[1] > 0


def test_points_that_share_most_coordinates_are_swept_without_overflow():
    rng = np.random.default_rng(0)
    P, Q = (
        exact.as_grid_points(np.hstack([rng.integers(0, 100, size=(30, 1)), np.full((30, 300), 7)])) for _ in range(2)
    )
    s = (99,) * 301
    log_count, draws, _ = count_pair(P, Q, s, exact_below=None)
    line = exact.count_by_sweep([p[:1] for p in P], [q[:1] for q in Q], (99,))
    assert draws == 0
    assert log_count == pytest.approx(log(line) + 300 * log(8 * 93), rel=1e-13)


def test_a_sweep_cheaper_than_draws_is_used_after_the_recursion_gives_up():
    """The 496 scans exceed the 450 volumes per point that the recursion needs at least, but not the draws."""
    rng = np.random.default_rng(0)
    P, Q = (exact.as_grid_points(rng.integers(0, 41, size=(30, 2))) for _ in range(2))
    both, s = sorted({*P, *Q}), (40, 40)
    known = [count_pair(some, others, s, exact_below=None) for some, others in ((P, Q), (both, both), (P, P), (Q, Q))]
    assert [draws for _, draws, _ in known] == [0, 0, 0, 0]
    k = [exp(log_count) for log_count, _, _ in known]
    assert k[0] + k[1] == pytest.approx(k[2] + k[3], rel=1e-12)
    assert count_pair(P, Q, s, exact_below=0)[0] == pytest.approx(log(k[0]), abs=0.1)
    few = count_pair(P, Q, s, exact_below=20_000)
    assert few[1] > 0
