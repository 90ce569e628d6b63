"""Changes of the coefficients, costs and right-hand sides of constraints and objectives, with the signs as written.

A constraint keeps its sense. Coefficients and right-hand side are those of the constraint with all variables on the
left and all numbers on the right:

    2 * x - y <= 3 + x   has the coefficients 1 (x) and -1 (y), and the right-hand side 3

For rows with two sides, a <= e <= b, the coefficients are those of e.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.constants import as_matrix, as_numbers
from milopt.declaration.programs.expression import Constraint, Expression, Shape
from milopt.declaration.programs.interval import interval_constraint
from milopt.declaration.programs.leaves import Parameter, Variable
from milopt.declaration.programs.sparse import add, as_csr, selection_matrix
from milopt.errors import DeclarationError

INTERVAL_SIDE_COUNT = 3
"""Number of sides of a row such as a <= e <= b."""


def with_coefficients(
    constraint: Constraint, values: npt.ArrayLike | sp.sparray, variable: Variable, entries: Index, shape: Shape
) -> Constraint:
    """Return a constraint with new coefficients `values` for entries of a variable.

    `entries` are the indices of the entries, and `shape` is their shape. `values` has the shape of the rows followed by
    that of the entries, or is one number if the constraint is a scalar or `shape` is (). Coefficients of other entries
    do not change.
    """
    sides, sense = _written_sides(constraint)
    rows, block = constraint.shape, _describe_block(constraint)
    new = _coefficient_matrix(
        values, rows, variable, entries, shape, f"The coefficients of {variable.name!r} in {block}"
    )
    own = [_other_coefficients(side, variable, entries, rows) for side in sides]
    if len(sides) == INTERVAL_SIDE_COUNT:
        if any(leaf is variable for side in (sides[0], sides[2]) for leaf, _ in side.terms):
            raise DeclarationError(
                f"{variable.name!r} occurs in a bound of the rows of {block}: replace the constraint."
            )
        changed, unchanged = 1, own[1]
    else:
        changed, unchanged = 0, add(own[0], -own[1])
    term = Expression(rows, np.zeros(prod(rows)), [(variable, Coefficient(add(unchanged, new)))])
    sides = [without_terms_of(side, variable) for side in sides]
    sides[changed] = sides[changed] + term
    return _compare_sides(sides, sense)


def with_cost(
    objective: Expression, values: npt.ArrayLike, variable: Variable, entries: Index, shape: Shape
) -> Expression:
    """Return an objective with new linear coefficients `values` for some entries of a variable.

    `entries` are the indices of these entries, and `shape` is their shape. Atoms that contain the variable do not
    change.
    """
    new = _coefficient_matrix(values, (), variable, entries, shape, f"The cost of {variable.name!r}")
    if entries.size < variable.size:
        new = add(_other_coefficients(objective, variable, entries, ()), new)
    return without_terms_of(objective, variable) + Expression((), np.zeros(1), [(variable, Coefficient(new))])


def with_rhs(constraint: Constraint, value: npt.ArrayLike) -> Constraint:
    """Return a constraint with a new right-hand side: one number, or one number per declared row.

    `DeclarationError` is raised for rows with two sides and for rows that contain a parameter.
    """
    sides, sense = _written_sides(constraint)
    name, rows = constraint.name, constraint.shape
    if len(sides) == INTERVAL_SIDE_COUNT:
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
    return _compare_sides([left, right + np.broadcast_to(numbers, rows)], sense)


def _without_constant(expression: Expression) -> Expression:
    """Return an expression with its constant set to 0."""
    return Expression(expression.shape, np.zeros(expression.size), expression.terms, expression.bags)


def without_terms_of(expression: Expression, variable: Variable) -> Expression:
    """Return an expression without the terms of a variable; atoms that contain the variable do not change."""
    terms = [term for term in expression.terms if term[0] is not variable]
    return Expression(expression.shape, expression.constant, terms, expression.bags, expression.constant_is_negated)


def without_variable(constraint: Constraint, variable: Variable) -> Constraint:
    """Return a constraint without the terms of a variable; atoms that contain the variable do not change."""
    sides, sense = _written_sides(constraint)
    return _compare_sides([without_terms_of(side, variable) for side in sides], sense)


def variable_entries(expression: object) -> tuple[Variable, Index, Shape]:
    """Return (variable, indices of the entries, shape) of an expression such as x, x[2] or x[:3].

    `DeclarationError` is raised for any other expression or object.
    """
    if isinstance(expression, Expression) and len(expression.terms) == 1 and not expression.constant.any():
        ((leaf, coefficient),) = expression.terms
        if isinstance(leaf, Variable) and not coefficient.products:
            matrix = coefficient.value().copy()
            matrix.eliminate_zeros()
            single = (np.diff(matrix.indptr) == 1).all() and (matrix.data == 1.0).all()
            if single and np.unique(matrix.indices).size == matrix.indices.size:
                return leaf, matrix.indices.astype(np.intp), expression.shape
    raise DeclarationError(f"Give a variable, its name, or entries of one such as x[2] or x[:3], not {expression!r}.")


def _describe_block(constraint: Constraint) -> str:
    """Return the name of a constraint for messages."""
    return f"constraint {constraint.name!r}" if constraint.name else "the constraint"


def _written_sides(constraint: Constraint) -> tuple[list[Expression], str]:
    """Return (sides, sense) of a constraint as written: two or three expressions, and "<=", ">=" or "==".

    `DeclarationError` is raised for a conditional constraint.
    """
    if constraint.is_conditional:
        raise DeclarationError(
            f"The rows of {_describe_block(constraint)} hold under a condition, and depend on the bounds of their "
            "variables: delete the constraint and declare it again."
        )
    parts = constraint.as_written
    return [part for part in parts if isinstance(part, Expression)], str(parts[1])


def _compare_sides(sides: Sequence[Expression], sense: str) -> Constraint:
    """Return the constraint "left sense right" of two sides, or the interval constraint of three sides."""
    if len(sides) == INTERVAL_SIDE_COUNT:
        return interval_constraint(*sides)
    left, right = sides
    if sense == "==":
        return left == right
    return left >= right if sense == ">=" else left <= right


def _coefficient_matrix(
    values: npt.ArrayLike | sp.sparray, rows: Shape, variable: Variable, entries: Index, shape: Shape, subject: str
) -> sp.csr_array:
    """Return coefficients of some entries of a variable as a matrix with one column per entry of the whole variable.

    `values` are the coefficients of the entries with the indices `entries` and the shape `shape`. `rows` is the shape
    of the constraint rows; each of them is a row of the matrix. An error message begins with `subject`.
    """
    given = as_matrix(values)
    expected = (*rows, *shape)
    if given.shape == () and not (rows and shape):
        given = np.full(expected, given)  # one number for all entries, but not for a whole matrix
    flat = prod(rows), entries.size
    if given.shape != expected and not (sp.issparse(given) and given.shape == flat):
        raise DeclarationError(f"{subject} must have shape {expected}, not {given.shape}.")
    return as_csr(as_csr(given.reshape(flat)) @ selection_matrix(entries, variable.size))


def _other_coefficients(expression: Expression, variable: Variable, entries: Index, rows: Shape) -> sp.csr_array:
    """Return the coefficients of a variable as a matrix with one row per constraint row, and zero columns at `entries`.

    `rows` is the shape of the constraint rows.
    """
    total = sp.csr_array((prod(rows), variable.size))
    if entries.size == variable.size or all(leaf is not variable for leaf, _ in expression.terms):
        return total
    whole = expression if expression.shape == rows else expression + np.zeros(rows)
    for leaf, coefficient in whole.terms:
        if leaf is variable:
            if coefficient.products:
                raise DeclarationError(
                    f"The coefficients of {variable.name!r} depend on parameters: give all of its coefficients."
                )
            mask = np.ones(variable.size)
            mask[entries] = 0.0
            others = sp.csr_array(coefficient.value() @ sp.diags_array(mask, format="csr"))
            others.eliminate_zeros()
            total = add(total, others)
    return total
