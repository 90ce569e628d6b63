"""What an MPS or LP file holds:  min or max 1/2 x'Px + c'x + d   s.t.  a <= A x <= b,  l <= x <= u,  some x integer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Mask, Vector

INFINITE = 1e20
"""Bounds and sides of rows of at least this absolute value are infinite, as in every reader of these formats."""


@dataclass(frozen=True)
class FlatModel:
    """The numbers and names of a file; P is symmetric, with both triangles."""

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
class Entries:
    """Triples of a sparse matrix, collected while a file is read."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, row: int, column: int, value: float) -> None:
        """Add one entry."""
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(value)

    def matrix(self, shape: tuple[int, int]) -> sp.csr_array:
        """Return the matrix; entries of one place are added."""
        matrix = sp.csr_array((np.array(self.values, dtype=float), (self.rows, self.columns)), shape=shape)
        matrix.sum_duplicates()
        return matrix


def without_infinities(bounds: list[float]) -> Vector:
    """Return bounds as an array, with infinity for the numbers that stand for it."""
    array = np.array(bounds, dtype=float)
    array[array >= INFINITE] = np.inf
    array[array <= -INFINITE] = -np.inf
    return array
