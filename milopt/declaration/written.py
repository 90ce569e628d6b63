"""Expressions as text, near to what was written: 2*x[0] - x[1] + 3*t; long ones are shortened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milopt.declaration.coefficient import Coefficient
from milopt.declaration.sparse import Index, Vector, row_lengths

if TYPE_CHECKING:
    from milopt.declaration.expression import Expression, Leaf

MOST_ENTRIES = 5
"""Entries of a leaf, or numbers of a constant, that are written out."""


def written(expression: Expression) -> str:
    """Return an expression as text."""
    terms = [term for leaf, coefficient in expression.terms for term in _terms(leaf, coefficient, expression.size)]
    constant = _constant(expression.constant)
    if constant != "0" or not terms:
        terms.append(constant)
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def _terms(leaf: Leaf, coefficient: Coefficient, size: int) -> list[str]:
    """Return coefficient @ leaf as terms; a minus sign is the first character."""
    name = leaf.describe()
    if coefficient.products:
        return [_parametric(name, coefficient)]
    matrix = coefficient.value()
    factors, columns = matrix.data, matrix.indices
    if not factors.any():
        return []
    if size == 1:
        return _entries(name, factors, columns, leaf.size)
    if (row_lengths(matrix) == 1).all():
        if np.ptp(factors) == 0.0:
            return [_times(float(factors[0]), _chosen(name, columns, leaf.size))]
        if leaf.size == 1 or np.array_equal(columns, np.arange(leaf.size)):
            return [f"{_numbers(factors)}*{name}"]
    return [f"[{matrix.shape[0]} x {matrix.shape[1]}] @ {name}"]


def _chosen(name: str, columns: Index, size: int) -> str:
    """Return some entries of a leaf as they are indexed."""
    if size == 1 or np.array_equal(columns, np.arange(size)):
        return name
    if (np.diff(columns) == 1).all():
        return f"{name}[{columns[0]}:{columns[-1] + 1}]"
    return f"{name}[{_numbers(columns)}]"


def _parametric(name: str, coefficient: Coefficient) -> str:
    """Return a term that is multiplied with parameters."""
    scales = [written(product.scale) for product in coefficient.products]
    scale = scales[0] if len(scales) == 1 and " " not in scales[0] else f"({' + '.join(scales)})"
    return f"{scale}*{name}"


def _entries(name: str, factors: Vector, columns: Index, size: int) -> list[str]:
    """Return a weighted sum of the entries of a leaf."""
    if size == 1:
        return [_times(float(factors[0]), name)]
    if columns.size == size and np.ptp(factors) == 0.0:
        return [_times(float(factors[0]), f"sum({name})")]
    terms = [_times(float(factor), f"{name}[{column}]") for factor, column in zip(factors, columns, strict=True)]
    return terms if len(terms) <= MOST_ENTRIES else [*terms[: MOST_ENTRIES - 2], "...", terms[-1]]


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
    shown = [f"{number:.6g}" for number in numbers]
    if len(shown) > MOST_ENTRIES:
        shown = [*shown[: MOST_ENTRIES - 2], "...", shown[-1]]
    return f"[{', '.join(shown)}]"
