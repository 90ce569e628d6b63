"""How the rows of a constraint belong to the rows that were declared, if they are not the same.

A declared row without a finite side has no row: `x <= [1, inf]` has one. A declared row with two sides has two rows:
`0 <= x <= 1` has `x - 0 >= 0` and `1 - x >= 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.declaration.programs.sparse import csr, from_parts

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Shape


@dataclass(frozen=True)
class RowLayout:
    """Which declared row each row of a constraint belongs to."""

    shape: Shape
    """Of the declared rows."""
    entry: Index
    """Per row, the declared row."""
    sign: Vector
    """Per row, 1 for a lower side and -1 for an upper side; 1 for rows with one side."""

    @classmethod
    def of(cls, shape: Shape) -> RowLayout:
        """Return the layout of rows that are the declared ones."""
        size = int(np.prod(shape, dtype=int))
        return cls(shape, np.arange(size), np.ones(size))

    @classmethod
    def two_sided(cls, shape: Shape) -> RowLayout:
        """Return the layout of all lower sides, followed by all upper sides."""
        one = cls.of(shape)
        return cls(shape, np.concatenate([one.entry, one.entry]), np.concatenate([one.sign, -one.sign]))

    def take(self, rows: Index) -> RowLayout:
        """Return the layout of some of the rows."""
        return RowLayout(self.shape, self.entry[rows], self.sign[rows])

    @property
    def size(self) -> int:
        """The number of declared rows."""
        return int(np.prod(self.shape, dtype=int))

    def multipliers(self, z: Vector) -> Vector:
        """Return the multipliers of the declared rows: positive for a lower side, negative for an upper side."""
        total = np.zeros(self.size)
        np.add.at(total, self.entry, self.sign * z)
        return total.reshape(self.shape)

    def slacks(self, rows: Vector) -> Vector:
        """Return the slacks of the declared rows, of the nearer side; infinite without a side."""
        nearest = np.full(self.size, np.inf)
        np.minimum.at(nearest, self.entry, rows)
        return nearest.reshape(self.shape)

    def entering(self, matrix: Vector | sp.csr_array) -> sp.csr_array:
        """Return coefficients of the rows, from those of the declared rows."""
        picks = from_parts(self.sign, self.entry, np.arange(self.entry.size + 1), (self.entry.size, self.size))
        return csr(picks @ csr(matrix.reshape((self.size, -1))))
