"""Coordinate descent for box QPs with  P = diag(d) + S'WS + G:  x_i <- clip(x_i - (P x + q)_i / P_ii, l_i, u_i).

The coordinates are visited in cyclic order; d, S, W, G, v, r, u and g are those of `split`. `s = W S x` and the group
sums t_g = sum of u_i x_i over g_i = g are updated with x, so that the gradient  q_i + d_i x_i + v_i s[r_i] + u_i t[g_i]
costs O(1) and a step costs one row of W. `coordinate_descent` is compiled by numba on first use and cached on disk;
`reference_coordinate_descent` is the same algorithm in plain numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from milopt.arrays import Index, Matrix, Vector
from milopt.solvers.native.box_qp.split import QuadraticSplit

CoordinateDescentFunction = Callable[
    [Matrix, Vector, Index, Vector, Index, Vector, Vector, Vector, Vector, Vector, Vector, Vector, Vector, int], None
]


def coordinate_descent(
    parts: QuadraticSplit, q: Vector, lower: Vector, upper: Vector, start: Vector, epochs: int
) -> Vector:
    """Run `epochs` rounds over all coordinates from a point of the box, and return the last point.

    The objective never increases. If P_ii = 0, x_i moves to the bound that decreases the objective, if that is finite.
    """
    x = start.copy()
    # numba compiles separately for writable and read-only arrays: pass all matrices as read-only.
    weight = parts.weight.view()
    weight.setflags(write=False)
    compiled_coordinate_descent()(
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
        parts.weighted_selection(x),
        parts.sums.group_sums(x),
        epochs,
    )
    return x


def reference_coordinate_descent(
    parts: QuadraticSplit, q: Vector, lower: Vector, upper: Vector, start: Vector, epochs: int
) -> Vector:
    """Return the result of `coordinate_descent` up to rounding, with the full gradient computed at every coordinate."""
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
def compiled_coordinate_descent() -> CoordinateDescentFunction:
    """Return `_coordinate_descent` compiled by numba, loaded from the disk cache if possible."""
    import numba

    try:
        kernel: CoordinateDescentFunction = numba.njit(cache=True)(_coordinate_descent)
    except RuntimeError:
        # Neither __pycache__ nor the user-wide cache is writable: compile for this process only.
        kernel = numba.njit(_coordinate_descent)
    return kernel


def _coordinate_descent(
    weight: Matrix,
    diagonal: Vector,
    row: Index,
    entry: Vector,
    group: Index,
    sum_entry: Vector,
    curvature: Vector,
    q: Vector,
    lower: Vector,
    upper: Vector,
    x: Vector,
    weighted: Vector,
    group_sums: Vector,
    epochs: int,
) -> None:
    """Run coordinate descent in place on x, `weighted` = W S x, and `group_sums`, the values of the sums of G at x."""
    for _ in range(epochs):
        for i in range(x.size):
            gradient = q[i] + diagonal[i] * x[i] + entry[i] * weighted[row[i]] + sum_entry[i] * group_sums[group[i]]
            new = x[i]
            if curvature[i] > 0.0:
                new = min(max(x[i] - gradient / curvature[i], lower[i]), upper[i])
            elif gradient > 0.0 and lower[i] > -np.inf:
                new = lower[i]
            elif gradient < 0.0 and upper[i] < np.inf:
                new = upper[i]
            change = entry[i] * (new - x[i])
            group_sums[group[i]] += sum_entry[i] * (new - x[i])
            x[i] = new
            if change != 0.0:
                weight_row = weight[row[i]]
                for j in range(weighted.size):
                    weighted[j] += change * weight_row[j]
