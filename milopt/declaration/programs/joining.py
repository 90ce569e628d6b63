"""Concatenation and stacking of expressions, as in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Integers
from milopt.declaration.programs.coefficient import Coefficient, Product
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.joined_text import JoinedText
from milopt.declaration.programs.sparse import from_parts, stack_rows, zeros
from milopt.errors import DeclarationError


def concatenate(expressions: Sequence[Operand], axis: int = 0) -> Expression:
    """Concatenate expressions along an axis.

    Parameters
    ----------
    expressions : list of Expression or array-like
        Expressions and numbers. A scalar counts as a vector with one entry.
    axis : int, default=0
        Axis along which the expressions are joined.

    Returns
    -------
    Expression
        The joined expression.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program()
    >>> x, t = program.variable("x", 2), program.variable("t")
    >>> milopt.concatenate([x, t, [5.0]]).shape
    (4,)
    """
    joined = join_expressions(lambda parts: np.concatenate([np.atleast_1d(part) for part in parts], axis), expressions)
    return _with_text(joined, "concatenate", expressions, axis)


def hstack(expressions: Sequence[Operand]) -> Expression:
    """Stack expressions horizontally: vectors one after the other, matrices side by side.

    Parameters
    ----------
    expressions : list of Expression or array-like
        Expressions and numbers.

    Returns
    -------
    Expression
        The joined expression.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program()
    >>> X, Y = program.variable("X", (2, 3)), program.variable("Y", (2, 1))
    >>> milopt.hstack([X, Y]).shape
    (2, 4)
    """
    return _with_text(join_expressions(np.hstack, expressions, "hstack"), "hstack", expressions)


def vstack(expressions: Sequence[Operand]) -> Expression:
    """Stack expressions vertically, one below the other; a vector is a row.

    Parameters
    ----------
    expressions : list of Expression or array-like
        Expressions and numbers.

    Returns
    -------
    Expression
        The joined expression.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program()
    >>> x, y = program.variable("x", 3), program.variable("y", 3)
    >>> milopt.vstack([x, y]).shape
    (2, 3)
    """
    return _with_text(join_expressions(np.vstack, expressions, "vstack"), "vstack", expressions)


def stack(expressions: Sequence[Operand], axis: int = 0) -> Expression:
    """Stack expressions of the same shape along a new axis.

    Parameters
    ----------
    expressions : list of Expression or array-like
        Expressions and numbers of the same shape.
    axis : int, default=0
        Position of the new axis in the shape of the result.

    Returns
    -------
    Expression
        The joined expression.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program()
    >>> x, y = program.variable("x", 3), program.variable("y", 3)
    >>> milopt.stack([x, y], axis=1).shape
    (3, 2)
    """
    joined = join_expressions(lambda parts: np.stack(parts, axis), expressions, "stack")
    return _with_text(joined, "stack", expressions, axis)


def _with_text(joined: Expression, function: str, expressions: Sequence[Operand], axis: int = 0) -> Expression:
    """Return the joined expression, which is printed as a call of the function."""
    joined.joined = JoinedText(function, [as_expression(part) for part in expressions], axis)
    return joined


def join_expressions(
    join: Callable[[Any], Any], expressions: Sequence[Operand] | Sequence[Sequence[Operand]], name: str = "concatenate"
) -> Expression:
    """Return expressions joined as the numpy function `join` joins a list (for `np.block`, a nested list) of arrays."""
    if not isinstance(expressions, (list, tuple)):
        raise DeclarationError(f"{name} requires a list of expressions, as in {name}([x, y]).")
    if not expressions:
        raise DeclarationError(f"{name} requires at least one expression.")
    parts: list[Expression] = []
    numbers = _replace_by_numbers(expressions, parts)
    entries = _concatenate_entries(parts)
    shapes = ", ".join(str(part.shape) for part in parts)
    try:
        return entries.rearrange(lambda _: join(numbers), name)
    except DeclarationError:
        raise DeclarationError(f"{name} cannot join expressions of shapes {shapes}.") from None


def _replace_by_numbers(expressions: Sequence[Any], parts: list[Expression]) -> list[Any]:
    """Return the nested list with each expression replaced by an array of numbers 1, 2, ... of its entries.

    The numbers continue from one expression to the next. All expressions are appended to `parts`.
    """
    numbers: list[Any] = []
    for item in expressions:
        if isinstance(item, list) and any(isinstance(entry, (Expression, list)) for entry in item):
            numbers.append(_replace_by_numbers(item, parts))
            continue
        expression = as_expression(item)
        start = 1 + sum(part.size for part in parts)
        numbers.append(np.arange(start, start + expression.size).reshape(expression.shape))
        parts.append(expression)
    return numbers


def _concatenate_entries(parts: Sequence[Expression]) -> Expression:
    """Return the entries of all parts as one vector."""
    constant = np.concatenate([part.constant for part in parts])
    starts = np.cumsum([0, *(part.size for part in parts)])
    leaves = {id(leaf): leaf for part in parts for leaf, _ in part.terms}
    terms = [(leaf, _stack_coefficients(leaf, parts, starts)) for leaf in leaves.values()]
    is_negated = all(part.constant_is_negated or not part.constant.any() for part in parts)
    return Expression((constant.size,), constant, terms, None, is_negated)


def _stack_coefficients(leaf: Leaf, parts: Sequence[Expression], starts: Integers) -> Coefficient:
    """Return the coefficients of a leaf in all parts, one below the other.

    `starts` has the first row of each part, followed by the number of rows of all parts.
    """
    own = [next((c for known, c in part.terms if known is leaf), None) for part in parts]
    matrices = [zeros(part.size, leaf.size) if c is None else c.matrix for part, c in zip(parts, own, strict=True)]
    products = tuple(
        Product(_pad_rows(product.left, int(start), int(starts[-1])), product.scale, product.right)
        for coefficient, start in zip(own, starts, strict=False)
        for product in (coefficient.products if coefficient else ())
    )
    is_negated = all(coefficient.is_negated for coefficient in own if coefficient)
    return Coefficient(stack_rows(matrices), products, is_negated=is_negated)


def _pad_rows(matrix: sp.csr_array, start: int, rows: int) -> sp.csr_array:
    """Return a matrix with empty rows above and below, such that it begins in row `start` and has `rows` rows."""
    indptr = matrix.indptr[np.clip(np.arange(rows + 1) - start, 0, matrix.shape[0])]
    return from_parts(matrix.data, matrix.indices, indptr, (rows, matrix.shape[1]))
