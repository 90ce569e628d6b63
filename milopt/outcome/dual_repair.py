"""Move multipliers to where the gradient of the Lagrangian vanishes, so that their dual value is a bound.

For a residual r = P x + q - A'z on the columns that no bound takes, the smallest step d, row by row relative to the
multiplier that a row has, with  A_free'd = r  and  z + d >= 0  on inequalities:

    min sum_i d_i^2 / w_i^2   s.t.  A_free'd = r,    w_i = |z_i| + a little of the largest

Rows in other cones keep their multipliers.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.declaration.programs.sparse import taken, transposed

MOST_COLUMNS = 1000
"""Columns with a residual up to which a repair is tried: it solves a dense system of that size."""
ROUNDS = 4
"""Steps that are tried: where one ends at z = 0, the next spares that row."""
LITTLE = 1e-3
"""Share of the largest multiplier that is added to every weight; it is divided by the fourth root of 1 + the slack.

A row with much slack costs much in the bound, so it should be the last to get a multiplier. The exponent is small so
that the squared weights of all rows stay within the digits of one linear system.
"""


def repaired(form: EvaluationForm, rows: Vector, z: Vector, left: Vector) -> Vector | None:
    """Return multipliers near z for which the residual `left` vanishes as far as possible; None if none are sought."""
    columns = np.flatnonzero((np.isinf(form.lower) & np.isinf(form.upper)) | (left != 0))
    movable = np.flatnonzero(form.equality | form.inequality)
    if not left.any() or columns.size > MOST_COLUMNS or not movable.size:
        return None
    pulls = sp.csr_array(taken(transposed(form.rows.A).tocsr(), columns)[:, movable])
    signed = form.inequality[movable]
    slack, moved, rest = np.abs(rows[movable]), z[movable], left[columns]
    for _ in range(ROUNDS):
        step = _step(pulls, moved, slack, rest)
        if step is None:
            return None
        stepped = np.where(signed, np.maximum(moved + step, 0.0), moved + step)
        rest, moved = rest - pulls @ (stepped - moved), stepped
        if not rest.any():
            break
    result = z.copy()
    result[movable] = moved
    return result


def _step(pulls: sp.csr_array, z: Vector, slack: Vector, left: Vector) -> Vector | None:
    """Return the smallest weighted step that takes away `left`; None if numbers overflow."""
    held = np.abs(z)
    largest = max(float(held.max(initial=0.0)), float(np.abs(left).max()))
    weight = held + LITTLE * largest / (1.0 + slack) ** 0.25
    scaled = sp.csr_array(pulls.multiply(weight[None, :]))
    normal = np.asarray((scaled @ scaled.T).toarray())
    if not np.isfinite(normal).all() or not np.isfinite(left).all():
        return None
    return np.asarray(weight * (scaled.T @ np.linalg.lstsq(normal, left, rcond=1e-14)[0]))
