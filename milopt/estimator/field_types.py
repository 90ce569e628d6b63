"""Type checks for the fields of records that are read from files."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


def check_fields(record: object) -> None:
    """Raise a ValueError that names the first field of a dataclass whose value does not have the declared type."""
    hints = declared_types(type(record))  # type: ignore[arg-type]  # a class is hashable
    for field in fields(record):  # type: ignore[arg-type]  # every record is a dataclass
        if not matches_type(getattr(record, field.name), hints[field.name]):
            raise ValueError(f"the {field.name} of a {type(record).__name__} is of another type")


@cache
def declared_types(cls: type) -> Mapping[str, Any]:
    """Return the declared types of the fields of a class, by name."""
    return get_type_hints(cls)


def matches_type(value: object, hint: Any) -> bool:
    """Return True if a value has the type `hint`, including entries of tuples and mappings and dtypes of arrays.

    An integer within the range of floats matches `float`; a boolean does not match `int`.
    """
    hint = expand_alias(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return True
    if hint is float:
        return isinstance(value, float) or (matches_type(value, int) and _is_within_floats(value))
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is Union or origin is types.UnionType:
        return any(matches_type(value, kind) for kind in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and _entries_match(value, arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _dtype_matches(value.dtype, arguments[1])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key_type, value_type = arguments
        return isinstance(value, Mapping) and all(
            matches_type(k, key_type) and matches_type(v, value_type) for k, v in value.items()
        )
    if isinstance(origin or hint, type):
        return isinstance(value, origin or hint)
    raise TypeError(f"there is no check for the type {hint!r}")


def expand_alias(hint: Any) -> Any:
    """Return the type that an alias of the statement `type` stands for; other types are returned unchanged.

    `NDArray` is such an alias since numpy 2.5, and its arguments are those of the alias.
    """
    value = getattr(get_origin(hint) or hint, "__value__", None)
    if value is None:
        return hint
    return expand_alias(value[get_args(hint)] if get_args(hint) else value)


def _is_within_floats(value: Any) -> bool:
    """Return True if an integer is not too large for a float."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _entries_match(value: tuple[object, ...], kinds: tuple[Any, ...]) -> bool:
    """Return True if the entries of a tuple have the types `kinds`; `(kind, ...)` means any number of entries."""
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return all(matches_type(entry, kinds[0]) for entry in value)
    return len(value) == len(kinds) and all(matches_type(entry, kind) for entry, kind in zip(value, kinds, strict=True))


def _dtype_matches(dtype: np.dtype[Any], hint: Any) -> bool:
    """Return True if a dtype has the declared scalar type; any integer dtype matches a declared integer type."""
    scalar = get_args(hint)[0] if get_args(hint) else Any
    if scalar is Any:
        return True
    scalar = get_origin(scalar) or scalar
    if issubclass(scalar, np.integer):
        return dtype.kind in "iu"
    return issubclass(dtype.type, scalar) and dtype.isnative
