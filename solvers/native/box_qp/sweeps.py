"""Cyclic coordinate descent for box QPs with  P = diag(d) + S'WS + N:  x_i <- clip(x_i - g_i / P_ii, l_i, u_i).

`s = W S x` and the sums t of N are carried along, so that the gradient  q_i + d_i x_i + v_i s[r_i] + u_i t[g_i]  is
read off, and a step costs one row of W.
`sweeps` is compiled by numba on first use and kept on disk; `reference_sweeps` is the same mathematics written plainly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from milopt.arrays import Index, Matrix, Vector
from milopt.solvers.native.box_qp.split import Split

Kernel = Callable[
    [Matrix, Vector, Index, Vector, Index, Vector, Vector, Vector, Vector, Vector, Vector, Vector, Vector, int], None
]


def sweeps(parts: Split, q: Vector, lower: Vector, upper: Vector, start: Vector, epochs: int) -> Vector:
    """`epochs` rounds over all coordinates from a point of the box; the objective never rises."""
    x = start.copy()
    # Matrices come writable or not, and numba compiles once for each kind: they all go in as the second.
    weight = parts.weight.view()
    weight.setflags(write=False)
    compiled()(
        weight,
        parts.diagonal,
        parts.row,
        parts.entry,
        parts.sums.group,
        parts.sums.entry,
        parts.curvature,
        q,
        lower,
        upper,
        x,
        parts.carried(x),
        parts.sums.carried(x),
        epochs,
    )
    return x


def reference_sweeps(parts: Split, q: Vector, lower: Vector, upper: Vector, start: Vector, epochs: int) -> Vector:
    """What `sweeps` computes, with the whole gradient taken afresh at every coordinate."""
    x = start.copy()
    curvature = parts.curvature
    for _ in range(epochs):
        for i in range(x.size):
            gradient = (parts.times(x) + q)[i]
            if curvature[i] > 0.0:
                x[i] = min(max(x[i] - gradient / curvature[i], lower[i]), upper[i])
            elif gradient > 0.0 and np.isfinite(lower[i]):
                x[i] = lower[i]
            elif gradient < 0.0 and np.isfinite(upper[i]):
                x[i] = upper[i]
    return x


@cache
def compiled() -> Kernel:
    """The kernel, compiled; from disk when it was compiled before and some cache directory could be written."""
    import numba

    try:
        kernel: Kernel = numba.njit(cache=True)(_kernel)
    except RuntimeError:
        # numba finds neither __pycache__ nor a user-wide cache writable: compile for this process only.
        kernel = numba.njit(_kernel)
    return kernel


def _kernel(
    weight: Matrix,
    diagonal: Vector,
    row: Index,
    entry: Vector,
    group: Index,
    part: Vector,
    curvature: Vector,
    q: Vector,
    lower: Vector,
    upper: Vector,
    x: Vector,
    carried: Vector,
    sums: Vector,
    epochs: int,
) -> None:
    for _ in range(epochs):
        for i in range(x.size):
            gradient = q[i] + diagonal[i] * x[i] + entry[i] * carried[row[i]] + part[i] * sums[group[i]]
            new = x[i]
            if curvature[i] > 0.0:
                new = min(max(x[i] - gradient / curvature[i], lower[i]), upper[i])
            elif gradient > 0.0 and lower[i] > -np.inf:
                new = lower[i]
            elif gradient < 0.0 and upper[i] < np.inf:
                new = upper[i]
            change = entry[i] * (new - x[i])
            sums[group[i]] += part[i] * (new - x[i])
            x[i] = new
            if change != 0.0:
                of = weight[row[i]]
                for j in range(carried.size):
                    carried[j] += change * of[j]
