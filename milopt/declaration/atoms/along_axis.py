"""Runs of argument entries for atoms that reduce all entries, or the entries along an axis."""

from __future__ import annotations

from math import prod

import numpy as np

from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Operand, Shape, as_expression
from milopt.errors import DeclarationError


def runs_along_axis(expression: Operand, axis: int | None, atom: str) -> tuple[Expression, Segments, Shape]:
    """Return (argument, runs, shape) for an atom that reduces all entries of an expression, or those along an axis.

    The argument has the entries of each run in sequence, and the shape is that of the atom. Without an axis, all
    entries form one run, and the atom is a scalar. With an axis, each run consists of the entries along that axis, and
    the atom has the shape of the remaining axes. `atom` is the name of the atom in error messages.
    """
    argument = as_expression(expression)
    if axis is None:
        return argument, Segments([argument.size]), ()
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -argument.ndim <= axis < argument.ndim:
        raise DeclarationError(
            f"{atom} supports one axis of its argument, or None for all entries; {axis!r} is not an axis of "
            f"{argument.describe()}, of shape {argument.shape}."
        )
    moved = np.moveaxis(np.arange(argument.size).reshape(argument.shape), axis, -1)
    shape = moved.shape[:-1]
    return argument.ravel()[moved.ravel()], Segments(np.full(prod(shape), moved.shape[-1])), shape
