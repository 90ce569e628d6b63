"""Constraints that hold under a condition: if b = 1 then e >= 0, for an expression b that is 0 or 1.

    e >= m (1 - b)   with m <= 0 a lower bound of e

This is e >= 0 if b = 1, and it holds for every e within the declared bounds if b = 0.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.expression import IMPLIES, Constraint, Expression, Leaf, Shape, chosen_entries
from milopt.declaration.programs.joined import concatenate
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.program import leaves
from milopt.declaration.programs.ranges import true_range_of, true_range_of_leaf
from milopt.declaration.programs.row_layout import RowLayout
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import DeclarationError


def implied(condition: Expression, constraint: Constraint) -> Constraint:
    """Return rows that state a constraint where the condition is 1, and nothing where it is 0.

    Raises
    ------
    DeclarationError
        If the condition is not an expression that is 0 or 1, or the rows have no known bound.
    """
    _check_condition(condition)
    if not isinstance(constraint, Constraint):
        raise DeclarationError(f"implies takes a condition and a comparison such as x <= 3, not {constraint!r}.")
    compared = (condition, IMPLIES, *constraint.as_written)
    rows, layout = _rows_of(constraint, condition.shape)
    where = condition if condition.shape == layout.shape else condition + np.zeros(layout.shape)
    off = 1 - chosen_entries(where, layout.entry)
    low, high = true_range_of(_without_parameters(rows))
    above = rows - _end(rows, low, "lower") * off
    if not constraint.equality:
        return Constraint(above, False, compared, layout)
    below = _end(rows, high, "upper") * off - rows
    return Constraint(concatenate([above, below]), False, compared, RowLayout.two_sided(layout.shape))


def _rows_of(constraint: Constraint, shape: Shape) -> tuple[Expression, RowLayout]:
    """Return the rows as a vector, and their layout; a single row is repeated to the shape of a condition."""
    rows, layout = constraint.expression, constraint.layout or RowLayout.of(constraint.shape)
    if constraint.shape or not shape:
        return chosen_entries(rows, np.arange(rows.size)), layout
    repeated = RowLayout.of(shape)
    kept = repeated.entry if rows.size else repeated.entry[:0]
    return chosen_entries(rows, np.zeros(kept.size, dtype=np.intp)), repeated.take(kept)


def _check_condition(condition: object) -> None:
    """Raise an error unless every entry of the condition is 0 or 1 at every point."""
    if isinstance(condition, Constraint):
        raise DeclarationError(
            f"The condition {condition.describe()} is a constraint: give an expression that is 0 or 1, as in "
            "program.implies(b, x <= 3) for b == 1 and program.implies(1 - b, x <= 3) for b == 0."
        )
    if not isinstance(condition, Expression):
        raise DeclarationError(f"The condition of implies is a binary variable b or 1 - b, not {condition!r}.")
    numbers = [condition.constant]
    for leaf, coefficient in condition.terms:
        used = coefficient.value().indices
        is_integer = isinstance(leaf, Variable) and np.broadcast_to(leaf.integer, leaf.shape).ravel()[used].all()
        if not is_integer or coefficient.products:
            raise DeclarationError(
                f"The condition of implies holds {leaf.describe()}, which is not a variable with binary=True."
            )
        numbers.append(coefficient.value().data)
    low, high = true_range_of(condition)
    is_whole = all((part == np.round(part)).all() for part in numbers)
    if not is_whole or (low < 0).any() or (high > 1).any():
        raise DeclarationError(
            f"The condition {condition!r} may differ from 0 and 1: give a binary variable b, an entry of it, or 1 - b."
        )


def _without_parameters(rows: Expression) -> Expression:
    """Return the rows, or raise an error if a parameter occurs in them."""
    for leaf in leaves(rows):
        if isinstance(leaf, Parameter):
            raise DeclarationError(
                f"implies needs bounds of its rows that stay as they are, and parameter {leaf.name!r} may change them: "
                "write numbers, or a variable with bounds."
            )
    return rows


def _end(rows: Expression, end: Vector, side: str) -> npt.NDArray[np.float64]:
    """Return the ends of the ranges of rows, but not on the other side of 0; an error if one is infinite."""
    missing = np.flatnonzero(np.isinf(end))
    if missing.size:
        _refuse_unbounded(rows, int(missing[0]), side)
    return np.minimum(end, 0.0) if side == "lower" else np.maximum(end, 0.0)


def _refuse_unbounded(rows: Expression, row: int, side: str) -> NoReturn:
    """Raise an error that names the variable without a bound."""
    for leaf, coefficient in rows.terms:
        matrix, (bottom, top) = coefficient.value(), true_range_of_leaf(leaf)
        mine = np.repeat(np.arange(rows.size), row_lengths(matrix)) == row
        for factor, entry in zip(matrix.data[mine], matrix.indices[mine], strict=True):
            is_lower = (factor > 0) == (side == "lower")
            if factor != 0 and np.isinf((bottom if is_lower else top)[entry]):
                _refuse_leaf(leaf, int(entry), "lower" if is_lower else "upper")
    raise DeclarationError("implies needs rows with known bounds.")


def _refuse_leaf(leaf: Leaf, entry: int, bound: str) -> NoReturn:
    """Raise an error that names a leaf without a bound, or a variable inside an atom."""
    if isinstance(leaf, Variable):
        name = f"{leaf.name}[{entry}]" if leaf.shape else leaf.name
        raise DeclarationError(
            f"implies needs bounds of all variables in its rows, and {name} has no finite {bound} bound: declare it "
            f"with {bound}=..."
        )
    if isinstance(leaf, Atom) and leaf.function is None:
        for inner in leaves(leaf.argument):
            if isinstance(inner, Variable):
                for side, ends in (("lower", inner.lower), ("upper", inner.upper)):
                    if np.isinf(ends).any():
                        _refuse_leaf(inner, int(np.flatnonzero(np.isinf(ends))[0]), side)
    raise DeclarationError(f"implies needs bounds of its rows, and {leaf.describe()} has no known {bound} bound.")
