"""Repair of multipliers, so that the gradient of the Lagrangian vanishes and their dual value is a proved bound.

Let r = P x + q - A'z be the residual on the columns, without reduced costs of finite bounds. The repair is the smallest
step d, relative to the present multipliers, with  A_free'd = r  and  z + d >= 0  on inequalities:

    min sum_i d_i^2 / w_i^2   s.t.  A_free'd = r,    w_i = |z_i| + a small share of the largest multiplier

A_free are the columns of A that have no finite bound or have a residual, restricted to equalities and inequalities.
Multipliers of rows in other cones are not changed.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.declaration.programs.sparse import take_rows, transpose

MAX_REPAIRED_COLUMNS = 1000
"""Largest number of columns of A_free for which a repair, which solves a dense system of this size, is attempted."""
MAX_REPAIR_STEPS = 4
"""Maximum number of steps. A step ends at z_i = 0 where it would end below 0, so further steps may be needed."""
MULTIPLIER_WEIGHT_OFFSET = 1e-3
"""Share of the largest multiplier that is added to every weight.

It is divided by the fourth root of 1 + the slack of the row. A multiplier on a row with a large slack worsens the
bound, so such a row should be the last to get one. The exponent is small so that the squared weights of all rows fit
into the digits of one linear system.
"""


def repair_multipliers(form: EvaluationForm, rows: Vector, z: Vector, residual: Vector) -> Vector | None:
    """Return multipliers near z for which the residual vanishes as far as possible.

    `rows`: values of the rows at the point, which are their slacks; `residual`: r of the module docstring. Return None
    if the residual is 0, if A_free has more than `MAX_REPAIRED_COLUMNS` columns, if there is no multiplier that may
    change, or if numbers overflow.
    """
    columns = np.flatnonzero((np.isinf(form.lower) & np.isinf(form.upper)) | (residual != 0))
    movable = np.flatnonzero(form.is_equality | form.is_inequality)
    if not residual.any() or columns.size > MAX_REPAIRED_COLUMNS or not movable.size:
        return None
    free_columns = sp.csr_array(take_rows(transpose(form.rows.A).tocsr(), columns)[:, movable])
    signed = form.is_inequality[movable]
    slack, moved, rest = np.abs(rows[movable]), z[movable], residual[columns]
    for _ in range(MAX_REPAIR_STEPS):
        step = _repair_step(free_columns, moved, slack, rest)
        if step is None:
            return None
        stepped = np.where(signed, np.maximum(moved + step, 0.0), moved + step)
        rest, moved = rest - free_columns @ (stepped - moved), stepped
        if not rest.any():
            break
    result = z.copy()
    result[movable] = moved
    return result


def _repair_step(free_columns: sp.csr_array, z: Vector, slack: Vector, residual: Vector) -> Vector | None:
    """Return the step d of z with the smallest weighted norm that removes the residual; None if numbers overflow.

    `free_columns` is A_free' of the module docstring, and `slack` the absolute value of each row.
    """
    magnitudes = np.abs(z)
    largest = max(float(magnitudes.max(initial=0.0)), float(np.abs(residual).max()))
    weight = magnitudes + MULTIPLIER_WEIGHT_OFFSET * largest / (1.0 + slack) ** 0.25
    scaled = sp.csr_array(free_columns.multiply(weight[None, :]))
    normal = np.asarray((scaled @ scaled.T).toarray())
    if not np.isfinite(normal).all() or not np.isfinite(residual).all():
        return None
    return np.asarray(weight * (scaled.T @ np.linalg.lstsq(normal, residual, rcond=1e-14)[0]))
