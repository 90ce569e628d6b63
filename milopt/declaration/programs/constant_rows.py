"""Rows in which nothing varies, such as 0*x <= 1: they are checked when they are declared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.declaration.programs.expression import Constraint, Expression, Shape
from milopt.declaration.programs.linear_maps import entry_name
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import DeclarationError

ROUNDING = 1e-9
"""By how much a row of constants may be violated, relative to 1 + the largest constant: they may be rounded sums."""


def with_true_constants(constraint: Constraint, name: str) -> Constraint:
    """Return the constraint, or raise an error if a row without a variable, a function or a parameter does not hold.

    A row of constants that holds but for rounding becomes exact, because some solvers take it literally.
    """
    expression = constraint.expression
    is_constant = _constant_rows(expression)
    if is_constant is None:
        return constraint
    lacking = np.where(is_constant, np.abs(expression.constant) if constraint.equality else -expression.constant, 0.0)
    wrong = np.flatnonzero(lacking > ROUNDING * (1.0 + _sizes(constraint)))
    if wrong.size:
        layout = constraint.layout
        row = int(wrong[0] if layout is None else layout.entry[wrong[0]])
        where = f"Row {entry_name(row, constraint.shape)} of constraint" if constraint.shape else "Constraint"
        raise DeclarationError(
            f"{where} {name!r} has no variables and does not hold: {_reading(constraint, row, int(wrong[0]))}. "
            "Correct its numbers, or leave it out."
        )
    if (lacking > 0.0).any():
        exact = Expression(expression.shape, np.where(lacking > 0.0, 0.0, expression.constant), expression.terms)
        return Constraint(exact, constraint.equality, constraint.compared, constraint.layout, constraint.shape)
    return constraint


def _constant_rows(expression: Expression) -> npt.NDArray[np.bool_] | None:
    """Return per row whether nothing in it varies: all coefficients are 0, whatever parameters are; None if no row."""
    size = expression.size
    if size == 1 and expression.terms and expression.terms[0][1].matrix.data.any():
        return None  # The usual single row, at once.
    is_constant = np.ones(size, dtype=bool)
    for _, coefficient in expression.terms:
        for matrix in (coefficient.matrix, *(product.left for product in coefficient.products)):
            lengths = row_lengths(matrix)
            if lengths.all() and matrix.data.all():
                return None
            is_constant[np.repeat(np.arange(lengths.size), lengths)[matrix.data != 0]] = False
    return is_constant if is_constant.any() else None


def _sizes(constraint: Constraint) -> float:
    """Return the largest constant that was written."""
    parts = [part.constant for part in constraint.compared or () if not isinstance(part, str)]
    sizes = np.abs(np.concatenate([constraint.expression.constant, *parts]))
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))


def _reading(constraint: Constraint, row: int, at: int) -> str:
    """Return the numbers of a row as they were written, such as 0 <= -1."""
    if constraint.compared is None or constraint.is_conditional:
        return f"{constraint.expression.constant[at]:.6g} {'==' if constraint.equality else '>='} 0"
    return " ".join(
        part if isinstance(part, str) else f"{_entry(part, constraint.shape, row):.6g}" for part in constraint.compared
    )


def _entry(part: Expression, shape: Shape, row: int) -> float:
    """Return the constant of a side in a row."""
    return float(np.broadcast_to(part.constant.reshape(part.shape), shape).flat[row])
