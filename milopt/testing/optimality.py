"""Optimality conditions of a program in standard form at a solver's answer; violations are described in words.

For  min 1/2 x'Px + q'x  s.t.  F x + g in K,  lower <= x <= upper  with multipliers z (see `StandardForm`):

    rows and bounds       F x + g in K,  lower <= x <= upper,  integer columns have integer values
    multipliers           z in K*,  and  r = P x + q - F'z  is >= 0 if only the lower bound is finite, <= 0 if only the
                          upper bound is finite, and 0 for free columns
    complementarity       z'(F x + g) = 0,  and r is 0 strictly between the bounds
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.standard_form import StandardForm

MAX_KKT_RESIDUAL = 1e-3
"""Relative residual above which an answer counts as wrong. This is far above the tolerances of all solvers."""


def describe_primal_violation(form: StandardForm, x: Vector) -> str:
    """Describe how a point violates bounds, integrality or rows; return "" if it violates none of them."""
    if x.shape != (form.n,):
        return f"its point has the shape {x.shape}, and the program has {form.n} columns"
    if not np.isfinite(x).all():
        return "its point has entries that are not finite"
    size = 1.0 + np.abs(x).max(initial=0.0)
    outside = np.maximum(form.lower - x, x - form.upper)
    if (outside > MAX_KKT_RESIDUAL * size).any():
        column = int(outside.argmax())
        bounds = f"{form.lower[column]:g} to {form.upper[column]:g}"
        return f"its point has {form.column_names()[column]} = {x[column]:.6g}, whose bounds are {bounds}"
    off = np.where(form.integer, np.abs(x - np.round(x)), 0.0)
    if (off > MAX_KKT_RESIDUAL).any():
        column = int(off.argmax())
        return f"its point has {form.column_names()[column]} = {x[column]:.6g}, which must be an integer"
    s = form.F @ x + form.g
    scale = 1.0 + max(np.abs(form.g).max(initial=0.0), np.abs(form.F @ x).max(initial=0.0))
    for block in form.rows:
        distance = block.cone.distance(s[block.start : block.stop], block.cone_sizes)
        if (distance > MAX_KKT_RESIDUAL * scale).any():
            return f"its point violates the {block.cone.display_name} of {block.name!r} by {distance.max():.3g}"
    return ""


def describe_dual_violation(form: StandardForm, x: Vector, z: Vector) -> str:
    """Describe how multipliers z violate the optimality conditions at a feasible point x; return "" if they do not.

    If -z satisfies the optimality conditions, the text states that the sign is wrong.
    """
    if z.shape != (form.m,):
        return f"its multipliers have the shape {z.shape}, and the program has {form.m} rows"
    if not np.isfinite(z).all():
        return "its multipliers have entries that are not finite"
    fault = _first_dual_violation(form, x, z)
    if fault and z.any() and not _first_dual_violation(form, x, -z):
        rule = "P x + q = F'z + reduced costs, with z in the dual cone (z >= 0 for rows F x + g >= 0)"
        return f"its multipliers have the opposite sign of milopt's: {rule}"
    return fault


def _first_dual_violation(form: StandardForm, x: Vector, z: Vector) -> str:
    """Describe the first optimality condition that the multipliers z violate at x; return "" if there is none."""
    size = 1.0 + np.abs(z).max(initial=0.0)
    for block in form.rows:
        distance = block.cone.dual_distance(z[block.start : block.stop], block.cone_sizes)
        if (distance > MAX_KKT_RESIDUAL * size).any():
            return f"its multipliers of {block.name!r} are outside the dual cone by {distance.max():.3g}"
    curved = form.P.sparse @ x
    reduced = curved + form.q - form.F.T @ z
    costs = 1.0 + np.abs(form.q).max(initial=0.0) + np.abs(curved).max(initial=0.0)
    near = MAX_KKT_RESIDUAL * (1.0 + np.abs(x).max(initial=0.0))
    down = np.where(x - form.lower > near, np.maximum(reduced, 0.0), 0.0)
    up = np.where(form.upper - x > near, np.maximum(-reduced, 0.0), 0.0)
    wrong = np.maximum(down, up)
    if (wrong > MAX_KKT_RESIDUAL * costs).any():
        column = form.column_names()[int(wrong.argmax())]
        return f"P x + q - F'z is {reduced[int(wrong.argmax())]:.3g} in the column {column}, which is not at a bound"
    s = form.F @ x + form.g
    gap = abs(float(z @ s))
    if gap > MAX_KKT_RESIDUAL * (1.0 + abs(form.value(x))) * costs:
        return f"its multipliers are not complementary to the rows: z'(F x + g) is {gap:.3g}, not 0"
    return ""
