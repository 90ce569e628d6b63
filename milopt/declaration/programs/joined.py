"""Several expressions as one, joined as numpy joins arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.declaration.programs.coefficient import Coefficient, Product
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.sparse import Index, from_parts, stacked, zeros
from milopt.errors import DeclarationError


def concatenate(expressions: Sequence[Operand], axis: int = 0) -> Expression:
    """Return expressions or numbers one after the other along an axis; a scalar is one entry."""
    return joined(lambda parts: np.concatenate([np.atleast_1d(part) for part in parts], axis), expressions)


def hstack(expressions: Sequence[Operand]) -> Expression:
    """Return expressions or numbers side by side; vectors one after the other."""
    return joined(np.hstack, expressions, "hstack")


def vstack(expressions: Sequence[Operand]) -> Expression:
    """Return expressions or numbers one below the other; a vector is a row."""
    return joined(np.vstack, expressions, "vstack")


def stack(expressions: Sequence[Operand], axis: int = 0) -> Expression:
    """Return expressions or numbers of one shape along a new axis."""
    return joined(lambda parts: np.stack(parts, axis), expressions, "stack")


def joined(
    join: Callable[[Any], Any], expressions: Sequence[Operand] | Sequence[Sequence[Operand]], name: str = "concatenate"
) -> Expression:
    """Return expressions joined by a function of numpy that takes a list of arrays, or lists of lists."""
    if not isinstance(expressions, (list, tuple)):
        raise DeclarationError(f"{name} takes a list of expressions, as in {name}([x, y]).")
    if not expressions:
        raise DeclarationError(f"{name} takes at least one expression.")
    parts: list[Expression] = []
    places = _places(expressions, parts)
    entries = _one_after_the_other(parts)
    shapes = ", ".join(str(part.shape) for part in parts)
    try:
        return entries.rearranged(lambda _: join(places), name)
    except DeclarationError:
        raise DeclarationError(f"{name} does not join expressions of the shapes {shapes}.") from None


def _places(expressions: Sequence[Any], parts: list[Expression]) -> list[Any]:
    """Add all expressions to `parts`; return, in their stead, the numbers 1, 2, ... of their entries in all parts."""
    found: list[Any] = []
    for one in expressions:
        if isinstance(one, list) and any(isinstance(entry, (Expression, list)) for entry in one):
            found.append(_places(one, parts))
            continue
        expression = as_expression(one)
        start = 1 + sum(part.size for part in parts)
        found.append(np.arange(start, start + expression.size).reshape(expression.shape))
        parts.append(expression)
    return found


def _one_after_the_other(parts: Sequence[Expression]) -> Expression:
    """Return the entries of all parts as one vector."""
    constant = np.concatenate([part.constant for part in parts])
    starts = np.cumsum([0, *(part.size for part in parts)])
    leaves = {id(leaf): leaf for part in parts for leaf, _ in part.terms}
    terms = [(leaf, _stacked_coefficient(leaf, parts, starts)) for leaf in leaves.values()]
    is_negated = all(part.constant_is_negated or not part.constant.any() for part in parts)
    return Expression((constant.size,), constant, terms, None, is_negated)


def _stacked_coefficient(leaf: Leaf, parts: Sequence[Expression], starts: Index) -> Coefficient:
    """Return the coefficients of a leaf in all parts, one under the other."""
    own = [next((c for known, c in part.terms if known is leaf), None) for part in parts]
    matrices = [zeros(part.size, leaf.size) if c is None else c.matrix for part, c in zip(parts, own, strict=True)]
    products = tuple(
        Product(_below(product.left, int(start), int(starts[-1])), product.scale, product.right)
        for coefficient, start in zip(own, starts, strict=False)
        for product in (coefficient.products if coefficient else ())
    )
    is_negated = all(coefficient.is_negated for coefficient in own if coefficient)
    return Coefficient(stacked(matrices), products, is_negated=is_negated)


def _below(matrix: sp.csr_array, start: int, rows: int) -> sp.csr_array:
    """Return a matrix with empty rows above and below."""
    indptr = matrix.indptr[np.clip(np.arange(rows + 1) - start, 0, matrix.shape[0])]
    return from_parts(matrix.data, matrix.indices, indptr, (rows, matrix.shape[1]))
