"""Distances of the rows of a program in standard form from their cones."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.standard_form import StandardForm
from milopt.cones.cone import factor_starts


def violations(form: StandardForm, rows: Vector) -> Vector:
    """Return one violation per row, given `rows`, the values of F x + g.

    The violation of the first row of each cone is the distance of the rows from the cone, as `Cone.distance` returns
    it (an upper bound). The violation of the other rows of the cone is 0.
    """
    distances = np.zeros(form.m)
    for block in form.rows:
        sizes = block.cone_sizes
        distances[block.start + factor_starts(sizes)] = block.cone.distance(rows[block.start : block.stop], sizes)
    return distances
