"""Maximisers of the dual of one proximal step, group by group.

    max_{a >= 0}  a'v - h*(sum a) - |a - a0|^2 / (2 sigma)   is attained at   a = [u - l]_+,   u = a0 + sigma v,

where l = 0 if sum [u]_+ <= c, and otherwise l solves  sum [u - l]_+ = c + kappa l  with kappa = k / sigma. The level l
is found by Michelot's method: compute l for the rows above the last level, and repeat until no row is dropped.
`reference_projection` is plain numpy, `compiled_projection` the same algorithm compiled by numba, which is imported
only if there are many rows.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector

MIN_COMPILED_ROWS = 2000
"""Number of rows from which the compiled function saves more time than loading numba takes."""


def project(u: Vector, starts: Index, cap: Vector, kappa: Vector) -> tuple[Vector, Vector]:
    """Return a = [u - l]_+ and the level l of each group (see the module docstring)."""
    if u.size < MIN_COMPILED_ROWS:
        return reference_projection(u, starts, cap, kappa)
    from milopt.solvers.native.margin_newton.compiled_projection import compiled_projection

    return compiled_projection(u, starts, cap, kappa)


def reference_projection(u: Vector, starts: Index, cap: Vector, kappa: Vector) -> tuple[Vector, Vector]:
    """Return the result of `project`, computed in plain numpy."""
    first, group = starts[:-1], np.repeat(np.arange(cap.size), np.diff(starts))
    active = u > 0
    exceeds = np.add.reduceat(np.where(active, u, 0.0), first) > cap
    while True:
        count = np.add.reduceat(active.astype(np.float64), first)
        total = np.add.reduceat(np.where(active, u, 0.0), first)
        level = np.where(exceeds, (total - cap) / np.maximum(count + kappa, 1e-300), 0.0)
        kept = active & (u > level[group])
        if np.array_equal(kept, active):
            return np.where(active, u - level[group], 0.0), level
        active = kept
