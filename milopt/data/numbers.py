"""Strict parsing of finite numbers in text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan

import numpy as np

from milopt.arrays import Floats
from milopt.data.messages import quote


def parse_numbers(lines: Sequence[str], columns: int) -> Floats | None:
    """Parse lines of comma-separated numbers to an array of shape (len(lines), columns).

    Returns None if a value is not a finite number, or if a line does not have `columns` values.
    """
    # The parser skips empty lines, which changes the shape, and warns if all lines are empty.
    if not lines[0].strip():
        return None
    try:
        # numpy only accepts decimal numbers: no underscores, no hexadecimals, no empty fields.
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    return values if values.shape == (len(lines), columns) and np.isfinite(values).all() else None


def describe_number_error(text: str) -> str | None:
    """Return what is wrong with the text of a number ("is missing", "is NaN", ...), or None if it is valid."""
    text = text.strip()
    if not text or text == "?":
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
