"""Bounds of columns and sides of rows, by the rules of the MPS format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

BARE_KINDS = ("FR", "MI", "PL", "BV")
"""Kinds of bounds without a number."""
KINDS = (*BARE_KINDS, "LO", "LI", "UP", "UI", "FX", "SC", "SI")
INTEGER_KINDS = ("BV", "LI", "UI", "SI")
SEMICONTINUOUS_KINDS = ("SC", "SI")


@dataclass
class MpsBounds:
    """The bounds that a file gives, by the number of the column."""

    lower: dict[int, float] = field(default_factory=dict)
    upper: dict[int, float] = field(default_factory=dict)
    semicontinuous: set[int] = field(default_factory=set)

    def set(self, kind: str, column: int, value: float) -> None:
        """Set a bound of one of the `KINDS`; the value counts only where the kind has one."""
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
        if kind in SEMICONTINUOUS_KINDS:
            self.semicontinuous.add(column)
            # In this section, 0 stands for no upper bound.
            self.upper[column] = value or np.inf

    def both(self, integer: Sequence[bool]) -> tuple[list[float], list[float]]:
        """Return the lower and the upper bound of every column, those that were not given by default."""
        lower, upper = [], []
        for j, is_integer in enumerate(integer):
            is_bare = j not in self.lower and j not in self.upper
            lower.append(self.lower.get(j, -np.inf if self._is_negative(j) else 0.0))
            upper.append(self.upper.get(j, 1.0 if is_integer and is_bare else np.inf))
        return lower, upper

    def negative(self) -> Iterator[int]:
        """Yield the columns with a negative upper bound and no lower bound."""
        return (j for j in self.upper if self._is_negative(j))

    def _is_negative(self, column: int) -> bool:
        return column not in self.lower and self.upper.get(column, 0.0) < 0.0


def row_sides(
    senses: Sequence[str], sides: Mapping[int, float], ranges: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    """Return the sides of each row: a range R makes [b, b + |R|] of a G row, [b - |R|, b] of an L row.

    In an E row, the sign of R says which of the two.
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
