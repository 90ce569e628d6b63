"""Relation between the rows of a constraint and the rows that the user declared.

An infinite side has no row: `x <= [1, inf]` has one row. A declared row with two sides has two
rows: `0 <= x <= 1` has the rows `x - 0 >= 0` and `1 - x >= 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from milopt.arrays import Index, Vector

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Shape


@dataclass(frozen=True)
class RowLayout:
    """Declared row and side of each row of a constraint (see the module docstring)."""

    shape: Shape
    """Shape of the declared rows."""
    entry: Index
    """Index of the declared row to which each row belongs."""
    sign: Vector
    """1 for a row that is a lower side, -1 for an upper side; 1 if the declared row has one side."""

    @classmethod
    def from_shape(cls, shape: Shape) -> RowLayout:
        """Return the layout in which every declared row has exactly one row."""
        size = int(np.prod(shape, dtype=int))
        return cls(shape, np.arange(size), np.ones(size))

    @classmethod
    def two_sided(cls, shape: Shape) -> RowLayout:
        """Return the layout of declared rows with two sides: the rows of all lower sides, then of all upper sides."""
        lower = cls.from_shape(shape)
        return cls(shape, np.concatenate([lower.entry, lower.entry]), np.concatenate([lower.sign, -lower.sign]))

    def take(self, rows: Index) -> RowLayout:
        """Return the layout of the rows with the given indices."""
        return RowLayout(self.shape, self.entry[rows], self.sign[rows])

    @property
    def size(self) -> int:
        """Number of declared rows."""
        return int(np.prod(self.shape, dtype=int))

    def multipliers(self, z: Vector) -> Vector:
        """Return the multipliers of the declared rows, in the declared shape, from the multipliers z of the rows.

        The multiplier of a declared row with two sides is that of the lower side minus that of the upper side.
        """
        total = np.zeros(self.size)
        np.add.at(total, self.entry, self.sign * z)
        return total.reshape(self.shape)

    def slacks(self, rows: Vector) -> Vector:
        """Return the slacks of the declared rows, in the declared shape, from the values of the rows.

        The slack of a declared row is the smallest value of its rows, and inf if it has no rows.
        """
        nearest = np.full(self.size, np.inf)
        np.minimum.at(nearest, self.entry, rows)
        return nearest.reshape(self.shape)
