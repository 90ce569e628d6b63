"""Interval constraints a <= e <= b: one block, with one multiplier per row."""

from __future__ import annotations

import numpy as np

from milopt.declaration.absent_rows import without_absent_rows
from milopt.declaration.expression import (
    Constraint,
    Expression,
    Operand,
    as_expression,
    as_side,
    broadcast,
    common_shape,
)
from milopt.declaration.joined import concatenate
from milopt.declaration.linear_maps import entry_name
from milopt.declaration.row_layout import RowLayout
from milopt.errors import DeclarationError


def interval(lower: Operand, expression: Operand, upper: Operand) -> Constraint:
    """Return lower <= expression <= upper; infinite sides are absent, and equal numbers make an equation.

    Raises
    ------
    DeclarationError
        If a number on the left is above the number on the right, or the shapes do not match.
    """
    low, middle, high = as_side(lower), as_expression(expression), as_side(upper)
    compared = (low, "<=", middle, "<=", high)
    if not low.terms and not high.terms:
        lows, highs = (side.constant.reshape(side.shape) for side in (low, high))
        if common_shape(low.shape, high.shape) is None:
            raise DeclarationError(f"Shapes {low.shape} and {high.shape} of the two sides do not match.")
        is_empty = np.asarray(lows > highs)
        if is_empty.any():
            row = entry_name(int(np.flatnonzero(is_empty)[0]), is_empty.shape)
            where = f" in row {row}" if is_empty.size > 1 else ""
            raise DeclarationError(
                f"No number satisfies {Constraint(middle, False, compared).describe()}: "
                f"the left side is larger than the right one{where}."
            )
        if (lows == highs).all() and np.isfinite(low.constant).all():
            return Constraint(middle - low, True, compared)
    rows, layout = two_sided(middle - low, high - middle)
    return without_absent_rows(rows, False, compared, layout)


def two_sided(above: Expression, below: Expression) -> tuple[Expression, RowLayout]:
    """Return the rows above >= 0, followed by those of below >= 0; a scalar is repeated to the shape of the other."""
    shape = common_shape(above.shape, below.shape)
    assert shape is not None, "both sides have the expression in the middle"
    rows = concatenate([broadcast(side, shape).ravel() for side in (above, below)])
    return rows, RowLayout.two_sided(shape)
