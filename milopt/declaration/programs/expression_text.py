"""Expressions as text, close to what the user wrote, such as 2*x[0] - x[1] + 3*t; long expressions are shortened."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Integers, Vector
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.linear_maps import Shape, entry_name
from milopt.declaration.programs.matrix_term_text import format_grid_index, format_matrix_term
from milopt.declaration.programs.number_text import MAX_SHOWN_ENTRIES, format_array, format_numbers, format_product
from milopt.declaration.programs.parametric_text import format_parametric_term
from milopt.declaration.programs.sparse import row_lengths

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Leaf

MAX_TEXT_LENGTH = 160
"""Length in characters above which inner terms of an expression are replaced by "..."."""
MAX_MATCHED_ENTRIES = 200_000
"""Number of entries of a coefficient above which it is not compared with matrix products."""
MAX_TERMS_PER_ROW = 3
"""Largest number of entries of a leaf in each row, such as 2 in x[1:] - x[:-1], that are written as terms."""


def format_expression(expression: Expression, shape: Shape | None = None, length: int = MAX_TEXT_LENGTH) -> str:
    """Return an expression as text.

    Parameters
    ----------
    expression : Expression
        The expression.
    shape : tuple of int, optional
        Shape in which the user wrote the expression, if it has been flattened since.
    length : int
        Length in characters above which terms are replaced by "...". The first and the last term are never replaced.
    """
    if expression.joined is not None:
        return expression.joined.format(length)
    written_shape = expression.shape if shape is None else shape
    terms = [term for leaf, coefficient in expression.terms for term in _format_terms(leaf, coefficient, written_shape)]
    _add_constant(terms, expression, written_shape)
    text = _join_terms(terms)
    shown = len(terms) - 1
    while len(text) > length and shown > 1:
        shown -= 1
        text = _join_terms([*(term for term in terms[:shown] if term != "..."), "...", terms[-1]])
    return text


def _add_constant(terms: list[str], expression: Expression, shape: Shape) -> None:
    """Add the text of the constant to the terms: first if it is added to a negative term, otherwise last."""
    numbers = expression.constant
    is_single = not numbers.size or bool((numbers == numbers[0]).all())
    is_subtracted = expression.constant_is_negated and not is_single and bool(terms)
    constant = f"-{format_array(-numbers, shape)}" if is_subtracted else format_array(numbers, shape)
    if constant != "0" or not terms:
        is_first = bool(terms) and terms[0].startswith("-") and not constant.startswith("-")
        terms.insert(0 if is_first else len(terms), constant)


def _join_terms(terms: Sequence[str]) -> str:
    """Return terms as a sum; a term that starts with a minus sign is subtracted."""
    first, *others = terms
    return first + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in others)


def _format_terms(leaf: Leaf, coefficient: Coefficient, shape: Shape) -> list[str]:
    """Return the texts of the terms of coefficient @ leaf; a negative term starts with a minus sign.

    `shape` is the shape of the whole expression.
    """
    name = leaf.describe()
    if coefficient.products:
        constant_terms = _format_terms(leaf, Coefficient(coefficient.matrix), shape)
        return [*constant_terms, *(format_parametric_term(leaf, product) for product in coefficient.products)]
    matrix = coefficient.value()
    if not matrix.data.any():
        return []
    if matrix.shape[0] == 1:
        return _format_weighted_sum(name, matrix.data, matrix.indices, leaf.shape)
    terms = _format_selections(name, matrix, leaf.shape, shape)
    if terms is not None:
        return terms
    is_matched = len(leaf.shape) > 1 and matrix.nnz <= MAX_MATCHED_ENTRIES
    product = format_matrix_term(name, matrix, leaf.shape, shape) if is_matched else None
    if product is None and leaf.bags is not None:
        product = _format_bag_reduction(name, matrix, leaf)
    return [format_product(*(product or (1.0, f"[{matrix.shape[0]} x {matrix.shape[1]}] @ {name}")))]


def _format_selections(name: str, matrix: sp.csr_array, leaf_shape: Shape, shape: Shape) -> list[str] | None:
    """Return the terms of sum_k factors_k * leaf[columns_k], such as -x[0:2] and x[1:3]; None for other matrices.

    Every row must have the same small number of entries. If there are several, all columns_k must be slices, and
    each factors_k one number.
    """
    lengths = row_lengths(matrix)
    count = int(lengths[0])
    if not 1 <= count <= MAX_TERMS_PER_ROW or (lengths != count).any():
        return None
    factors, columns = matrix.data.reshape(-1, count), matrix.indices.reshape(-1, count)
    is_constant = np.ptp(factors, axis=0) == 0.0
    if count == 1 and not is_constant[0]:
        return [f"{format_array(factors[:, 0], shape)}*{_format_entries(name, columns[:, 0], leaf_shape, shape)}"]
    if count > 1 and not (is_constant.all() and len(leaf_shape) == 1 and (np.diff(columns, axis=0) == 1).all()):
        return None
    texts = [_format_entries(name, columns[:, k], leaf_shape, shape) for k in range(count)]
    terms = [format_product(float(factors[0, k]), text) for k, text in enumerate(texts)]
    return sorted(terms, key=lambda term: term.startswith("-")) if terms[0].startswith("-") else terms


def _format_entries(name: str, columns: Integers, leaf_shape: Shape, shape: Shape) -> str:
    """Return the text of entries of a leaf, such as "x[0:2]"; `shape` is the shape in which they are arranged."""
    size = prod(leaf_shape)
    if size == 1:
        return name
    if np.array_equal(columns, np.arange(size)):
        is_reshaped = len(shape) > 1 and [n for n in shape if n > 1] != [n for n in leaf_shape if n > 1]
        return f"{name}.reshape{shape}" if is_reshaped and prod(shape) == size else name
    if len(leaf_shape) > 1:
        along = ", ".join(format_numbers(chosen) for chosen in np.unravel_index(columns, leaf_shape))
        return format_grid_index(name, columns, leaf_shape) or f"{name}[{along}]"
    if (np.diff(columns) == 1).all():
        return f"{name}[{columns[0]}:{columns[-1] + 1}]"
    strided = format_grid_index(name, columns, leaf_shape) if len(columns) > 2 else None
    return strided or f"{name}[{format_numbers(columns)}]"


def _format_bag_reduction(name: str, matrix: sp.csr_array, leaf: Leaf) -> tuple[float, str] | None:
    """Return (factor, text) of the sum or mean over the instances of each bag; None for any other matrix."""
    bags = leaf.bags
    if bags is None or matrix.shape != (len(bags), leaf.size) or not (row_lengths(matrix) == bags.sizes).all():
        return None
    for text, total in ((f"bag_sum({name})", np.ones(len(bags))), (f"bag_mean({name})", 1.0 / bags.sizes)):
        factor = float(matrix.data[0] / total[0])
        if np.allclose(matrix.data, factor * np.repeat(total, bags.sizes), rtol=1e-12, atol=0.0) and np.array_equal(
            matrix.indices, np.arange(leaf.size)
        ):
            return factor, text
    return None


def _format_weighted_sum(name: str, factors: Vector, columns: Integers, shape: Shape) -> list[str]:
    """Return the texts of the terms of sum_k factors[k] leaf[columns[k]], for a leaf of this shape."""
    size = prod(shape)
    if size == 1:
        return [format_product(float(factors[0]), name)]
    if columns.size == size and np.ptp(factors) == 0.0:
        return [format_product(float(factors[0]), f"sum({name})")]
    is_long = columns.size > MAX_SHOWN_ENTRIES
    shown = [*range(MAX_SHOWN_ENTRIES - 2), -1] if is_long else range(columns.size)
    terms = [format_product(float(factors[k]), f"{name}[{entry_name(int(columns[k]), shape)}]") for k in shown]
    return [*terms[:-1], "...", terms[-1]] if is_long else terms
