"""Maximisers of the dual of one proximal step, group by group.

    max_{a >= 0}  a'v - h*(sum a) - |a - a0|^2 / (2 sigma)   is attained at   a = [u - l]_+,   u = a0 + sigma v,

where l = 0 if sum [u]_+ <= c, and otherwise l solves  sum [u - l]_+ = c + kappa l  with kappa = k / sigma. l is called
the level of the group. The sums are over the rows of the group; a, v, h*, c (the cap) and k are those of
`margin_program`, a0 and sigma those of `proximal_step`.

For a group of one row, l = [u - c]_+ / (1 + kappa). For other groups, l is found by Michelot's method: compute l for
the rows above the last level, and repeat until no row is dropped. `reference_projection` is plain numpy.
`compiled_projection` is the same algorithm compiled by numba, which is imported only if there are many rows in groups
of several.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index, Vector

MIN_COMPILED_ROWS = 50_000
"""Number of rows in groups of several from which the compiled function saves more time than loading numba takes."""


@dataclass(frozen=True)
class GroupLayout:
    """Groups of consecutive rows, split into groups of one row and others."""

    group_starts: Index
    """First row of each group, and the number of rows."""
    single_groups: Index
    single_rows: Index
    """Row of each group of one row."""
    other_groups: Index
    other_rows: Index
    """Rows of the groups of several rows."""
    other_starts: Index
    """First of the rows of each of these groups in `other_rows`, and their number."""

    @classmethod
    def from_starts(cls, group_starts: Index) -> GroupLayout:
        """Return the layout of groups that begin at these rows."""
        sizes = np.diff(group_starts)
        single, other = np.flatnonzero(sizes == 1), np.flatnonzero(sizes != 1)
        rows = np.flatnonzero(np.repeat(sizes != 1, sizes))
        other_starts = np.concatenate([[0], np.cumsum(sizes[other])]).astype(np.intp)
        return cls(group_starts, single, group_starts[single], other, rows, other_starts)


def project(u: Vector, layout: GroupLayout, cap: Vector, kappa: Vector) -> tuple[Vector, Vector]:
    """Return a = [u - l]_+ and the level l of each group (see the module docstring)."""
    if layout.other_rows.size < MIN_COMPILED_ROWS:
        return reference_projection(u, layout, cap, kappa)
    from milopt.solvers.native.margin_newton.compiled_projection import compiled_projection

    return compiled_projection(u, layout, cap, kappa)


def reference_projection(u: Vector, layout: GroupLayout, cap: Vector, kappa: Vector) -> tuple[Vector, Vector]:
    """Return the result of `project`, computed in plain numpy."""
    level = np.zeros(cap.size)
    a = np.maximum(u, 0.0)
    g, r = layout.single_groups, layout.single_rows
    level[g] = np.maximum(a[r] - cap[g], 0.0) / (1.0 + kappa[g])
    a[r] -= level[g]
    if not layout.other_groups.size:
        return a, level
    g, r, first = layout.other_groups, layout.other_rows, layout.other_starts[:-1]
    exceeds = np.add.reduceat(a[r], first) > cap[g]
    # Only groups above their caps need a level.
    sizes = np.diff(layout.other_starts)[exceeds]
    if not sizes.size:
        return a, level
    g, r = g[exceeds], r[np.repeat(exceeds, np.diff(layout.other_starts))]
    first, group = np.concatenate([[0], np.cumsum(sizes)[:-1]]), np.repeat(np.arange(g.size), sizes)
    values, limit, slope = u[r], cap[g], kappa[g]
    active, bound = values > 0, np.zeros(g.size)
    while True:
        count = np.add.reduceat(active.astype(np.float64), first)
        total = np.add.reduceat(np.where(active, values, 0.0), first)
        # If a group has no row above its level, because of rounding errors, its level is final.
        bound = np.where(count > 0, np.maximum(bound, (total - limit) / np.maximum(count + slope, 1e-300)), bound)
        kept = active & (values > bound[group])
        if np.array_equal(kept, active):
            break
        active = kept
    level[g] = bound
    a[r] = np.where(active, values - bound[group], 0.0)
    return a, level
