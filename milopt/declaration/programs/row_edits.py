"""Changes of a constraint or an objective with the signs as written.

A constraint keeps its sense, and its variables count as if all stood on the left and all numbers on the right:

    2 * x - y <= 3 + x   has coefficients 1 (x) and -1 (y), and the right-hand side 3

Of rows with two sides, a <= e <= b, the coefficients are those of e.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.constants import matrix as as_matrix
from milopt.declaration.programs.constants import numbers as as_numbers
from milopt.declaration.programs.expression import Constraint, Expression, Shape
from milopt.declaration.programs.interval import interval
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.sparse import added, csr, picked
from milopt.errors import DeclarationError

TWO_SIDED = 3
"""The number of sides of rows such as a <= e <= b."""


def with_coefficients(
    constraint: Constraint, values: npt.ArrayLike | sp.sparray, variable: Variable, entries: Index, shape: Shape
) -> Constraint:
    """Return a constraint with other coefficients of some entries of a variable; `shape` is that of the entries."""
    sides, sense = _sides(constraint)
    rows, block = constraint.shape, _name(constraint)
    new = _placed(values, rows, variable, entries, shape, f"The coefficients of {variable.name!r} in {block}")
    own = [_others(side, variable, entries, rows) for side in sides]
    if len(sides) == TWO_SIDED:
        if any(leaf is variable for side in (sides[0], sides[2]) for leaf, _ in side.terms):
            raise DeclarationError(
                f"{variable.name!r} stands in a bound of the rows of {block}: replace the constraint."
            )
        changed, kept = 1, own[1]
    else:
        changed, kept = 0, added(own[0], -own[1])
    term = Expression(rows, np.zeros(prod(rows)), [(variable, Coefficient(added(kept, new)))])
    sides = [without(side, variable) for side in sides]
    sides[changed] = sides[changed] + term
    return _compared(sides, sense)


def with_cost(
    objective: Expression, values: npt.ArrayLike, variable: Variable, entries: Index, shape: Shape
) -> Expression:
    """Return an objective with other linear coefficients of some entries of a variable."""
    new = _placed(values, (), variable, entries, shape, f"The cost of {variable.name!r}")
    if entries.size < variable.size:
        new = added(_others(objective, variable, entries, ()), new)
    return without(objective, variable) + Expression((), np.zeros(1), [(variable, Coefficient(new))])


def with_rhs(constraint: Constraint, value: npt.ArrayLike) -> Constraint:
    """Return a constraint with another right-hand side."""
    sides, sense = _sides(constraint)
    name, rows = constraint.name, constraint.shape
    if len(sides) == TWO_SIDED:
        raise DeclarationError(f"The rows of {name!r} have two sides, not one right-hand side: replace the constraint.")
    for leaf, _ in constraint.expression.terms:
        if isinstance(leaf, Parameter):
            raise DeclarationError(
                f"The right-hand side of {name!r} depends on parameter {leaf.name!r}: set the parameter, or replace "
                "the constraint."
            )
    numbers = as_numbers(value)
    if numbers.shape not in ((), rows):
        raise DeclarationError(f"The right-hand side of {name!r} has shape {rows}, not {numbers.shape}.")
    left, right = (_without_constant(side) for side in sides)
    return _compared([left, right + np.broadcast_to(numbers, rows)], sense)


def _without_constant(expression: Expression) -> Expression:
    return Expression(expression.shape, np.zeros(expression.size), expression.terms, expression.bags)


def without(expression: Expression, variable: Variable) -> Expression:
    """Return an expression without the terms of a variable, other than those inside atoms."""
    kept = [term for term in expression.terms if term[0] is not variable]
    return Expression(expression.shape, expression.constant, kept, expression.bags, expression.constant_is_negated)


def without_variable(constraint: Constraint, variable: Variable) -> Constraint:
    """Return a constraint without the terms of a variable, other than those inside atoms."""
    sides, sense = _sides(constraint)
    return _compared([without(side, variable) for side in sides], sense)


def entries_of(expression: object) -> tuple[Variable, Index, Shape]:
    """Return the variable and its entries that an expression such as x, x[2] or x[:3] stands for, and its shape."""
    if isinstance(expression, Expression) and len(expression.terms) == 1 and not expression.constant.any():
        ((leaf, coefficient),) = expression.terms
        if isinstance(leaf, Variable) and not coefficient.products:
            matrix = coefficient.value().copy()
            matrix.eliminate_zeros()
            single = (np.diff(matrix.indptr) == 1).all() and (matrix.data == 1.0).all()
            if single and np.unique(matrix.indices).size == matrix.indices.size:
                return leaf, matrix.indices.astype(np.intp), expression.shape
    raise DeclarationError(f"Give a variable, its name, or entries of one such as x[2] or x[:3], not {expression!r}.")


def _name(constraint: Constraint) -> str:
    return f"constraint {constraint.name!r}" if constraint.name else "the constraint"


def _sides(constraint: Constraint) -> tuple[list[Expression], str]:
    """Return the two or three sides of a constraint as it was written, and its sense."""
    if constraint.is_conditional:
        raise DeclarationError(
            f"The rows of {_name(constraint)} hold under a condition, with bounds of the variables that they have: "
            "delete the constraint and declare it again."
        )
    parts = constraint.as_written
    return [part for part in parts if isinstance(part, Expression)], str(parts[1])


def _compared(sides: Sequence[Expression], sense: str) -> Constraint:
    if len(sides) == TWO_SIDED:
        return interval(*sides)
    left, right = sides
    if sense == "==":
        return left == right
    return left >= right if sense == ">=" else left <= right


def _placed(
    values: npt.ArrayLike | sp.sparray, rows: Shape, variable: Variable, entries: Index, shape: Shape, what: str
) -> sp.csr_array:
    """Return coefficients of entries of a variable as a matrix over all of its entries, one row per row."""
    given = as_matrix(values)
    due = (*rows, *shape)
    if given.shape == () and not (rows and shape):
        given = np.full(due, given)  # One number for all, unless it would fill a matrix.
    flat = prod(rows), entries.size
    if given.shape != due and not (sp.issparse(given) and given.shape == flat):
        raise DeclarationError(f"{what} must have shape {due}, not {given.shape}.")
    return csr(csr(given.reshape(flat)) @ picked(entries, variable.size))


def _others(expression: Expression, variable: Variable, entries: Index, rows: Shape) -> sp.csr_array:
    """Return the coefficients of all entries of a variable but these, one row per row."""
    total = sp.csr_array((prod(rows), variable.size))
    if entries.size == variable.size or all(leaf is not variable for leaf, _ in expression.terms):
        return total
    whole = expression if expression.shape == rows else expression + np.zeros(rows)
    for leaf, coefficient in whole.terms:
        if leaf is variable:
            if coefficient.products:
                raise DeclarationError(
                    f"The coefficients of {variable.name!r} depend on parameters: give those of all its entries."
                )
            mask = np.ones(variable.size)
            mask[entries] = 0.0
            kept = sp.csr_array(coefficient.value() @ sp.diags_array(mask, format="csr"))
            kept.eliminate_zeros()
            total = added(total, kept)
    return total
