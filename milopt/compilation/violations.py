"""How far rows of a flat program lie outside their cones."""

from __future__ import annotations

import numpy as np

from milopt.compilation.quadratic import Vector
from milopt.compilation.standard_form import StandardForm
from milopt.cones import NONNEGATIVE, SECOND_ORDER, ZERO
from milopt.errors import UnsupportedError


def violations(form: StandardForm, rows: Vector) -> Vector:
    """The violation of each row at the values `rows`; that of a second-order cone, ||v|| - t, is at its first row."""
    wrong = np.zeros(form.m)
    for block in form.rows:
        span = slice(block.start, block.stop)
        part = rows[span]
        if block.cone is ZERO:
            wrong[span] = np.abs(part)
        elif block.cone is NONNEGATIVE:
            wrong[span] = np.maximum(-part, 0.0)
        elif block.cone is SECOND_ORDER:
            wrong[block.start] = max(0.0, float(np.linalg.norm(part[1:])) - float(part[0]))
        else:
            raise UnsupportedError(f"The distance of rows {block.name!r} to the cone {block.cone} is not known.")
    return wrong
