"""Interval constraints a <= e <= b: one block, with one multiplier per row."""

from __future__ import annotations

import numpy as np

from milopt.declaration.programs.absent_rows import drop_absent_rows
from milopt.declaration.programs.expression import Constraint, Operand, as_expression, as_side, select_entries
from milopt.declaration.programs.joining import concatenate
from milopt.declaration.programs.row_layout import RowLayout
from milopt.errors import DeclarationError


def interval_constraint(lower: Operand, expression: Operand, upper: Operand) -> Constraint:
    """Return the constraint lower <= expression <= upper.

    Infinite sides are left out. If all lower and upper sides are finite numbers, and every lower number equals the
    upper number, the constraint is an equation.

    Raises
    ------
    DeclarationError
        If a lower number is larger than the upper number, or the shapes do not match.
    """
    low, middle, high = as_side(lower), as_expression(expression), as_side(upper)
    compared = (low, "<=", middle, "<=", high)
    if not low.terms and not high.terms:
        ends = low.constant.reshape(low.shape), high.constant.reshape(high.shape)
        is_empty = np.greater(*ends)
        if is_empty.any():
            where = f" in row {int(np.flatnonzero(is_empty)[0])}" if is_empty.ndim else ""
            raise DeclarationError(
                f"No number satisfies {Constraint(middle, False, compared).describe()}: "
                f"the left side is larger than the right one{where}."
            )
        if np.equal(*ends).all() and np.isfinite(ends[0]).all():
            return Constraint(middle - low, True, compared)
    above, below = middle - low, high - middle
    shape = np.broadcast_shapes(above.shape, below.shape)
    sides = [side if side.shape == shape else side + np.zeros(shape) for side in (above, below)]
    rows = concatenate([select_entries(side, np.arange(side.size)) for side in sides])
    return drop_absent_rows(rows, False, compared, RowLayout.two_sided(shape))
