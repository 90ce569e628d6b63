"""Several expressions one after the other as one vector."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from milopt.declaration.expression import Expression, Operand, as_expression, broadcast
from milopt.declaration.sparse import from_parts
from milopt.errors import DeclarationError


def concatenate(expressions: Sequence[Operand]) -> Expression:
    """Return one vector with the entries of all expressions or numbers, in this order; a scalar is one entry."""
    if not isinstance(expressions, (list, tuple)):
        raise DeclarationError("concatenate takes a list of expressions, as in concatenate([x, y]).")
    parts = [broadcast(part, 1) if not part.shape else part for part in map(as_expression, expressions)]
    if not parts:
        raise DeclarationError("concatenate takes at least one expression.")
    starts = np.cumsum([0, *(part.size for part in parts)])
    total = int(starts[-1])
    return reduce(
        lambda a, b: a + b, (_placed(part, int(start), total) for part, start in zip(parts, starts, strict=False))
    )


def _placed(part: Expression, start: int, total: int) -> Expression:
    """Return a vector of zeros, with the entries of a part from `start` on."""
    indptr = np.clip(np.arange(total + 1) - start, 0, part.size)
    return from_parts(np.ones(part.size), np.arange(part.size), indptr, (total, part.size)) @ part
