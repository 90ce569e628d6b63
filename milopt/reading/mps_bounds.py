"""Bounds of columns and sides of rows by the rules of the MPS format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

BOUND_KINDS_WITHOUT_NUMBER = ("FR", "MI", "PL", "BV")
"""Codes of the kinds of bounds that need no number: free, no lower bound, no upper bound, binary."""
BOUND_KINDS = (*BOUND_KINDS_WITHOUT_NUMBER, "LO", "LI", "UP", "UI", "FX", "SC", "SI")
"""Codes of all kinds of bounds."""
INTEGER_BOUND_KINDS = ("BV", "LI", "UI", "SI")
"""Kinds of bounds that make a column integer."""
SEMICONTINUOUS_BOUND_KINDS = ("SC", "SI")
"""Kinds of bounds that make a column semicontinuous."""


@dataclass
class MpsBounds:
    """Bounds that the file states, by the index of the column; others have defaults (see `lower_and_upper_bounds`)."""

    lower: dict[int, float] = field(default_factory=dict)
    upper: dict[int, float] = field(default_factory=dict)
    semicontinuous: set[int] = field(default_factory=set)

    def set(self, kind: str, column: int, value: float) -> None:
        """Set the bound of a column; `kind` is one of the `BOUND_KINDS`, and kinds without a number ignore `value`."""
        if kind in ("FR", "MI"):
            self.lower[column] = -np.inf
        if kind in ("FR", "PL"):
            self.upper[column] = np.inf
        if kind == "BV":
            self.lower[column], self.upper[column] = 0.0, 1.0
        if kind in ("LO", "LI", "FX"):
            self.lower[column] = value
        if kind in ("UP", "UI", "FX"):
            self.upper[column] = value
        if kind in SEMICONTINUOUS_BOUND_KINDS:
            self.semicontinuous.add(column)
            # For semicontinuous columns, 0 means no upper bound.
            self.upper[column] = value or np.inf

    def lower_and_upper_bounds(self, integer: Sequence[bool]) -> tuple[list[float], list[float]]:
        """Return (lower bounds, upper bounds) of all columns, with defaults for bounds that were not given.

        The default bounds are 0 and infinity, with two exceptions: an integer column without any bound lies in [0, 1],
        and the default lower bound is -infinity if the upper bound is negative. `integer` has one boolean per column.
        """
        lower, upper = [], []
        for j, is_integer in enumerate(integer):
            has_no_bound = j not in self.lower and j not in self.upper
            lower.append(self.lower.get(j, -np.inf if self._has_only_negative_upper_bound(j) else 0.0))
            upper.append(self.upper.get(j, 1.0 if is_integer and has_no_bound else np.inf))
        return lower, upper

    def columns_with_negative_upper_bound(self) -> Iterator[int]:
        """Return an iterator of the indices of the columns with a negative upper bound and no lower bound."""
        return (j for j in self.upper if self._has_only_negative_upper_bound(j))

    def _has_only_negative_upper_bound(self, column: int) -> bool:
        """Return True if the column has a negative upper bound and no lower bound."""
        return column not in self.lower and self.upper.get(column, 0.0) < 0.0


def lower_and_upper_row_sides(
    senses: Sequence[str], sides: Mapping[int, float], ranges: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    """Return (lower sides, upper sides) of all rows.

    `senses` has one of G, L, E per row; `sides` has the right-hand sides b by row (0 by default), and `ranges` the
    ranges R of the rows that have one. With a range, a G row has the sides [b, b + |R|], an L row [b - |R|, b], and an
    E row [b, b + R] if R >= 0 and [b + R, b] if R < 0.
    """
    low, high = [-np.inf] * len(senses), [np.inf] * len(senses)
    for i, sense in enumerate(senses):
        side, width = sides.get(i, 0.0), ranges.get(i)
        if sense == "E" and not width:
            low[i] = high[i] = side
        elif sense == "G" or (sense == "E" and width is not None and width > 0):
            low[i] = side
            high[i] = np.inf if width is None else side + abs(width)
        else:
            high[i] = side
            low[i] = -np.inf if width is None else side - abs(width)
    return low, high
