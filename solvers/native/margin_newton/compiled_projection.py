"""`reference_projection` of `group_projection`, compiled by numba."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.jit import njit
from milopt.solvers.native.margin_newton.group_projection import GroupLayout


@njit
def _project(u: Vector, group_starts: Index, cap: Vector, kappa: Vector, a: Vector, level: Vector) -> None:
    """Write the level l of each group into `level`, and a = [u - l]_+ into `a`.

    l is 0 if the sum of [u]_+ over the group is at most `cap`; otherwise, l solves  sum [u - l]_+ = cap + kappa l.
    """
    for g in range(cap.size):
        begin, end = group_starts[g], group_starts[g + 1]
        total = 0.0
        for r in range(begin, end):
            if u[r] > 0.0:
                total += u[r]
        bound = 0.0
        if total > cap[g]:
            above = end - begin + 1
            while True:
                count = above
                total = 0.0
                above = 0
                for r in range(begin, end):
                    if u[r] > bound:
                        total += u[r]
                        above += 1
                # The number of rows above the level decreases. Rounding errors must not let a row return.
                if above >= count or above == 0:
                    break
                bound = max(bound, (total - cap[g]) / (above + kappa[g]))
        level[g] = bound
        for r in range(begin, end):
            a[r] = u[r] - bound if u[r] > bound else 0.0


def compiled_projection(u: Vector, layout: GroupLayout, cap: Vector, kappa: Vector) -> tuple[Vector, Vector]:
    """Return the result of `group_projection.project`, computed by compiled code."""
    a, level = np.empty(u.size), np.empty(cap.size)
    _project(u, layout.group_starts, cap, kappa, a, level)
    return a, level
