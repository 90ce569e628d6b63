"""Euclidean projections of each run onto a simplex or a 1-norm ball, which contain the slopes of polyhedral atoms."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.declaration.atoms.segments import Segments

BISECTION_STEPS = 54
"""Number of bisection steps after which an interval of length 1 has shrunk to double precision."""
SIMPLEX_TOLERANCE = 1e-9
"""Largest |sum - 1|, and largest sum of negative parts, at which slopes of a solver count as a point of the simplex."""


def descending_order(values: Vector, runs: Segments) -> Index:
    """Return the indices that sort every run in descending order; equal entries keep their order."""
    return np.lexsort((-values, runs.run_of_entry)).astype(np.intp)


def positions_in_runs(runs: Segments) -> Index:
    """Return the position of each entry in its run, starting at 0."""
    return np.arange(runs.entry_count) - runs.offsets[:-1][runs.run_of_entry]


def project_onto_simplex(g: Vector, runs: Segments) -> Vector:
    """Project each run of g onto the simplex {h >= 0, sum h = 1}.

    A run that is in the simplex up to `SIMPLEX_TOLERANCE` is clipped at 0 and divided by its sum instead, so that zeros
    stay zeros.
    """
    clipped = np.maximum(g, 0.0)
    total = runs.sum(clipped)
    is_near = (np.abs(total - 1.0) <= SIMPLEX_TOLERANCE) & (runs.sum(clipped - g) <= SIMPLEX_TOLERANCE)
    scaled = clipped / np.where(is_near, total, 1.0)[runs.run_of_entry]
    return scaled if is_near.all() else np.where(is_near[runs.run_of_entry], scaled, _project_by_sorting(g, runs))


def _project_by_sorting(g: Vector, runs: Segments) -> Vector:
    """Project each run of g onto the simplex exactly, by sorting."""
    # Adding a constant to a run does not change its projection. Entries that are 1 or more below the largest one are
    # projected to 0 anyway, so they can be clipped, and no large numbers cancel.
    shifted = np.maximum(g - runs.max(g)[runs.run_of_entry], -1.0)
    order = descending_order(shifted, runs)
    descending = shifted[order]
    cumulative = np.cumsum(descending)
    starts = runs.offsets[:-1]
    partial_sums = cumulative - (cumulative[starts] - descending[starts])[runs.run_of_entry]
    # The projection is max(g - shift, 0). An entry of the sorted run stays positive if it exceeds the shift for which
    # it and the larger entries add up to 1.
    shift = (partial_sums - 1.0) / (positions_in_runs(runs) + 1)
    last = runs.sum((descending > shift).astype(np.float64)).astype(np.intp) + starts - 1
    clipped = np.maximum(shifted - shift[last][runs.run_of_entry], 0.0)
    return np.asarray(clipped / runs.sum(clipped)[runs.run_of_entry])


def project_onto_capped_simplex(g: Vector, runs: Segments, totals: Index) -> Vector:
    """Project each run of g onto {0 <= h <= 1, sum h = total}; the total of a run is between 1 and its size."""
    # The projection is clip(g - shift, 0, 1). With the pivot, the total-th largest entry of the run, the shift lies
    # between pivot - 1 and pivot.
    pivot = g[descending_order(g, runs)[runs.offsets[:-1] + totals - 1]]
    shifted = np.clip(g - pivot[runs.run_of_entry], -1.0, 1.0)
    low, high = np.full(runs.count, -1.0), np.zeros(runs.count)
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        enough = runs.sum(np.clip(shifted - middle[runs.run_of_entry], 0.0, 1.0)) >= totals
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.asarray(np.clip(shifted - low[runs.run_of_entry], 0.0, 1.0))


def project_onto_norm1_ball(g: Vector, runs: Segments) -> Vector:
    """Project each run of g onto the 1-norm ball {sum |h| <= 1}."""
    size = np.abs(g)
    is_inside = runs.sum(size) <= 1.0
    return np.where(is_inside[runs.run_of_entry], g, np.sign(g) * project_onto_simplex(size, runs))
