"""Expressions as text, close to what the user wrote, such as 2*x[0] - x[1] + 3*t; long expressions are shortened."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.coefficient import Coefficient, Product
from milopt.declaration.programs.linear_maps import entry_name
from milopt.declaration.programs.matrix_term_text import format_grid_index, format_matrix_term
from milopt.declaration.programs.sparse import Index, row_lengths

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Leaf

MAX_SHOWN_ENTRIES = 5
"""Maximum number of entries of a leaf, or numbers of a constant, that are written out."""


def format_expression(expression: Expression) -> str:
    """Return an expression as text."""
    terms = [
        term for leaf, coefficient in expression.terms for term in _format_terms(leaf, coefficient, expression.shape)
    ]
    constant = _format_constant(expression.constant)
    if constant != "0" or not terms:
        terms.append(constant)
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def _format_terms(leaf: Leaf, coefficient: Coefficient, shape: tuple[int, ...]) -> list[str]:
    """Return the texts of the terms of coefficient @ leaf; a negative term starts with a minus sign.

    `shape` is the shape of the whole expression.
    """
    name = leaf.describe()
    if coefficient.products:
        constant_terms = _format_terms(leaf, Coefficient(coefficient.matrix), shape)
        return [*constant_terms, *(_format_parametric_term(name, product) for product in coefficient.products)]
    matrix = coefficient.value()
    factors, columns = matrix.data, matrix.indices
    if not factors.any():
        return []
    if matrix.shape[0] == 1:
        return _format_weighted_sum(name, factors, columns, leaf.shape)
    if (row_lengths(matrix) == 1).all():
        if np.ptp(factors) == 0.0:
            return [_format_product(float(factors[0]), _format_entries(name, columns, leaf.shape))]
        if leaf.size == 1 or np.array_equal(columns, np.arange(leaf.size)):
            return [f"{_format_numbers(factors)}*{name}"]
    product = format_matrix_term(name, matrix, leaf.shape, shape) if len(leaf.shape) > 1 else None
    if product is not None:
        return [_format_product(*product)]
    return [f"[{matrix.shape[0]} x {matrix.shape[1]}] @ {name}"]


def _format_entries(name: str, columns: Index, shape: tuple[int, ...]) -> str:
    """Return the text of the entries `columns` of a leaf of this shape, such as "x[0:2]"."""
    size = prod(shape)
    if size == 1 or np.array_equal(columns, np.arange(size)):
        return name
    if len(shape) > 1:
        along = ", ".join(_format_numbers(chosen) for chosen in np.unravel_index(columns, shape))
        return format_grid_index(name, columns, shape) or f"{name}[{along}]"
    if (np.diff(columns) == 1).all():
        return f"{name}[{columns[0]}:{columns[-1] + 1}]"
    return f"{name}[{_format_numbers(columns)}]"


def _format_parametric_term(name: str, product: Product) -> str:
    """Return a parametric multiple of a leaf as text, such as "-p*x"; of the left matrix, only the sign is shown."""
    scale = format_expression(product.scale)
    is_negative = product.left.data.size > 0 and (product.left.data < 0).all()
    factor = f"({scale})" if " " in scale else scale
    return f"{'-' if is_negative else ''}{factor}*{name}"


def _format_weighted_sum(name: str, factors: Vector, columns: Index, shape: tuple[int, ...]) -> list[str]:
    """Return the texts of the terms of sum_k factors[k] leaf[columns[k]], for a leaf of this shape."""
    size = prod(shape)
    if size == 1:
        return [_format_product(float(factors[0]), name)]
    if columns.size == size and np.ptp(factors) == 0.0:
        return [_format_product(float(factors[0]), f"sum({name})")]
    is_long = columns.size > MAX_SHOWN_ENTRIES
    shown = [*range(MAX_SHOWN_ENTRIES - 2), -1] if is_long else range(columns.size)
    terms = [_format_product(float(factors[k]), f"{name}[{entry_name(int(columns[k]), shape)}]") for k in shown]
    return [*terms[:-1], "...", terms[-1]] if is_long else terms


def _format_product(factor: float, name: str) -> str:
    """Return the text of a number times a name; the factors 1 and -1 are not written as numbers."""
    if name.startswith("-"):
        factor, name = -factor, name[1:]
    if abs(factor) == 1.0:
        return name if factor > 0 else f"-{name}"
    return f"{factor:.6g}*{name}"


def _format_constant(constant: Vector) -> str:
    """Return the constant of an expression as text."""
    if not constant.size or (constant == constant[0]).all():
        return f"{(float(constant[0]) if constant.size else 0.0) + 0.0:.6g}"  # + 0.0 turns -0.0 into 0.0
    return _format_numbers(constant)


def _format_numbers(numbers: Vector | Index) -> str:
    """Return numbers as text, shortened if there are many."""
    if len(numbers) > MAX_SHOWN_ENTRIES:
        shown = [*(f"{number:.6g}" for number in numbers[: MAX_SHOWN_ENTRIES - 2]), "...", f"{numbers[-1]:.6g}"]
    else:
        shown = [f"{number:.6g}" for number in numbers]
    return f"[{', '.join(shown)}]"
