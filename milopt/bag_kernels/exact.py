"""Exact number of boxes that meet two sets of grid points, in integers of any size.

On the grid prod_k {0..s_k}, a box [l, u] has integer corners 0 <= l_k <= u_k <= s_k, and

    k(P, Q) = #{b : P cap b and Q cap b nonempty}.

A box contains a set S of points if l_k <= min_S x_k and u_k >= max_S x_k for all k. There are |B(S)| =
prod_k (min_S x_k + 1)(s_k - max_S x_k + 1) such boxes. There are four methods. Brute force and inclusion-exclusion are
references for few boxes or few points. `count_by_recursion` and `count_by_sweep` are the pure Python references of the
compiled code, which chooses the cheaper method for each pair of bags.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product
from math import comb, prod

import numpy as np
import numpy.typing as npt

from milopt.errors import ParameterError

GridPoint = tuple[int, ...]
GridPoints = Sequence[GridPoint]

MAX_ENUMERATED_BOXES = 10**6
"""Maximum number of boxes that brute force enumerates."""
MAX_SUBSETS = 2**20
"""Maximum number of subsets in an inclusion-exclusion sum."""


def as_grid_points(codes: npt.ArrayLike) -> list[GridPoint]:
    """Return the distinct rows of an integer array as sorted tuples."""
    return sorted({tuple(int(v) for v in row) for row in np.asarray(codes).tolist()})


def number_of_boxes(s: GridPoint) -> int:
    """Return prod_k C(s_k + 2, 2), the number of boxes of the grid."""
    return prod(comb(size + 2, 2) for size in s)


def all_boxes(s: GridPoint) -> Iterable[tuple[GridPoint, GridPoint]]:
    """Yield the corners (l, u) of every box of the grid."""
    sides = [[(low, high) for low in range(size + 1) for high in range(low, size + 1)] for size in s]
    for box in product(*sides):
        yield tuple(low for low, _ in box), tuple(high for _, high in box)


def box_meets(points: Iterable[GridPoint], low: GridPoint, high: GridPoint) -> bool:
    """Return True if the box [low, high] contains at least one of the points."""
    return any(all(a <= v <= b for a, v, b in zip(low, point, high, strict=True)) for point in points)


def count_boxes_containing(points: GridPoints, s: GridPoint) -> int:
    """Return the number of boxes that contain all of the points."""
    return prod(
        (min(values) + 1) * (size - max(values) + 1) for size, values in zip(s, zip(*points, strict=True), strict=True)
    )


def count_by_brute_force(P: GridPoints, Q: GridPoints, s: GridPoint) -> int:
    """Return k(P, Q) by enumerating all boxes: the reference of all other methods."""
    if number_of_boxes(s) > MAX_ENUMERATED_BOXES:
        raise ParameterError(
            f"The grid has {number_of_boxes(s)} boxes, and brute force lists at most {MAX_ENUMERATED_BOXES}."
        )
    return sum(1 for low, high in all_boxes(s) if box_meets(P, low, high) and box_meets(Q, low, high))


def count_by_inclusion_exclusion(P: GridPoints, Q: GridPoints, s: GridPoint) -> int:
    """Return k(P, Q) = M(P) + M(Q) - M(P u Q), where M(S) is the number of boxes that meet the set S of points."""
    return _count_boxes_meeting(P, s) + _count_boxes_meeting(Q, s) - _count_boxes_meeting(sorted({*P, *Q}), s)


def _count_boxes_meeting(points: GridPoints, s: GridPoint) -> int:
    """Return the number of boxes that meet a set of points, by inclusion-exclusion over its nonempty subsets."""
    if 2 ** len(points) > MAX_SUBSETS:
        raise ParameterError(f"Inclusion-exclusion over {len(points)} points has more than {MAX_SUBSETS} terms.")
    subsets = chain.from_iterable(combinations(points, size) for size in range(1, len(points) + 1))
    return sum((-1) ** (len(some) + 1) * count_boxes_containing(some, s) for some in subsets)


def count_by_sweep(P: GridPoints, Q: GridPoints, s: GridPoint) -> int:
    """Return k(P, Q), coordinate by coordinate: group the intervals by the lowest and highest point value in them.

    Let v_1 < v_2 < ... be the distinct values of the points. There are (v_i - v_{i-1})(v_{j+1} - v_j) intervals whose
    lowest value is v_i and whose highest value is v_j, with -1 before the first value and s + 1 after the last value.
    """
    if not P or not Q:
        return 0
    if not s:
        return 1
    values = sorted({point[0] for point in chain(P, Q)})
    around = [-1, *values, s[0] + 1]
    total = 0
    for i, low in enumerate(values):
        for j in range(i, len(values)):
            ways = (around[i + 1] - around[i]) * (around[j + 2] - around[j + 1])
            inside = [[point[1:] for point in bag if low <= point[0] <= values[j]] for bag in (P, Q)]
            total += ways * count_by_sweep(inside[0], inside[1], s[1:])
    return total


def count_by_recursion(P: GridPoints, Q: GridPoints, s: GridPoint) -> int:
    """Return k(P, Q) by a recursion over pairs of points.

    |B(S)| is the number of boxes that contain all points of the set S. U(S, X) is the number of these boxes that also
    contain at least one point of X = {x_r}. The sign u is the union of sets. Each pair (p_i, q_j) adds the boxes that
    contain p_i and q_j but no earlier point of P or Q:

        k = sum_{i, j} ( |B({p_i, q_j})| - U({p_i, q_j}, {p_1..p_{i-1}} u {q_1..q_{j-1}}) ),
        U(S, X) = sum_r ( |B(S u {x_r})| - U(S u {x_r}, {x_1..x_{r-1}}) ).
    """
    return sum(
        count_boxes_containing((p, q), s) - _count_union((p, q), [*P[:i], *Q[:j]], s)
        for i, p in enumerate(P)
        for j, q in enumerate(Q)
    )


def _count_union(base: GridPoints, others: GridPoints, s: GridPoint) -> int:
    """Return U(S, X) of `count_by_recursion` for S = `base` and X = `others`."""
    low, high = (tuple(side(values) for values in zip(*base, strict=True)) for side in (min, max))
    if box_meets(others, low, high):
        return count_boxes_containing(base, s)
    return sum(
        count_boxes_containing((*base, x), s) - _count_union((*base, x), list(others[:r]), s)
        for r, x in enumerate(others)
    )
