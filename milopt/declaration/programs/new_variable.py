"""Construction of a variable from its shape, bounds and integrality, with checks."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.declaration.programs.constants import as_real_array
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
    """Return a variable; raise `DeclarationError` if its shape, bounds or integrality are invalid."""
    dimensions = as_shape(shape, name)
    is_integer = _as_mask(integer, dimensions, f"integer of variable {name!r}")
    is_binary = _as_mask(binary, dimensions, f"binary of variable {name!r}")
    has_binaries = bool(is_binary.any())
    if has_binaries and is_binary.all() and (lower is not None or upper is not None or is_integer.any()):
        raise DeclarationError(f"Variable {name!r} is binary: do not give lower, upper or integer.")
    low = _as_bounds(lower, -np.inf, dimensions, f"lower bound of {name!r}")
    high = _as_bounds(upper, np.inf, dimensions, f"upper bound of {name!r}")
    if has_binaries:
        low, high = np.where(is_binary, np.maximum(low, 0.0), low), np.where(is_binary, np.minimum(high, 1.0), high)
    if (low > high).any():
        entry = entry_name(int(np.flatnonzero(low > high)[0]), dimensions)
        raise DeclarationError(f"Variable {name!r} has lower > upper at entry {entry}.")
    return Variable(name, dimensions, low, high, is_integer | is_binary)


def as_shape(shape: int | Shape, name: str) -> Shape:
    """Return a shape as a tuple; raise `DeclarationError` if it is invalid. `name` is used in the message."""
    given: object = shape
    dimensions = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in dimensions):
        raise DeclarationError(
            f"{name!r} must be a scalar (), a vector (n,) or a matrix (m, n), not of shape {given!r}."
        )
    return tuple(int(n) for n in dimensions)


def _as_mask(given: object, shape: Shape, subject: str) -> npt.NDArray[np.bool_]:
    """Return a vector with one boolean per entry, from one boolean or an array; error messages begin with `subject`."""
    if isinstance(given, bool):
        return np.full(prod(shape), given)
    mask = np.asarray(given)
    if mask.dtype != np.bool_:
        raise DeclarationError(f"{subject} is True or False, or an array of these, not {given!r}.")
    return _broadcast_to_vector(mask, shape, subject)


def _as_bounds(bound: npt.ArrayLike | None, missing: float, shape: Shape, subject: str) -> Vector:
    """Return a vector with one bound per entry; `missing` (-inf or inf) is the value of an absent bound."""
    if bound is None:
        return np.full(prod(shape), missing)
    numbers = as_real_array(bound, f"The {subject}")
    if np.isnan(numbers).any():
        raise DeclarationError(f"The {subject} is NaN.")
    if (numbers == -missing).any():
        entry = entry_name(int(np.flatnonzero(numbers == -missing)[0]), numbers.shape)
        raise DeclarationError(
            f"The {subject} is {-missing:g} at entry {entry}, so that no number is feasible: give a finite number, or "
            f"{missing:g} for no bound."
        )
    return _broadcast_to_vector(numbers, shape, f"The {subject}")


def _broadcast_to_vector(array: npt.NDArray[Any], shape: Shape, subject: str) -> npt.NDArray[Any]:
    """Return an array broadcast to a shape, as a vector; an array with one entry fits every shape."""
    if array.size == 1:
        return np.full(prod(shape), array.item())
    try:
        return np.broadcast_to(array, shape).flatten()
    except ValueError:
        raise DeclarationError(f"{subject} has shape {array.shape}; the variable has shape {shape}.") from None
