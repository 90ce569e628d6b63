"""Conditional constraints: if b = 1 then e >= 0, for an expression b that is 0 or 1.

    e >= m (1 - b)   with m <= 0 a lower bound of e   (big-M formulation)

If b = 1, the row is e >= 0. If b = 0, the row is e >= m, which holds for all values of e within the declared bounds.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.expression import IMPLIES, Constraint, Expression, Leaf, Shape, select_entries
from milopt.declaration.programs.joining import concatenate
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.program import leaves
from milopt.declaration.programs.ranges import leaf_value_range, value_range
from milopt.declaration.programs.row_layout import RowLayout
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import DeclarationError


def conditional_constraint(condition: Expression, constraint: Constraint) -> Constraint:
    """Return the constraint "condition implies constraint": its rows are not restrictive if the condition is 0.

    Raises
    ------
    DeclarationError
        If the condition is not an expression with values 0 and 1, or if the rows have no known bounds or contain a
        parameter.
    """
    _check_condition(condition)
    if not isinstance(constraint, Constraint):
        raise DeclarationError(
            f"The second argument of implies must be a comparison such as x <= 3, not {constraint!r}."
        )
    compared = (condition, IMPLIES, *constraint.as_written)
    rows, layout = _broadcast_rows(constraint, condition.shape)
    where = condition if condition.shape == layout.shape else condition + np.zeros(layout.shape)
    off = 1 - select_entries(where, layout.entry)
    low, high = value_range(_check_no_parameters(rows))
    above = rows - _big_m(rows, low, "lower") * off
    if not constraint.equality:
        return Constraint(above, False, compared, layout)
    below = _big_m(rows, high, "upper") * off - rows
    return Constraint(concatenate([above, below]), False, compared, RowLayout.two_sided(layout.shape))


def _broadcast_rows(constraint: Constraint, shape: Shape) -> tuple[Expression, RowLayout]:
    """Return (rows, layout) with the rows as a vector; a single row is repeated for each entry of the condition.

    `shape` is the shape of the condition.
    """
    rows, layout = constraint.expression, constraint.layout or RowLayout.from_shape(constraint.shape)
    if constraint.shape or not shape:
        return select_entries(rows, np.arange(rows.size)), layout
    repeated = RowLayout.from_shape(shape)
    present = repeated.entry if rows.size else repeated.entry[:0]
    return select_entries(rows, np.zeros(present.size, dtype=np.intp)), repeated.take(present)


def _check_condition(condition: object) -> None:
    """Raise `DeclarationError` unless every entry of the condition is 0 or 1 at every feasible point."""
    if isinstance(condition, Constraint):
        raise DeclarationError(
            f"The condition {condition.describe()} is a constraint: give an expression that is 0 or 1, as in "
            "program.implies(b, x <= 3) for b == 1 and program.implies(1 - b, x <= 3) for b == 0."
        )
    if not isinstance(condition, Expression):
        raise DeclarationError(f"The condition of implies must be a binary variable b or 1 - b, not {condition!r}.")
    numbers = [condition.constant]
    for leaf, coefficient in condition.terms:
        used = coefficient.value().indices
        is_integer = isinstance(leaf, Variable) and np.broadcast_to(leaf.integer, leaf.shape).ravel()[used].all()
        if not is_integer or coefficient.products:
            raise DeclarationError(
                f"The condition of implies contains {leaf.describe()}, which is not a variable with binary=True."
            )
        numbers.append(coefficient.value().data)
    low, high = value_range(condition)
    is_whole = all((part == np.round(part)).all() for part in numbers)
    if not is_whole or (low < 0).any() or (high > 1).any():
        raise DeclarationError(
            f"The condition {condition!r} may have values other than 0 and 1: give a binary variable b, an entry "
            "of it, or 1 - b."
        )


def _check_no_parameters(rows: Expression) -> Expression:
    """Return the rows; raise `DeclarationError` if they contain a parameter."""
    for leaf in leaves(rows):
        if isinstance(leaf, Parameter):
            raise DeclarationError(
                f"implies needs constant bounds of its rows, but parameter {leaf.name!r} may change them: "
                "use numbers, or a variable with bounds."
            )
    return rows


def _big_m(rows: Expression, bounds: Vector, side: str) -> npt.NDArray[np.float64]:
    """Return the constants m of the big-M formulation; raise `DeclarationError` if a bound is infinite.

    If `side` is "lower", `bounds` are lower bounds of the rows, and m = min(bounds, 0). If `side` is "upper", they are
    upper bounds, and m = max(bounds, 0).
    """
    missing = np.flatnonzero(np.isinf(bounds))
    if missing.size:
        _raise_unbounded_row(rows, int(missing[0]), side)
    return np.minimum(bounds, 0.0) if side == "lower" else np.maximum(bounds, 0.0)


def _raise_unbounded_row(rows: Expression, row: int, side: str) -> NoReturn:
    """Raise `DeclarationError` with the name of a variable or atom because of which a row has no bound on one side.

    `row` is the index of the row, and `side` is "lower" or "upper".
    """
    for leaf, coefficient in rows.terms:
        matrix, (bottom, top) = coefficient.value(), leaf_value_range(leaf)
        in_row = np.repeat(np.arange(rows.size), row_lengths(matrix)) == row
        for factor, entry in zip(matrix.data[in_row], matrix.indices[in_row], strict=True):
            is_lower = (factor > 0) == (side == "lower")
            if factor != 0 and np.isinf((bottom if is_lower else top)[entry]):
                _raise_unbounded_leaf(leaf, int(entry), "lower" if is_lower else "upper")
    raise DeclarationError("implies needs rows with known bounds.")


def _raise_unbounded_leaf(leaf: Leaf, entry: int, bound: str) -> NoReturn:
    """Raise `DeclarationError` with the name of a leaf that has no lower or upper bound.

    If the leaf is an atom that contains an unbounded variable, the message names this variable. `bound` is "lower" or
    "upper".
    """
    if isinstance(leaf, Variable):
        name = f"{leaf.name}[{entry}]" if leaf.shape else leaf.name
        raise DeclarationError(
            f"implies needs bounds of all variables in its rows, but {name} has no finite {bound} bound: declare it "
            f"with {bound}=..."
        )
    if isinstance(leaf, Atom) and leaf.function is None:
        for inner in leaves(leaf.argument):
            if isinstance(inner, Variable):
                for side, ends in (("lower", inner.lower), ("upper", inner.upper)):
                    if np.isinf(ends).any():
                        _raise_unbounded_leaf(inner, int(np.flatnonzero(np.isinf(ends))[0]), side)
    raise DeclarationError(f"implies needs bounds of its rows, but {leaf.describe()} has no known {bound} bound.")
