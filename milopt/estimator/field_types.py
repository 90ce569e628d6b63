"""Check that the fields of a record read from a file have the types that its class declares."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


def check_fields(record: object) -> None:
    """Raise a ValueError that names the first field of a dataclass that is of another type than declared."""
    hints = hints_of(type(record))  # type: ignore[arg-type]  # a class is hashable
    for field in fields(record):  # type: ignore[arg-type]  # every record is a dataclass
        if not fits(getattr(record, field.name), hints[field.name]):
            raise ValueError(f"the {field.name} of a {type(record).__name__} is of another type")


@cache
def hints_of(cls: type) -> Mapping[str, Any]:
    """The declared types of the fields of a class."""
    return get_type_hints(cls)


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a declared type, including the entries of tuples and mappings and the types of arrays."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return True
    if hint is float:
        return isinstance(value, float) or (fits(value, int) and _is_within_floats(value))
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is Union or origin is types.UnionType:
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and _fits_entries(value, arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _fits_dtype(value.dtype, arguments[1])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, held = arguments
        return isinstance(value, Mapping) and all(fits(k, key) and fits(v, held) for k, v in value.items())
    if isinstance(origin or hint, type):
        return isinstance(value, origin or hint)
    raise TypeError(f"there is no check for the type {hint!r}")


def _is_within_floats(value: Any) -> bool:
    """Return True if an integer is not too large for a float."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _fits_entries(value: tuple[object, ...], kinds: tuple[Any, ...]) -> bool:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return all(fits(one, kinds[0]) for one in value)
    return len(value) == len(kinds) and all(fits(one, kind) for one, kind in zip(value, kinds, strict=True))


def _fits_dtype(dtype: np.dtype[Any], hint: Any) -> bool:
    """Whether an array's dtype is of the declared scalar type; any integers may stand for indices."""
    scalar = get_args(hint)[0] if get_args(hint) else Any
    if scalar is Any:
        return True
    scalar = get_origin(scalar) or scalar
    if issubclass(scalar, np.integer):
        return dtype.kind in "iu"
    return issubclass(dtype.type, scalar) and dtype.isnative
