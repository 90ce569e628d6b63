"""Search for the largest <x, w> in a bag while the direction w changes a little at a time.

Because  <x, w> <= <x, v> + ||x|| ||w - v||,  the value of an instance at its last evaluation and the distance that the
direction has moved since then bound its current value. Instances whose bound is below the largest value found so far
are skipped. The result is the same as with a full search. Compiled by numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Index, Matrix, Vector
from milopt.jit import njit, njit_inner
from milopt.solvers.native.hilbert_ball.face import dot

RESET_DISTANCE = 100.0
"""Total distance moved by the direction after which all bounds are reset, because rounding errors accumulate."""
RELATIVE_ROUNDING_ERROR = 1e-14
"""Fraction of ||x|| ||w|| by which a bound is raised to account for rounding errors."""


class InstanceBounds(NamedTuple):
    """Upper bounds on <x, w> for each instance x, and the current direction w."""

    upper: Vector
    """For each instance, <x, w> at its last evaluation minus ||x|| times the distance moved until then.

    Adding ||x|| times `distance` gives the upper bound on the current <x, w>.
    """
    length: Vector
    """Upper bound on ||x|| for each instance."""
    last_best: Index
    """Instance of each bag with the largest <x, w> at the last search, or its first instance before any search."""
    direction: Vector
    """Current direction w."""
    distance: Vector
    """Total distance that the direction has moved, as an array of length 1."""

    @classmethod
    def empty(cls, lengths: Vector, offsets: Index, dimension: int) -> InstanceBounds:
        """Return infinite bounds: no instance has been evaluated. `lengths` are the norms of the instances."""
        upper = np.full(lengths.size, np.inf)
        return cls(upper, lengths, offsets[:-1].copy(), np.zeros(dimension), np.zeros(1))

    def with_dimension(self, dimension: int) -> InstanceBounds:
        """Return the same bounds in a space of this larger dimension; the new entries of the direction are 0."""
        return self._replace(direction=np.concatenate([self.direction, np.zeros(dimension - self.direction.size)]))


@njit_inner
def set_direction(b: InstanceBounds, w: Vector, n: int) -> None:
    """Change the direction to w, of which only the first n entries are used; the others count as 0.

    The length of the change is added to `distance`. Above `RESET_DISTANCE`, `distance` becomes 0 and all bounds become
    infinite.
    """
    total = 0.0
    for i in range(b.direction.size):
        now = w[i] if i < n else 0.0
        total += (now - b.direction[i]) ** 2
        b.direction[i] = now
    b.distance[0] += np.sqrt(total)
    if b.distance[0] > RESET_DISTANCE:
        b.distance[0] = 0.0
        for x in range(b.upper.size):
            b.upper[x] = np.inf


@njit_inner
def largest_in_bag(b: InstanceBounds, table: Matrix, n: int, offsets: Index, bag: int, w: Vector) -> tuple[int, float]:
    """Return (x, <x, w>) for the first instance x of a bag with the largest <x, w>.

    Call `set_direction` with w first. `table` has one row of coordinates per instance, of which the first n are used.
    """
    distance, slack = b.distance[0], RELATIVE_ROUNDING_ERROR * np.sqrt(dot(w, w, n))
    best = b.last_best[bag]
    value_of_best = dot(table[best], w, n)
    for x in range(offsets[bag], offsets[bag + 1]):
        if b.upper[x] + b.length[x] * (distance + slack) >= value_of_best:
            value = dot(table[x], w, n)
            b.upper[x] = value - b.length[x] * distance
            if value > value_of_best or (value == value_of_best and x < best):
                best, value_of_best = x, value
    b.last_best[bag] = best
    return best, value_of_best


@njit
def bag_maxima(
    b: InstanceBounds, table: Matrix, n: int, offsets: Index, bags: Index, w: Vector
) -> tuple[Index, Vector]:
    """Change the direction to w; return (instances, values): the first maximiser of <x, w> in each bag, and <x, w>."""
    set_direction(b, w, n)
    best, value_of_best = np.zeros(bags.size, dtype=np.intp), np.zeros(bags.size)
    for i in range(bags.size):
        best[i], value_of_best[i] = largest_in_bag(b, table, n, offsets, bags[i], w)
    return best, value_of_best
