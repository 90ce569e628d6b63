"""The largest <x, w> of a bag for a direction w that moves a little at a time, most instances passed over unseen.

Since  <x, w> <= <x, v> + ||x|| ||w - v||,  what an instance was worth when it was last seen, and how far the direction
has travelled since, bound what it is worth now: below the largest found so far, it need not be looked at. The result is
that of looking at all. Compiled by numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Index, Matrix, Vector
from milopt.compiled import njit, njit_inner
from milopt.solvers.native.hilbert_ball.corral import dot

FAR = 100.0
"""Beyond this much travel, rounding in the ceilings begins to show: they are made anew."""
ROUNDING = 1e-14
"""By how much of the length of x, times that of w, a ceiling is raised for the rounding in it."""


class Ceilings(NamedTuple):
    """What each instance can be worth, and where the direction was last."""

    ceiling: Vector
    """Per instance, <x, w> when it was last seen less ||x|| times what had been travelled by then."""
    length: Vector
    """Per instance, at least ||x||."""
    leader: Index
    """Per bag, its last largest instance."""
    before: Vector
    travelled: Vector

    @classmethod
    def unknown(cls, lengths: Vector, offsets: Index, dimension: int) -> Ceilings:
        """Nothing has been seen."""
        ceiling = np.full(lengths.size, np.inf)
        return cls(ceiling, lengths, offsets[:-1].copy(), np.zeros(dimension), np.zeros(1))

    def widened(self, dimension: int) -> Ceilings:
        """The same in a space of more dimensions."""
        return self._replace(before=np.concatenate([self.before, np.zeros(dimension - self.before.size)]))


@njit_inner
def move(k: Ceilings, w: Vector, n: int) -> None:
    """The direction is w now, of which the first n entries are not 0."""
    total = 0.0
    for i in range(k.before.size):
        now = w[i] if i < n else 0.0
        total += (now - k.before[i]) ** 2
        k.before[i] = now
    k.travelled[0] += np.sqrt(total)
    if k.travelled[0] > FAR:
        k.travelled[0] = 0.0
        for x in range(k.ceiling.size):
            k.ceiling[x] = np.inf


@njit_inner
def largest(k: Ceilings, table: Matrix, n: int, offsets: Index, bag: int, w: Vector) -> tuple[int, float]:
    """(the first instance with the largest <x, w>, that value) of a bag, after `move` to w."""
    travelled, slack = k.travelled[0], ROUNDING * np.sqrt(dot(w, w, n))
    place = k.leader[bag]
    top = dot(table[place], w, n)
    for x in range(offsets[bag], offsets[bag + 1]):
        if k.ceiling[x] + k.length[x] * (travelled + slack) >= top:
            value = dot(table[x], w, n)
            k.ceiling[x] = value - k.length[x] * travelled
            if value > top or (value == top and x < place):
                place, top = x, value
    k.leader[bag] = place
    return place, top


@njit
def maxima(k: Ceilings, table: Matrix, n: int, offsets: Index, bags: Index, w: Vector) -> tuple[Index, Vector]:
    """`largest` of some bags."""
    move(k, w, n)
    place, top = np.zeros(bags.size, dtype=np.intp), np.zeros(bags.size)
    for i in range(bags.size):
        place[i], top[i] = largest(k, table, n, offsets, bags[i], w)
    return place, top
