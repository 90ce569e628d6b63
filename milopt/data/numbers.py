"""Numbers written in a line of text: strict, finite, and fast when nothing is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan

import numpy as np

from milopt.arrays import Floats
from milopt.data.messages import shown


def parsed(lines: Sequence[str], columns: int) -> Floats | None:
    """The n x D numbers of n lines with commas between, or None if anything in them is not a finite number."""
    # The parser skips lines with nothing in them, which the shape shows, and warns where there is nothing else.
    if not lines[0].strip():
        return None
    try:
        # The parser of numpy takes decimal numbers only: no underscores, no hexadecimals, nothing empty.
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    return values if values.shape == (len(lines), columns) and np.isfinite(values).all() else None


def fault(text: str) -> str | None:
    """What is wrong with one number, or None: "is empty", "is NaN", ..."""
    text = text.strip()
    if not text or text == "?":
        return "is missing"
    try:
        value = float(text)
    except ValueError:
        return f"is {shown(text)}, which is no number"
    if isnan(value):
        return "is NaN"
    if not isfinite(value):
        return f"is {shown(text)}, which is not finite"
    return None if text.isascii() and "_" not in text else f"is {shown(text)}, which is no number"
