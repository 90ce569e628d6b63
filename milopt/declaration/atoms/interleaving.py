"""Interleave several expressions into the single argument of an atom, and separate them again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from milopt.declaration.programs.expression import Expression, Operand, Shape, as_expression, broadcast, common_shape
from milopt.declaration.programs.sparse import from_parts
from milopt.errors import DeclarationError


def broadcast_together(expressions: Sequence[Operand], atom: str) -> tuple[tuple[Expression, ...], Shape]:
    """Return (parts, shape): the expressions or numbers broadcast to a common shape, and this shape.

    Each part is flattened to a vector, or is a scalar if the shape is (). `DeclarationError`, with the name `atom` in
    its message, is raised if the shapes do not match.
    """
    operands = [as_expression(operand) for operand in expressions]
    shape: Shape | None = ()
    for operand in operands:
        shape = None if shape is None else common_shape(shape, operand.shape)
    if shape is None:
        shapes = ", ".join(str(operand.shape) for operand in operands)
        raise DeclarationError(f"{atom} needs expressions whose shapes can be broadcast to one shape, not {shapes}.")
    return tuple(broadcast(operand, shape).ravel() if shape else operand for operand in operands), shape


def interleave(parts: Sequence[Expression]) -> Expression:
    """Return a vector with the first entries of all parts, then their second entries, and so on.

    The parts have equal sizes.
    """
    return reduce(lambda a, b: a + b, (_scatter_with_stride(part, k, len(parts)) for k, part in enumerate(parts)))


def deinterleave(argument: Expression, width: int, shape: Shape) -> tuple[Expression, ...]:
    """Return the `width` parts that `interleave` joined, as scalars if `shape` is (), otherwise as vectors."""
    return tuple(argument[k::width] if shape else argument[k] for k in range(width))


def _scatter_with_stride(expression: Expression, start: int, width: int) -> Expression:
    """Return a vector with the entries of an expression at the positions start, start + width, ..., and 0 elsewhere."""
    count = expression.size
    rows = np.zeros(count * width + 1, dtype=np.intp)
    rows[start + 1 + width * np.arange(count)] = 1
    spread = from_parts(np.ones(count), np.arange(count), np.cumsum(rows), (count * width, count))
    return spread @ expression.ravel()
