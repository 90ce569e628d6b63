"""Affine rows A x + sum_f E_f f(points_f) + g over columns x and function values, with sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.programs.sparse import (
    add,
    multiply,
    selection_matrix,
    stack_rows,
    take_rows,
    transpose,
    widen,
    zeros,
)


@dataclass(frozen=True)
class Rows:
    """Affine rows A x + sum_k E_k f_k(points_k) + g; E has one matrix per function without a dictionary."""

    A: sp.csr_array
    E: tuple[sp.csr_array, ...]
    g: Vector

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.g.size)

    @classmethod
    def empty(cls, columns: int, points: Sequence[int]) -> Rows:
        """Return an object with no rows, for `columns` columns and `points` points (one number per function)."""
        return cls(zeros(0, columns), tuple(zeros(0, n) for n in points), np.zeros(0))

    def left_multiply(self, matrix: sp.csr_array) -> Rows:
        """Return matrix @ rows: each row of the result is a linear combination of these rows."""
        g = np.asarray(matrix @ self.g) if self.g.any() else np.zeros(matrix.shape[0])
        return Rows(multiply(matrix, self.A), tuple(multiply(matrix, e) for e in self.E), g)

    def take(self, index: npt.NDArray[np.intp]) -> Rows:
        """Return the rows with these indices, in the order of `index`."""
        return Rows(take_rows(self.A, index), tuple(take_rows(e, index) for e in self.E), self.g[index])

    def plus(self, other: Rows) -> Rows:
        """Return the sum of two sets of rows, row by row."""
        e = tuple(add(a, b) for a, b in zip(self.E, other.E, strict=True))
        return Rows(add(self.A, other.A), e, self.g + other.g)

    def widen(self, columns: int, points: Sequence[int] | None = None) -> Rows:
        """Return the same rows for more columns and points; the new columns and points have the coefficient 0.

        `columns` is the new number of columns, and `points` the new numbers of points (one per function); None means
        that the points do not change.
        """
        same = points is None or all(e.shape[1] == n for e, n in zip(self.E, points, strict=True))
        if columns == self.A.shape[1] and same:
            return self
        e = self.E if points is None else tuple(widen(e, n) for e, n in zip(self.E, points, strict=True))
        return Rows(widen(self.A, columns), e, self.g)

    def transpose_times(self, z: Vector) -> Vector:
        """Return A'z; the matrices E are not used."""
        return np.asarray(transpose(self.A) @ z)

    def value(self, x: Vector, function_values: Sequence[Vector]) -> Vector:
        """Return A x + sum_k E_k f_k + g; f_k = function_values[k] are the values of function k at its points."""
        total = self.g.copy()
        for matrix, values in ((self.A, x), *zip(self.E, function_values, strict=True)):
            if matrix.indptr[-1]:
                total += matrix @ values
        return total


def stack_affine_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    e = tuple(stack_rows(blocks) for blocks in zip(*(p.E for p in parts), strict=True))
    return Rows(stack_rows([p.A for p in parts]), e, np.concatenate([p.g for p in parts]))


def unit_rows(columns: npt.NDArray[np.intp], width: int, points: Sequence[int], sign: float = 1.0) -> Rows:
    """Return one row sign * x_j per index j in `columns`, for `width` columns and `points` points (per function)."""
    count = columns.size
    return Rows(selection_matrix(columns, width, sign), tuple(zeros(count, n) for n in points), np.zeros(count))
