"""Small sets of grid points, drawn by hypothesis, and their compiled counts."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from milopt.bag_kernels.coded_bags import CodedBags, as_words
from milopt.bag_kernels.exact import as_grid_points
from milopt.bag_kernels.pair_counts import CountingSettings, count_pairs

Points = list[tuple[int, ...]]
EXACT = 10**9


@st.composite
def grids(draw, most_points: int = 4, most: int = 3, dimensions: int = 3):
    """Draw (P, Q, s): two sets of points on one grid."""
    s = tuple(draw(st.lists(st.integers(0, most), min_size=1, max_size=dimensions)))
    point = st.tuples(*(st.integers(0, size) for size in s))
    P, Q = (as_grid_points(draw(st.lists(point, min_size=1, max_size=most_points))) for _ in range(2))
    return P, Q, s


def count_pair(
    P: Points,
    Q: Points,
    s,
    exact_below: int | None = EXACT,
    rule="guaranteed",
    epsilon=0.1,
    delta=0.01,
    seed=0,
    words=(1, 2),
):
    """Return (log count, draws, log |U|) of one pair by compiled code."""
    bags = CodedBags(tuple(np.array(bag, dtype=np.int32) for bag in (P, Q)), as_words(words))
    pair = np.array([[0, 0 if P is Q else 1]])
    how = CountingSettings(epsilon, delta, exact_below, rule, seed)
    return count_pairs(bags, pair, np.array(s, dtype=np.int32), how, None)[0]
