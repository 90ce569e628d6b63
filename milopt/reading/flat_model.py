"""Content of an MPS or LP file:  min or max 1/2 x'Px + c'x + d   s.t.  a <= A x <= b,  l <= x <= u,  some x integer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Mask, Vector

INFINITY_THRESHOLD = 1e20
"""Absolute value from which bounds and sides of rows count as infinite, as in all readers of these formats."""


@dataclass(frozen=True)
class FlatModel:
    """Numbers and names of an MPS or LP file: min or max 1/2 x'Px + cost'x + constant, row_lower <= A x <= row_upper.

    P is symmetric, with both triangles stored. `lower` and `upper` are the bounds of the columns x. `columns` and
    `rows` are the names of the columns and rows; `remarks` are sentences about ambiguities of the file.
    """

    name: str
    maximizes: bool
    constant: float
    cost: Vector
    P: sp.csr_array
    A: sp.csr_array
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    integer: Mask
    semicontinuous: Mask
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@dataclass
class MatrixEntries:
    """Entries of a sparse matrix, collected while a file is parsed."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, row: int, column: int, value: float) -> None:
        """Add one entry; entries at the same position are summed later."""
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(value)

    def matrix(self, shape: tuple[int, int]) -> sp.csr_array:
        """Return the matrix of this shape; entries at the same position are summed."""
        matrix = sp.csr_array((np.array(self.values, dtype=float), (self.rows, self.columns)), shape=shape)
        matrix.sum_duplicates()
        return matrix


def replace_infinite_bounds(bounds: list[float]) -> Vector:
    """Return bounds as an array, with +-infinity in place of numbers of absolute value `INFINITY_THRESHOLD` or more."""
    array = np.array(bounds, dtype=float)
    array[array >= INFINITY_THRESHOLD] = np.inf
    array[array <= -INFINITY_THRESHOLD] = -np.inf
    return array
