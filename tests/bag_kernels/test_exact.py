"""Counting boxes exactly: four ways in whole numbers and one in logarithms, and what any count must satisfy."""

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
from tests.bag_kernels.cases import counted, grids


@given(grids())
@settings(max_examples=60, deadline=None)
def test_every_way_to_count_gives_the_same_number(case):
    P, Q, s = case
    expected = exact.brute_force(P, Q, s)
    assert exact.inclusion_exclusion(P, Q, s) == expected
    assert exact.sweep(P, Q, s) == expected
    assert exact.hypervolume(P, Q, s) == expected
    assert exact.count(P, Q, s) == expected
    assert exp(counted(P, Q, s)[0]) == pytest.approx(expected, rel=1e-12)
    assert exp(counted(P, P, s)[0]) == pytest.approx(exact.count(P, P, s), rel=1e-12)


@given(grids(most_points=7, most=9, dimensions=6))
@settings(max_examples=40, deadline=None)
def test_compiled_counts_are_those_of_the_plain_recursion_on_larger_grids(case):
    P, Q, s = case
    assert exp(counted(P, Q, s)[0]) == pytest.approx(exact.hypervolume(P, Q, s), rel=1e-12)


@pytest.mark.parametrize(("s", "d", "boxes"), [(1, 3, 27), (3, 2, 100), (4, 2, 225), (2, 3, 216)])
def test_number_of_boxes_is_what_the_whole_grid_meets(s, d, boxes):
    whole = [tuple(point) for point in product(range(s + 1), repeat=d)]
    assert exact.number_of_boxes((s,) * d) == boxes == comb(s + 2, 2) ** d
    assert sum(1 for _ in exact.all_boxes((s,) * d)) == boxes
    assert exact.sweep(whole, whole, (s,) * d) == boxes


@given(st.integers(1, 5), st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_boxes_about_the_origin_count_what_satisfies_a_monotone_formula(n, rows):
    """P = {0} and Q the terms of a monotone DNF: the corner u is an assignment, and b meets Q where u satisfies one."""
    terms = exact.as_points([[int(v) for v in row[:n]] for row in rows])
    satisfying = sum(
        any(all(u >= t for u, t in zip(assignment, term, strict=True)) for term in terms)
        for assignment in product((0, 1), repeat=n)
    )
    origin = [(0,) * n]
    assert exact.count(origin, terms, (1,) * n) == satisfying
    assert exp(counted(origin, terms, (1,) * n)[0]) == pytest.approx(satisfying, rel=1e-12)


def test_a_formula_with_eleven_assignments():
    terms = [(1, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 1, 0), (0, 1, 0, 1)]
    assert exact.count([(0, 0, 0, 0)], terms, (1, 1, 1, 1)) == 11


@given(grids(), st.data())
@settings(max_examples=60, deadline=None)
def test_identities_of_counts(case, data):
    P, Q, s = case
    k = exact.count
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
    assert exp(counted(P, Q, s)[0]) == pytest.approx(exp(counted(*reflected, s)[0]), rel=1e-12)


@given(grids())
@settings(max_examples=30, deadline=None)
def test_single_points_have_the_product_formula(case):
    P, Q, s = case
    volumes = log_volumes(*(np.array(bag, dtype=np.int32) for bag in (P, Q)), np.array(s, dtype=np.int32))
    for i, p in enumerate(P):
        for j, q in enumerate(Q):
            assert volumes[i, j] == pytest.approx(log(exact.brute_force([p], [q], s)), abs=1e-12)


def test_too_much_to_count_is_refused_in_one_sentence():
    with pytest.raises(ParameterError, match=r"The grid has 25502500 boxes, and brute force lists at most 1000000\."):
        exact.brute_force([(0, 0)], [(0, 0)], (99, 99))
    many = [(i,) for i in range(21)]
    with pytest.raises(ParameterError, match=r"over 21 points has more than 1048576 terms"):
        exact.inclusion_exclusion(many, many, (30,))


def test_the_cheapest_way_is_taken():
    few, grid = [(0, 0), (1, 1)], (1, 1)
    assert min(exact.costs(few, few, grid).values()) < exact.costs(few, few, grid)[exact.brute_force]
    wide = [tuple(range(12)), tuple(range(12, 0, -1))]
    ways = exact.costs(wide, wide, (20,) * 12)
    assert min(ways, key=ways.__getitem__) is exact.inclusion_exclusion
    line = [(i,) for i in range(40)]
    assert exact.count(line, line, (40,)) == exact.sweep(line, line, (40,))
