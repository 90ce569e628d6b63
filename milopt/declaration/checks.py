"""Ranges of hyper-parameters: each check gives the value back, or says in one sentence what it should have been."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from numbers import Real

import numpy as np

from milopt.arrays import Floats
from milopt.declaration.bags.labels import Signs
from milopt.errors import ParameterError


def positive(name: str, value: float) -> float:
    """A finite number above 0."""
    if not _is_number(value) or not value > 0:
        raise ParameterError(f"{name} must be a positive number, not {value!r}.")
    return value


def non_negative(name: str, value: float) -> float:
    """A finite number of at least 0."""
    if not _is_number(value) or not value >= 0:
        raise ParameterError(f"{name} must be a number of at least 0, not {value!r}.")
    return value


def fraction(name: str, value: float) -> float:
    """A number strictly between 0 and 1."""
    if not _is_number(value) or not 0 < value < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, not {value!r}.")
    return value


def share(name: str, value: float) -> float:
    """A number above 0 and at most 1."""
    if not _is_number(value) or not 0 < value <= 1:
        raise ParameterError(f"{name} must lie above 0 and at most at 1, not {value!r}.")
    return value


def truth(name: str, value: object) -> bool:
    """True or False, not what Python takes for one of them: "no" would be true."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def below_one(name: str, value: float) -> float:
    """A number of at least 0 and below 1."""
    if not _is_number(value) or not 0 <= value < 1:
        raise ParameterError(f"{name} must lie at 0 or above and below 1, not {value!r}.")
    return value


def by_class(
    name: str, value: float | Sequence[float] | Floats, y: Signs, check: Callable[[str, float], float] = positive
) -> Floats:
    """One number a bag, from one for all, or from a pair for the negative and the positive class."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (tuple, list)):
        return np.full(y.size, float(check(name, value)))  # type: ignore[arg-type]  # no sequence is a number
    if len(value) != 2:
        raise ParameterError(f"{name} takes a number, or two for the negative and the positive class, not {value!r}.")
    negative, positive_ = (float(check(f"{name}[{k}]", one)) for k, one in enumerate(value))
    return np.where(y > 0, positive_, negative)


def differs_by_class(value: float | Sequence[float] | Floats) -> bool:
    """Return whether a value for `by_class` is a pair of two different numbers."""
    pair = value.tolist() if isinstance(value, np.ndarray) else value
    return isinstance(pair, (tuple, list)) and len(set(pair)) > 1


def whole(name: str, value: int, least: int) -> int:
    """A whole number that is no less than another."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """One of the choices."""
    if value not in choices:
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise ParameterError(f"{name} must be one of {known}, not {value!r}.")
    return value


def _is_number(value: object) -> bool:
    # True and False are numbers to Python, and nobody means them as such.
    return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)
