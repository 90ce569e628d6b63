"""Several expressions as the one argument of an atom: their entries alternate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from milopt.declaration.expression import Expression, Operand, Shape, as_expression, broadcast
from milopt.declaration.sparse import from_parts
from milopt.errors import DeclarationError


def at_one_shape(expressions: Sequence[Operand], atom: str) -> tuple[tuple[Expression, ...], Shape]:
    """Return expressions or numbers at their common shape, to which scalars are repeated; an error names the atom."""
    given = [as_expression(one) for one in expressions]
    shapes = {one.shape for one in given if one.shape}
    if len(shapes) > 1:
        raise DeclarationError(f"{atom} takes expressions of one shape, or scalars, not {sorted(shapes)}.")
    shape = shapes.pop() if shapes else ()
    return tuple(broadcast(one, shape[0]) if shape else one for one in given), shape


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
    return spread @ broadcast(expression, 1)
