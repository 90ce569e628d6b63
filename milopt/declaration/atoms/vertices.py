"""The largest value of a convex atom over a box, which it has at a vertex of the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.segments import Segments

if TYPE_CHECKING:
    from milopt.declaration.atoms.atom import Atom

MOST_OPEN_ENTRIES = 10
"""Entries per run in which an atom may be neither increasing nor decreasing: its vertices are tried one by one."""


def largest_at_vertices(atom: Atom, low: Vector, high: Vector, at: Segments) -> Vector:
    """Return the largest value of each run if low <= e <= high; inf if it is not known."""
    direction = atom.monotone(low, high, at)
    is_open = direction == 0
    before = np.cumsum(is_open) - is_open
    # The number of each open entry within its run.
    rank = before - before[np.minimum(at.offsets[:-1], max(at.total - 1, 0))][at.of] if at.total else before
    count = int(rank[is_open].max(initial=-1)) + 1
    if count > MOST_OPEN_ENTRIES:
        return np.full(at.count, np.inf)
    largest = np.full(at.count, -np.inf)
    base = np.where(direction > 0, high, low)
    with np.errstate(all="ignore"):
        for vertex in range(2**count):
            e = np.where(is_open & (vertex >> rank & 1 == 1), high, base)
            value = atom.value(e, at)
            largest = np.maximum(largest, np.where(np.isnan(value), np.inf, value))
    return largest
