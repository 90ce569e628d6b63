"""How many boxes meet two sets of grid points, exactly, in whole numbers of any size.

On the grid prod_k {0..s_k} a box [l, u] has whole corners 0 <= l_k <= u_k <= s_k, and

    k(P, Q) = #{b : P cap b and Q cap b nonempty}.

Boxes that contain a set S of points are those with l_k <= min_S and u_k >= max_S: prod_k (min_S + 1)(s_k - max_S + 1).
Four ways to count: brute force and inclusion-exclusion are oracles for few boxes or few points, `hypervolume` and
`sweep` the plain references that tests compare compiled code with, which chooses between these by cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product
from math import comb, prod

import numpy as np
import numpy.typing as npt

from milopt.errors import ParameterError

Point = tuple[int, ...]
Points = Sequence[Point]

MOST_BOXES = 10**6
"""Boxes that brute force lists."""
MOST_SUBSETS = 2**20
"""Subsets that inclusion-exclusion adds up."""


def as_points(codes: npt.ArrayLike) -> list[Point]:
    """The different rows of an array of whole numbers, in order."""
    return sorted({tuple(int(v) for v in row) for row in np.asarray(codes).tolist()})


def number_of_boxes(s: Point) -> int:
    """prod_k C(s_k + 2, 2)."""
    return prod(comb(size + 2, 2) for size in s)


def all_boxes(s: Point) -> Iterable[tuple[Point, Point]]:
    """Every (l, u)."""
    sides = [[(low, high) for low in range(size + 1) for high in range(low, size + 1)] for size in s]
    for box in product(*sides):
        yield tuple(low for low, _ in box), tuple(high for _, high in box)


def meets(points: Iterable[Point], low: Point, high: Point) -> bool:
    """Whether a box holds one of the points."""
    return any(all(a <= v <= b for a, v, b in zip(low, point, high, strict=True)) for point in points)


def containing(points: Points, s: Point) -> int:
    """How many boxes hold all of the points."""
    return prod(
        (min(values) + 1) * (size - max(values) + 1) for size, values in zip(s, zip(*points, strict=True), strict=True)
    )


def brute_force(P: Points, Q: Points, s: Point) -> int:
    """Box by box; the oracle of all others."""
    if number_of_boxes(s) > MOST_BOXES:
        raise ParameterError(f"The grid has {number_of_boxes(s)} boxes, and brute force lists at most {MOST_BOXES}.")
    return sum(1 for low, high in all_boxes(s) if meets(P, low, high) and meets(Q, low, high))


def inclusion_exclusion(P: Points, Q: Points, s: Point) -> int:
    """|B(P)| + |B(Q)| - |B(P u Q)|, each an alternating sum over the subsets of its points."""
    return _met(P, s) + _met(Q, s) - _met(sorted({*P, *Q}), s)


def _met(points: Points, s: Point) -> int:
    if 2 ** len(points) > MOST_SUBSETS:
        raise ParameterError(f"Inclusion-exclusion over {len(points)} points has more than {MOST_SUBSETS} terms.")
    subsets = chain.from_iterable(combinations(points, size) for size in range(1, len(points) + 1))
    return sum((-1) ** (len(some) + 1) * containing(some, s) for some in subsets)


def sweep(P: Points, Q: Points, s: Point) -> int:
    """Dimension by dimension over the lowest and the highest value that an interval covers of those that occur.

    An interval whose lowest covered value is v_i and whose highest is v_j has (v_i - v_{i-1})(v_{j+1} - v_j) ways to
    lie, with v_0 = -1 before the first value and s + 1 after the last.
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
            total += ways * sweep(inside[0], inside[1], s[1:])
    return total


def hypervolume(P: Points, Q: Points, s: Point) -> int:
    """The union, over pairs, of the boxes that hold both: each pair adds those that no pair before it has.

    k = sum_{i, j} |B(p_i, q_j)| - U({p_i, q_j}, {p_1..p_{i-1}} u {q_1..q_{j-1}}),
    U(S, X) = sum_r |B(S u {x_r})| - U(S u {x_r}, {x_1..x_{r-1}}):  the boxes that hold S and one of X at least.
    """
    return sum(
        containing((p, q), s) - _union((p, q), [*P[:i], *Q[:j]], s) for i, p in enumerate(P) for j, q in enumerate(Q)
    )


def _union(base: Points, others: Points, s: Point) -> int:
    low, high = (tuple(side(values) for values in zip(*base, strict=True)) for side in (min, max))
    if meets(others, low, high):
        return containing(base, s)
    return sum(containing((*base, x), s) - _union((*base, x), list(others[:r]), s) for r, x in enumerate(others))
