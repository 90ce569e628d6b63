"""Strict parsing of finite numbers in text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan

import numpy as np

from milopt.arrays import Floats
from milopt.data.messages import quote

_MISSING_NUMBERS = ("", "?", "na", "nan")
"""Spellings of a missing number, in lower case."""

MISSING_HINT = ", or give allow_missing=True in Python and fill it in by an imputer"
"""End of the message about a missing value."""


def parse_numbers(lines: Sequence[str], columns: int, allow_missing: bool = False) -> Floats | None:
    """Parse lines of comma-separated numbers to an array of shape (len(lines), columns).

    Returns None if a value is not a finite number, or if a line does not have `columns` values. If `allow_missing`,
    missing values become NaN.
    """
    if allow_missing:
        lines = [",".join("nan" if is_missing(text) else text for text in line.split(",")) for line in lines]
    # The parser skips empty lines, which changes the shape, and warns if all lines are empty.
    if not lines[0].strip():
        return None
    try:
        # numpy only accepts decimal numbers: no underscores, no hexadecimals, no empty fields.
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    is_bad = np.isinf(values) if allow_missing else ~np.isfinite(values)
    return values if values.shape == (len(lines), columns) and not is_bad.any() else None


def is_missing(text: str) -> bool:
    """Return True if the text of a number stands for a missing value."""
    return text.strip().casefold() in _MISSING_NUMBERS


def describe_number_error(text: str) -> str | None:
    """Return what is wrong with the text of a number ("is missing", "is NaN", ...), or None if it is valid."""
    text = text.strip()
    if text.casefold() != "nan" and is_missing(text):
        return "is missing"
    try:
        value = float(text)
    except ValueError:
        return f"is {quote(text)}, which is not a number"
    if isnan(value):
        return "is NaN"
    if not isfinite(value):
        return f"is {quote(text)}, which is not finite"
    return None if text.isascii() and "_" not in text else f"is {quote(text)}, which is not a number"
