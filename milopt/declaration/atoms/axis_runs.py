"""The entries of an expression along an axis, as the runs of an atom."""

from __future__ import annotations

import numpy as np

from milopt.declaration.atoms.segments import Segments
from milopt.declaration.expression import Expression, Operand, Shape, as_expression
from milopt.errors import DeclarationError


def runs_along(expression: Operand, axis: int | None, atom: str) -> tuple[Expression, Segments, Shape]:
    """Return the entries run after run, the runs, and the shape of an atom with one entry per run.

    All entries are one run if `axis` is None; an error names the atom.
    """
    argument = as_expression(expression)
    if axis is None:
        return argument, Segments([argument.size]), ()
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -argument.ndim <= axis < argument.ndim:
        raise DeclarationError(f"{axis!r} is not an axis of the argument of {atom}, which has shape {argument.shape}.")
    moved = argument.rearranged(lambda entries: np.moveaxis(entries, axis, -1), atom)
    *shape, length = moved.shape
    return moved.ravel(), Segments(np.full(int(np.prod(shape)), length)), tuple(shape)
