"""Checks of hyper-parameters: each function returns the value, or raises `ParameterError` with the admissible range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from numbers import Real

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.labels import Signs
from milopt.errors import ParameterError


def check_positive(name: str, value: float) -> float:
    """Return a finite number greater than 0, or raise `ParameterError`."""
    if not _is_number(value) or not value > 0:
        raise ParameterError(f"{name} must be a positive number, not {value!r}.")
    return value


def check_non_negative(name: str, value: float) -> float:
    """Return a finite number of at least 0, or raise `ParameterError`."""
    if not _is_number(value) or not value >= 0:
        raise ParameterError(f"{name} must be a number of at least 0, not {value!r}.")
    return value


def check_open_fraction(name: str, value: float) -> float:
    """Return a number strictly between 0 and 1, or raise `ParameterError`."""
    if not _is_number(value) or not 0 < value < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, not {value!r}.")
    return value


def check_fraction(name: str, value: float) -> float:
    """Return a number greater than 0 and at most 1, or raise `ParameterError`."""
    if not _is_number(value) or not 0 < value <= 1:
        raise ParameterError(f"{name} must be greater than 0 and at most 1, not {value!r}.")
    return value


def check_bool(name: str, value: object) -> bool:
    """Return True or False, or raise `ParameterError`; other values are not converted ("no" would be True)."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def check_below_one(name: str, value: float) -> float:
    """Return a number of at least 0 and less than 1, or raise `ParameterError`."""
    if not _is_number(value) or not 0 <= value < 1:
        raise ParameterError(f"{name} must be at least 0 and less than 1, not {value!r}.")
    return value


def expand_by_class(
    name: str, value: float | Sequence[float] | Floats, y: Signs, check: Callable[[str, float], float] = check_positive
) -> Floats:
    """Return one number per bag: `value` itself, or the number of the bag's class in a pair (negative, positive class).

    y are the labels of the bags. Each number is checked by `check`.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (tuple, list)):
        return np.full(y.size, float(check(name, value)))  # type: ignore[arg-type]  # no sequence is a number
    if len(value) != 2:
        raise ParameterError(f"{name} must be a number, or a pair (negative class, positive class), not {value!r}.")
    negative, positive = (float(check(f"{name}[{k}]", number)) for k, number in enumerate(value))
    return np.where(y > 0, positive, negative)


def differs_by_class(value: float | Sequence[float] | Floats) -> bool:
    """Return True if a hyper-parameter value, as for `expand_by_class`, is a pair of two different numbers."""
    pair = value.tolist() if isinstance(value, np.ndarray) else value
    return isinstance(pair, (tuple, list)) and len(set(pair)) > 1


def check_integer(name: str, value: int, least: int) -> int:
    """Return an integer of at least `least`, or raise `ParameterError`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return a value that is one of the choices, or raise `ParameterError`."""
    if value not in choices:
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise ParameterError(f"{name} must be one of {known}, not {value!r}.")
    return value


def _is_number(value: object) -> bool:
    """Return True if a value is a finite real number."""
    # bool is a subclass of int, but True and False are not meant as numbers.
    return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)
