"""Expressions as text, near to what was written: 2*x[0] - x[1] + 3*t; long ones are shortened."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.linear_maps import entry_name
from milopt.declaration.programs.sparse import Index, row_lengths
from milopt.declaration.programs.written_matrix import grid_index, matrix_term

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression, Leaf

MOST_ENTRIES = 5
"""Entries of a leaf, or numbers of a constant, that are written out."""


def written(expression: Expression) -> str:
    """Return an expression as text."""
    terms = [term for leaf, coefficient in expression.terms for term in _terms(leaf, coefficient, expression.shape)]
    constant = _constant(expression.constant)
    if constant != "0" or not terms:
        terms.append(constant)
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def _terms(leaf: Leaf, coefficient: Coefficient, shape: tuple[int, ...]) -> list[str]:
    """Return coefficient @ leaf as terms; a minus sign is the first character."""
    name = leaf.describe()
    if coefficient.products:
        return [_parametric(name, coefficient)]
    matrix = coefficient.value()
    factors, columns = matrix.data, matrix.indices
    if not factors.any():
        return []
    if matrix.shape[0] == 1:
        return _entries(name, factors, columns, leaf.shape)
    if (row_lengths(matrix) == 1).all():
        if np.ptp(factors) == 0.0:
            return [_times(float(factors[0]), _chosen(name, columns, leaf.shape))]
        if leaf.size == 1 or np.array_equal(columns, np.arange(leaf.size)):
            return [f"{_numbers(factors)}*{name}"]
    found = matrix_term(name, matrix, leaf.shape, shape) if len(leaf.shape) > 1 else None
    if found is not None:
        return [_times(*found)]
    return [f"[{matrix.shape[0]} x {matrix.shape[1]}] @ {name}"]


def _chosen(name: str, columns: Index, shape: tuple[int, ...]) -> str:
    """Return some entries of a leaf as they are indexed."""
    size = prod(shape)
    if size == 1 or np.array_equal(columns, np.arange(size)):
        return name
    if len(shape) > 1:
        along = ", ".join(_numbers(chosen) for chosen in np.unravel_index(columns, shape))
        return grid_index(name, columns, shape) or f"{name}[{along}]"
    if (np.diff(columns) == 1).all():
        return f"{name}[{columns[0]}:{columns[-1] + 1}]"
    return f"{name}[{_numbers(columns)}]"


def _parametric(name: str, coefficient: Coefficient) -> str:
    """Return a term that is multiplied with parameters."""
    scales = [written(product.scale) for product in coefficient.products]
    scale = scales[0] if len(scales) == 1 and " " not in scales[0] else f"({' + '.join(scales)})"
    return f"{scale}*{name}"


def _entries(name: str, factors: Vector, columns: Index, shape: tuple[int, ...]) -> list[str]:
    """Return a weighted sum of the entries of a leaf."""
    size = prod(shape)
    if size == 1:
        return [_times(float(factors[0]), name)]
    if columns.size == size and np.ptp(factors) == 0.0:
        return [_times(float(factors[0]), f"sum({name})")]
    is_long = columns.size > MOST_ENTRIES
    shown = [*range(MOST_ENTRIES - 2), -1] if is_long else range(columns.size)
    terms = [_times(float(factors[k]), f"{name}[{entry_name(int(columns[k]), shape)}]") for k in shown]
    return [*terms[:-1], "...", terms[-1]] if is_long else terms


def _times(factor: float, name: str) -> str:
    """Return a number times a name; minus and one are not written as numbers."""
    if name.startswith("-"):
        factor, name = -factor, name[1:]
    if abs(factor) == 1.0:
        return name if factor > 0 else f"-{name}"
    return f"{factor:.6g}*{name}"


def _constant(constant: Vector) -> str:
    if not constant.size or (constant == constant[0]).all():
        return f"{float(constant[0]) if constant.size else 0.0:.6g}"
    return _numbers(constant)


def _numbers(numbers: Vector | Index) -> str:
    if len(numbers) > MOST_ENTRIES:
        shown = [*(f"{number:.6g}" for number in numbers[: MOST_ENTRIES - 2]), "...", f"{numbers[-1]:.6g}"]
    else:
        shown = [f"{number:.6g}" for number in numbers]
    return f"[{', '.join(shown)}]"
