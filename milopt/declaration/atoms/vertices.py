"""Largest value of a convex atom over a box, which is attained at a vertex of the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.segments import Segments

if TYPE_CHECKING:
    from milopt.declaration.atoms.atom import Atom

MAX_NON_MONOTONE_ENTRIES = 10
"""Largest number of entries per run in which the atom may be neither increasing nor decreasing.

For n such entries, all 2^n vertices are evaluated.
"""


def max_over_vertices(atom: Atom, low: Vector, high: Vector, runs: Segments) -> Vector:
    """Return the largest value of each run for low <= e <= high; inf for all runs if one run has too many open entries.

    An entry is open if the atom is not known to be increasing or decreasing in it; a run may have
    MAX_NON_MONOTONE_ENTRIES of them. In all other entries, the largest value is attained at a known bound. A value of
    NaN counts as inf.
    """
    direction = atom.monotone(low, high, runs)
    is_open = direction == 0
    before = np.cumsum(is_open) - is_open
    # Position of each open entry among the open entries of its run.
    rank = (
        before - before[np.minimum(runs.offsets[:-1], max(runs.entry_count - 1, 0))][runs.run_of_entry]
        if runs.entry_count
        else before
    )
    count = int(rank[is_open].max(initial=-1)) + 1
    if count > MAX_NON_MONOTONE_ENTRIES:
        return np.full(runs.count, np.inf)
    largest = np.full(runs.count, -np.inf)
    base = np.where(direction > 0, high, low)
    with np.errstate(all="ignore"):
        for vertex in range(2**count):
            e = np.where(is_open & (vertex >> rank & 1 == 1), high, base)
            value = atom.value(e, runs)
            largest = np.maximum(largest, np.where(np.isnan(value), np.inf, value))
    return largest
