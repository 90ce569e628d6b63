"""Changes of a constraint or an objective with the signs as written.

A constraint keeps its sense, and its variables count as if all stood on the left and all numbers on the right:

    2 * x - y <= 3 + x   has coefficients 1 (x) and -1 (y), and the right-hand side 3
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.declaration.coefficient import Coefficient
from milopt.declaration.constants import matrix as as_matrix
from milopt.declaration.constants import numbers as as_numbers
from milopt.declaration.expression import Constraint, Expression, Shape, as_expression
from milopt.declaration.leaves import Parameter, Variable
from milopt.declaration.sparse import added, csr, picked
from milopt.errors import DeclarationError

Index = npt.NDArray[np.intp]


def with_coefficients(
    constraint: Constraint, values: npt.ArrayLike | sp.sparray, variable: Variable, entries: Index, shape: Shape
) -> Constraint:
    """Return a constraint with other coefficients of some entries of a variable; `shape` is that of the entries."""
    left, sense, right = _sides(constraint)
    rows = constraint.expression
    block = f"constraint {constraint.name!r}" if constraint.name else "the constraint"
    new = _placed(values, rows.shape, variable, entries, shape, f"The coefficients of {variable.name!r} in {block}")
    if entries.size < variable.size:
        new = added(_others(left, variable, entries, rows.size), new)
        new = added(-_others(right, variable, entries, rows.size), new)
    added_term = Expression(rows.shape, np.zeros(rows.size), [(variable, Coefficient(new))])
    return _compared(without(left, variable) + added_term, sense, without(right, variable))


def with_cost(
    objective: Expression, values: npt.ArrayLike, variable: Variable, entries: Index, shape: Shape
) -> Expression:
    """Return an objective with other linear coefficients of some entries of a variable."""
    new = _placed(values, (), variable, entries, shape, f"The cost of {variable.name!r}")
    if entries.size < variable.size:
        new = added(_others(objective, variable, entries, 1), new)
    return without(objective, variable) + Expression((), np.zeros(1), [(variable, Coefficient(new))])


def with_rhs(constraint: Constraint, value: npt.ArrayLike) -> Constraint:
    """Return a constraint with another right-hand side."""
    left, sense, right = _sides(constraint)
    name, rows = constraint.name, constraint.expression
    for leaf, _ in rows.terms:
        if isinstance(leaf, Parameter):
            raise DeclarationError(
                f"The right-hand side of {name!r} depends on parameter {leaf.name!r}: set the parameter, or replace "
                "the constraint."
            )
    numbers = as_numbers(value)
    if numbers.shape not in ((), rows.shape):
        raise DeclarationError(f"The right-hand side of {name!r} has shape {rows.shape}, not {numbers.shape}.")
    return _compared(_without_constant(left), sense, _without_constant(right) + np.broadcast_to(numbers, rows.shape))


def _without_constant(expression: Expression) -> Expression:
    return Expression(expression.shape, np.zeros(expression.size), expression.terms, expression.bags)


def without(expression: Expression, variable: Variable) -> Expression:
    """Return an expression without the terms of a variable, other than those inside atoms."""
    kept = [term for term in expression.terms if term[0] is not variable]
    return Expression(expression.shape, expression.constant, kept, expression.bags, expression.constant_is_negated)


def without_variable(constraint: Constraint, variable: Variable) -> Constraint:
    """Return a constraint without the terms of a variable, other than those inside atoms."""
    left, sense, right = _sides(constraint)
    return _compared(without(left, variable), sense, without(right, variable))


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


def _sides(constraint: Constraint) -> tuple[Expression, str, Expression]:
    """Return a constraint as it was written: left, sense, right."""
    if constraint.compared is not None:
        return constraint.compared
    return constraint.expression, "==" if constraint.equality else ">=", as_expression(0.0)


def _compared(left: Expression, sense: str, right: Expression) -> Constraint:
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
    if given.shape != due:
        raise DeclarationError(f"{what} must have shape {due}, not {given.shape}.")
    if not sp.issparse(given):
        given = sp.csr_array(np.asarray(given).reshape(int(np.prod(rows, dtype=int)), entries.size))
    return csr(given @ picked(entries, variable.size))


def _others(expression: Expression, variable: Variable, entries: Index, rows: int) -> sp.csr_array:
    """Return the coefficients of all entries of a variable but these, one row per row."""
    total = sp.csr_array((rows, variable.size))
    for leaf, coefficient in expression.terms:
        if leaf is variable:
            if coefficient.products:
                raise DeclarationError(
                    f"The coefficients of {variable.name!r} depend on parameters: give those of all its entries."
                )
            mask = np.ones(variable.size)
            mask[entries] = 0.0
            kept = sp.csr_array(coefficient.value() @ sp.diags_array(mask, format="csr"))
            kept.eliminate_zeros()
            if kept.shape[0] != rows:  # A scalar side of a block of rows.
                kept = csr(picked(np.zeros(rows, dtype=np.int32), 1) @ kept)
            total = added(total, kept)
    return total
