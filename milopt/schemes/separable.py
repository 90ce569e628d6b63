"""Solve programs whose columns are independent of each other: each column is a parabola over an interval.

    min  sum_j 1/2 w_j x_j^2 + q_j x_j + c   s.t.  a_i x_{j(i)} + g_i >= 0 (or = 0),   l <= x <= u

For most methods, such a program remains for the slacks when their function is fixed.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.lowering import Lowering
from milopt.compilation.separation import has_nonpolyhedral_cone, separate_squares
from milopt.declaration.programs.program import Program


def separable_optimum(program: Program, tolerance: float) -> tuple[float, dict[str, Vector]] | None:
    """Return the objective and the values by variable; None if the program is not separable or has no optimum.

    A program with integer variables, functions, non-polyhedral cones or negative curvature does not count as separable.
    `tolerance`: largest violation of a row without columns.
    """
    form = Lowering(program).form()
    if has_nonpolyhedral_cone(form) or form.integer.any() or form.spaces:
        return None
    parts = separate_squares(form, np.arange(form.rows.count))
    counts = np.diff(parts.rows.A.indptr)
    if parts.n > form.n or counts.max(initial=0) > 1 or any(group.inverse.ndim == 2 for group in parts.groups):
        return None
    empty = parts.rows.g[counts == 0]
    if (empty < -tolerance).any() or (np.abs(empty[parts.equality[counts == 0]]) > tolerance).any():
        return None
    column, entry = parts.rows.A.indices, parts.rows.A.data
    if not entry.all():
        return None
    at = -parts.rows.g[counts == 1] / entry
    equality = parts.equality[counts == 1]
    lower, upper = parts.lower.copy(), parts.upper.copy()
    below, above = (entry > 0) | equality, (entry < 0) | equality
    np.maximum.at(lower, column[below], at[below])
    np.minimum.at(upper, column[above], at[above])
    curvature = np.zeros(parts.n)
    for group in parts.groups:
        curvature[group.columns] = 1.0 / group.inverse
    if (lower > upper).any() or (curvature < 0).any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.where(curvature > 0, -parts.q / curvature, np.where(parts.q > 0, -np.inf, np.inf))
    # A column that does not occur in the objective gets the feasible value that is nearest to 0.
    x = np.clip(np.where((curvature == 0) & (parts.q == 0), 0.0, lowest), lower, upper)
    if not np.isfinite(x).all():
        return None
    value = 0.5 * float(curvature @ x**2) + float(parts.q @ x) + parts.constant
    values = {block.name: x[block.start : block.stop] for block in form.columns}
    return -value if program.maximizes else value, {
        name: values[name].reshape(variable.shape) for name, variable in program.variables.items()
    }
