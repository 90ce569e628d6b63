"""Distances of the rows of a program in standard form from their cones."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.standard_form import StandardForm
from milopt.cones.cone import factor_starts


def violations(form: StandardForm, rows: Vector) -> Vector:
    """Return the violation of each row, given the values `rows` of F x + g.

    The first row of each cone gets the distance to the cone (as bounded by `Cone.distance`), its other rows get 0.
    """
    distances = np.zeros(form.m)
    for block in form.rows:
        sizes = block.cone_sizes
        distances[block.start + factor_starts(sizes)] = block.cone.distance(rows[block.start : block.stop], sizes)
    return distances
