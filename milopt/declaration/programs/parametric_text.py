"""Terms with parameters as text, such as 2*p*x, P @ x and sum(q*x)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Integers
from milopt.declaration.programs.coefficient import Product
from milopt.declaration.programs.linear_maps import sum_matrix
from milopt.declaration.programs.number_text import format_array, format_product
from milopt.declaration.programs.sparse import have_same_pattern, row_lengths

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Leaf

MAX_MATCHED_ENTRIES = 10_000
"""Number of entries of a product above which it is not compared with matrix products."""


def format_parametric_term(leaf: Leaf, product: Product) -> str:
    """Return the term left @ (scale * (right @ leaf)), with `scale` an expression in parameters, as text."""
    left, scale = product.left, product.scale
    multiple = leaf.apply_matrix(product.right, scale.shape)
    if not left.nnz:
        return "0"
    is_scaled = np.ptp(left.data) == 0.0
    if left.shape[0] == left.shape[1] and np.array_equal(left.indices, np.arange(left.shape[0])):
        entrywise = _format_entrywise(scale, multiple)
        factor = float(left.data[0])
        return format_product(factor, entrywise) if is_scaled else f"{format_array(left.data, ())}*{entrywise}"
    if is_scaled:
        text: str | None = _format_matrix_product(left, scale, multiple)
        if text is None and left.shape[0] == 1 and left.nnz == left.shape[1]:
            text = f"sum({_format_entrywise(scale, multiple)})"
        if text is not None:
            return format_product(float(left.data[0]), text)
    return f"[{left.shape[0]} x {left.shape[1]}] @ ({_format_entrywise(scale, multiple)})"


def _format_entrywise(scale: Expression, multiple: Expression) -> str:
    """Return the entrywise product of two expressions as text; a minus sign comes first."""
    texts = [_in_brackets(scale, "+-@"), _in_brackets(multiple, "+-@")]
    sign = "-" if sum(text.startswith("-") for text in texts) == 1 else ""
    return sign + "*".join(text.removeprefix("-") for text in texts)


def _in_brackets(expression: Expression, operators: str) -> str:
    """Return an expression as text, in brackets if one of the operators is outside of all brackets."""
    text, depth = expression.describe(), 0
    for before, character in zip(" " + text, text, strict=False):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character in operators and (before == " " or character == "*") and text[0] != character:
            return f"({text})"
    return text


def _format_matrix_product(left: sp.csr_array, scale: Expression, multiple: Expression) -> str | None:
    """Return left @ (scale * multiple) as text if it is a matrix product of both, or None.

    A matrix product a @ b is the sum of a broadcast product a * b along one axis: a repeats along the axes that only b
    has, and b along those that only a has.
    """
    if scale.size > MAX_MATCHED_ENTRIES or scale.ndim > 3:
        return None
    axis = -1 if scale.ndim < 3 else -2
    for summed in {axis, -1, -min(scale.ndim, 2)}:
        if not have_same_pattern(left, sum_matrix(scale.shape, summed, keepdims=False)[0]):
            continue
        first_axis, last_axis = _free_axes(scale.ndim, summed)
        for first, second in ((scale, multiple), (multiple, scale)):
            a, b = _drop_axis(first, last_axis), _drop_axis(second, first_axis)
            if a is not None and b is not None:
                return f"{_in_brackets(a, '+-@*')} @ {_in_brackets(b, '+-@*')}"
    return None


def _free_axes(ndim: int, summed: int) -> tuple[int | None, int | None]:
    """Return the axis of the rows of a and that of the columns of b in a product a @ b, which sums along `summed`."""
    if ndim == 3:
        return 0, 2
    if ndim == 2:
        return (0, None) if summed == -1 else (None, 1)
    return None, None


def _drop_axis(expression: Expression, axis: int | None) -> Expression | None:
    """Return one slice of an expression along an axis if all slices are equal, otherwise None.

    Without an axis, return the expression if it is not one entry that repeats.
    """
    chosen = np.arange(expression.size).reshape(expression.shape)
    is_single = all((row_lengths(c.matrix) == 1).all() and not c.products for _, c in expression.terms)
    if not is_single or expression.constant.any():
        return None if axis is not None else expression
    columns = [coefficient.matrix.indices for _, coefficient in expression.terms]
    if axis is None:
        repeats = expression.size > 1 and all(np.ptp(entries) == 0 for entries in columns)
        return None if repeats else expression
    if any(_differs_along(entries.reshape(expression.shape), axis) for entries in columns):
        return None
    return expression[tuple(0 if k == axis else slice(None) for k in range(chosen.ndim))]


def _differs_along(entries: Integers, axis: int) -> bool:
    """Return True if the slices of an array along an axis differ."""
    return bool((np.diff(entries, axis=axis) != 0).any())
