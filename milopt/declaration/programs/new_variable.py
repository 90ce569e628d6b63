"""A variable from its shape, bounds and integrality, all of them checked."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.declaration.programs.constants import real
from milopt.declaration.programs.expression import Shape
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.linear_maps import entry_name
from milopt.errors import DeclarationError


def new_variable(
    name: str,
    shape: int | Shape,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    integer: npt.ArrayLike = False,
    binary: npt.ArrayLike = False,
) -> Variable:
    """Return a variable, or raise an error that names it."""
    dimensions = as_shape(shape, name)
    is_integer = _which(integer, dimensions, f"integer of variable {name!r}")
    is_binary = _which(binary, dimensions, f"binary of variable {name!r}")
    has_binaries = bool(is_binary.any())
    if has_binaries and is_binary.all() and (lower is not None or upper is not None or is_integer.any()):
        raise DeclarationError(f"Variable {name!r} is binary: it takes no bounds, and need not be integer.")
    low = _bounds(lower, -np.inf, dimensions, f"lower bound of {name!r}")
    high = _bounds(upper, np.inf, dimensions, f"upper bound of {name!r}")
    if has_binaries:
        low, high = np.where(is_binary, np.maximum(low, 0.0), low), np.where(is_binary, np.minimum(high, 1.0), high)
    if (low > high).any():
        entry = entry_name(int(np.flatnonzero(low > high)[0]), dimensions)
        raise DeclarationError(f"Variable {name!r} has lower > upper at entry {entry}.")
    return Variable(name, dimensions, low, high, is_integer | is_binary)


def as_shape(shape: int | Shape, name: str) -> Shape:
    """Return a shape as a tuple, or raise an error that names its owner."""
    given: object = shape
    dimensions = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in dimensions):
        raise DeclarationError(
            f"{name!r} must be a scalar (), a vector (n,) or a matrix (m, n), not of shape {given!r}."
        )
    return tuple(int(n) for n in dimensions)


def _which(given: object, shape: Shape, what: str) -> npt.NDArray[np.bool_]:
    """Return per entry whether it is given as True."""
    if isinstance(given, bool):
        return np.full(prod(shape), given)
    mask = np.asarray(given)
    if mask.dtype != np.bool_:
        raise DeclarationError(f"{what} is True or False, or an array of these, not {given!r}.")
    return _broadcast(mask, shape, what)


def _bounds(bound: npt.ArrayLike | None, missing: float, shape: Shape, what: str) -> Vector:
    if bound is None:
        return np.full(prod(shape), missing)
    numbers = real(bound, f"The {what}")
    if np.isnan(numbers).any():
        raise DeclarationError(f"The {what} is NaN.")
    if (numbers == -missing).any():
        entry = entry_name(int(np.flatnonzero(numbers == -missing)[0]), numbers.shape)
        raise DeclarationError(
            f"The {what} is {-missing:g} at entry {entry}, which leaves no number: give a finite number, or "
            f"{missing:g} for no bound."
        )
    return _broadcast(numbers, shape, f"The {what}")


def _broadcast(array: npt.NDArray[Any], shape: Shape, what: str) -> npt.NDArray[Any]:
    """Return an array at a shape, as one vector; an array of one number fits every shape."""
    if array.size == 1:
        return np.full(prod(shape), array.item())
    try:
        return np.broadcast_to(array, shape).flatten()
    except ValueError:
        raise DeclarationError(f"{what} has shape {array.shape}; the variable has shape {shape}.") from None
