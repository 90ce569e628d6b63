"""Check of constraint rows without variables, such as 0*x <= 1, when they are declared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.declaration.programs.expression import Constraint, Expression, Shape
from milopt.declaration.programs.linear_maps import entry_name
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import DeclarationError

CONSTANT_ROW_TOLERANCE = 1e-9
"""Admissible violation of a constant row, relative to 1 + the largest absolute constant of the constraint."""


def check_constant_rows(constraint: Constraint, name: str) -> Constraint:
    """Return the constraint; raise `DeclarationError` if a row without variables and parameters does not hold.

    If a constant row is violated within `CONSTANT_ROW_TOLERANCE`, the result is a new constraint in which its constant
    is 0, because some solvers have no tolerance for such rows. `name` is the name of the constraint in the message.
    """
    expression = constraint.expression
    is_constant = _constant_row_mask(expression)
    if is_constant is None:
        return constraint
    violation = np.where(is_constant, np.abs(expression.constant) if constraint.equality else -expression.constant, 0.0)
    wrong = np.flatnonzero(violation > CONSTANT_ROW_TOLERANCE * (1.0 + _largest_constant(constraint)))
    if wrong.size:
        layout = constraint.layout
        row = int(wrong[0] if layout is None else layout.entry[wrong[0]])
        where = f"Row {entry_name(row, constraint.shape)} of constraint" if constraint.shape else "Constraint"
        raise DeclarationError(
            f"{where} {name!r} has no variables and does not hold: {_format_row(constraint, row, int(wrong[0]))}. "
            "Correct its numbers, or leave it out."
        )
    if (violation > 0.0).any():
        exact = Expression(expression.shape, np.where(violation > 0.0, 0.0, expression.constant), expression.terms)
        return Constraint(exact, constraint.equality, constraint.compared, constraint.layout, constraint.shape)
    return constraint


def _constant_row_mask(expression: Expression) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the rows whose coefficients are 0 for all parameter values; None if there are no such rows."""
    size = expression.size
    if size == 1 and expression.terms and expression.terms[0][1].matrix.data.any():
        return None  # shortcut for the usual single row
    is_constant = np.ones(size, dtype=bool)
    for _, coefficient in expression.terms:
        for matrix in (coefficient.matrix, *(product.left for product in coefficient.products)):
            lengths = row_lengths(matrix)
            if lengths.all() and matrix.data.all():
                return None
            is_constant[np.repeat(np.arange(lengths.size), lengths)[matrix.data != 0]] = False
    return is_constant if is_constant.any() else None


def _largest_constant(constraint: Constraint) -> float:
    """Return the largest finite absolute constant in the rows and in the comparison as written; 0 if there is none."""
    parts = [part.constant for part in constraint.compared or () if not isinstance(part, str)]
    sizes = np.abs(np.concatenate([constraint.expression.constant, *parts]))
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))


def _format_row(constraint: Constraint, row: int, expression_row: int) -> str:
    """Return the numbers of a row as written, such as "0 <= -1".

    `row` is the index of the declared row, and `expression_row` the index of the row in the constraint's expression.
    """
    if constraint.compared is None or constraint.is_conditional:
        return f"{constraint.expression.constant[expression_row]:.6g} {'==' if constraint.equality else '>='} 0"
    return " ".join(
        part if isinstance(part, str) else f"{_side_constant(part, constraint.shape, row):.6g}"
        for part in constraint.compared
    )


def _side_constant(part: Expression, shape: Shape, row: int) -> float:
    """Return the constant of one side of a comparison in a declared row; `shape` is the shape of all declared rows."""
    return float(np.broadcast_to(part.constant.reshape(part.shape), shape).flat[row])
