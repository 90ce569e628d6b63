"""Several expressions as the one argument of an atom: their entries alternate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from milopt.declaration.programs.expression import Expression, Operand, Shape, as_expression, broadcast, common_shape
from milopt.declaration.programs.sparse import from_parts
from milopt.errors import DeclarationError


def at_one_shape(expressions: Sequence[Operand], atom: str) -> tuple[tuple[Expression, ...], Shape]:
    """Return expressions or numbers, broadcast to their common shape, as vectors; an error names the atom."""
    given = [as_expression(one) for one in expressions]
    shape: Shape | None = ()
    for one in given:
        shape = None if shape is None else common_shape(shape, one.shape)
    if shape is None:
        shapes = ", ".join(str(one.shape) for one in given)
        raise DeclarationError(f"{atom} takes expressions whose shapes are broadcast to one shape, not {shapes}.")
    return tuple(broadcast(one, shape).ravel() if shape else one for one in given), shape


def interleaved(parts: Sequence[Expression]) -> Expression:
    """Return the first entries of all parts, then their second entries, and so on."""
    return reduce(lambda a, b: a + b, (_spread(part, k, len(parts)) for k, part in enumerate(parts)))


def separated(argument: Expression, width: int, shape: Shape) -> tuple[Expression, ...]:
    """Return the parts of an interleaved argument."""
    return tuple(argument[k::width] if shape else argument[k] for k in range(width))


def _spread(expression: Expression, place: int, width: int) -> Expression:
    """Return the entries at every `width`-th place of a longer vector, from `place` on."""
    count = expression.size
    rows = np.zeros(count * width + 1, dtype=np.intp)
    rows[place + 1 + width * np.arange(count)] = 1
    spread = from_parts(np.ones(count), np.arange(count), np.cumsum(rows), (count * width, count))
    return spread @ expression.ravel()
