"""Affine rows over columns and evaluations:  A x + sum_f E_f f(points_f) + g, all sparse, no coordinates yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.programs.sparse import added, picked, product, stacked, taken, transposed, widened, zeros


@dataclass(frozen=True)
class Rows:
    """A x + sum_k E_k f_k(points_k) + g; E in the order of the program's functions."""

    A: sp.csr_array
    E: tuple[sp.csr_array, ...]
    g: Vector

    @property
    def count(self) -> int:
        """How many rows."""
        return int(self.g.size)

    @classmethod
    def empty(cls, columns: int, points: Sequence[int]) -> Rows:
        """No rows at all."""
        return cls(zeros(0, columns), tuple(zeros(0, n) for n in points), np.zeros(0))

    def left(self, matrix: sp.csr_array) -> Rows:
        """matrix @ rows."""
        g = np.asarray(matrix @ self.g) if self.g.any() else np.zeros(matrix.shape[0])
        return Rows(product(matrix, self.A), tuple(product(matrix, e) for e in self.E), g)

    def take(self, index: npt.NDArray[np.intp]) -> Rows:
        """The rows in `index`, in that order."""
        return Rows(taken(self.A, index), tuple(taken(e, index) for e in self.E), self.g[index])

    def plus(self, other: Rows) -> Rows:
        """Row by row."""
        e = tuple(added(a, b) for a, b in zip(self.E, other.E, strict=True))
        return Rows(added(self.A, other.A), e, self.g + other.g)

    def widened(self, columns: int, points: Sequence[int] | None = None) -> Rows:
        """The same rows over more columns (and points); the new ones do not occur."""
        same = points is None or all(e.shape[1] == n for e, n in zip(self.E, points, strict=True))
        if columns == self.A.shape[1] and same:
            return self
        e = self.E if points is None else tuple(widened(e, n) for e, n in zip(self.E, points, strict=True))
        return Rows(widened(self.A, columns), e, self.g)

    def pulled(self, z: Vector) -> Vector:
        """A'z."""
        return np.asarray(transposed(self.A) @ z)

    def value(self, x: Vector, evaluations: Sequence[Vector]) -> Vector:
        """A x + sum_k E_k f_k + g."""
        total = self.g.copy()
        for matrix, values in ((self.A, x), *zip(self.E, evaluations, strict=True)):
            if matrix.indptr[-1]:
                total += matrix @ values
        return total


def stack(parts: Sequence[Rows]) -> Rows:
    """One under the other."""
    if len(parts) == 1:
        return parts[0]
    e = tuple(stacked(blocks) for blocks in zip(*(p.E for p in parts), strict=True))
    return Rows(stacked([p.A for p in parts]), e, np.concatenate([p.g for p in parts]))


def unit_rows(columns: npt.NDArray[np.intp], width: int, points: Sequence[int], sign: float = 1.0) -> Rows:
    """Rows that are single columns, times `sign`."""
    count = columns.size
    return Rows(picked(columns, width, sign), tuple(zeros(count, n) for n in points), np.zeros(count))
