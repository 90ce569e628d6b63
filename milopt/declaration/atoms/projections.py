"""Projections onto the sets of slopes that minorants of polyhedral atoms may have, run by run."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.declaration.atoms.segments import Segments

BISECTION_STEPS = 54
"""Halvings of an interval of length 1 until its ends are equal in double precision."""
SOLVER_ERROR = 1e-9
"""Distance from a simplex up to which a point lies in it but for the error of a solver."""


def sorted_downwards(values: Vector, at: Segments) -> Index:
    """Return the order of the entries in which every run is sorted downwards; equal entries keep their order."""
    return np.lexsort((-values, at.of)).astype(np.intp)


def ranks(at: Segments) -> Index:
    """Return the position of each entry in its run, from 0."""
    return np.arange(at.total) - at.offsets[:-1][at.of]


def onto_simplex(g: Vector, at: Segments) -> Vector:
    """Return the point nearest to g whose runs are non-negative and add up to 1.

    A run that is almost such a point is clipped and divided by its sum instead, so that entries that are 0 stay 0.
    """
    kept = np.maximum(g, 0.0)
    total = at.sum(kept)
    is_near = (np.abs(total - 1.0) <= SOLVER_ERROR) & (at.sum(kept - g) <= SOLVER_ERROR)
    scaled = kept / np.where(is_near, total, 1.0)[at.of]
    return scaled if is_near.all() else np.where(is_near[at.of], scaled, _projected(g, at))


def _projected(g: Vector, at: Segments) -> Vector:
    # The result does not change if a run is shifted. Entries that are 1 below the largest become 0 in any case, so that
    # after clipping no large numbers cancel.
    shifted = np.maximum(g - at.max(g)[at.of], -1.0)
    order = sorted_downwards(shifted, at)
    downwards = shifted[order]
    before = np.cumsum(downwards)
    starts = at.offsets[:-1]
    inside = before - (before[starts] - downwards[starts])[at.of]
    # Of the sorted entries, as many stay positive as exceed the shift that makes them add up to 1.
    shift = (inside - 1.0) / (ranks(at) + 1)
    last = at.sum((downwards > shift).astype(np.float64)).astype(np.intp) + starts - 1
    clipped = np.maximum(shifted - shift[last][at.of], 0.0)
    return np.asarray(clipped / at.sum(clipped)[at.of])


def onto_capped_simplex(g: Vector, at: Segments, totals: Index) -> Vector:
    """Return the point nearest to g with entries between 0 and 1 whose runs add up to `totals`, at most their sizes."""
    # The point is clip(g - shift, 0, 1). The shift is at most 1 below the entry of rank `totals`.
    pivot = g[sorted_downwards(g, at)[at.offsets[:-1] + totals - 1]]
    shifted = np.clip(g - pivot[at.of], -1.0, 1.0)
    low, high = np.full(at.count, -1.0), np.zeros(at.count)
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        enough = at.sum(np.clip(shifted - middle[at.of], 0.0, 1.0)) >= totals
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.asarray(np.clip(shifted - low[at.of], 0.0, 1.0))


def onto_norm1_ball(g: Vector, at: Segments) -> Vector:
    """Return the point nearest to g whose runs have absolute values that add up to at most 1."""
    size = np.abs(g)
    is_inside = at.sum(size) <= 1.0
    return np.where(is_inside[at.of], g, np.sign(g) * onto_simplex(size, at))
