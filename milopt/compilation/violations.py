"""How far rows of a flat program lie outside their cones."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.standard_form import StandardForm
from milopt.cones.cone import factor_starts


def violations(form: StandardForm, rows: Vector) -> Vector:
    """Return the violation of each row at the values `rows`; the first row of a cone has the distance to the cone."""
    wrong = np.zeros(form.m)
    for block in form.rows:
        sizes = block.cone_sizes
        wrong[block.start + factor_starts(sizes)] = block.cone.distance(rows[block.start : block.stop], sizes)
    return wrong
