"""Units in which the rows and columns of a flat program have about the same size.

With positive diagonal matrices R and S of powers of two, the largest entry of every row and column of  R F S  that has
an entry is about 1 (Ruiz). Rows of one cone that is not polyhedral share one unit, so that they stay in the cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.standard_form import RowBlock
from milopt.cones.cone import factor_starts

PASSES = 10


@dataclass(frozen=True)
class Units:
    """The diagonals of R and S."""

    row: Vector
    column: Vector

    def matrix(self, F: sp.csr_array) -> sp.csr_array:
        """R F S."""
        return sp.csr_array(sp.diags_array(self.row) @ F @ sp.diags_array(self.column))


def equilibrated_units(F: sp.csr_array, rows: Sequence[RowBlock], fixed: npt.NDArray[np.bool_]) -> Units:
    """Choose R and S; the columns in `fixed` (integer ones) keep their unit."""
    size = sp.csr_array(abs(F.copy()))
    row, column = np.ones(F.shape[0]), np.ones(F.shape[1])
    for _ in range(PASSES if F.nnz else 0):
        scaled = sp.csr_array(sp.diags_array(row) @ size @ sp.diags_array(column))
        row = row / np.sqrt(_row_sizes(scaled, rows))
        width = _largest(scaled, axis=0)
        column = np.where(fixed, 1.0, column / np.sqrt(np.where(width > 0.0, width, 1.0)))
    row = row / _row_sizes(sp.csr_array(sp.diags_array(row) @ size @ sp.diags_array(column)), rows)
    return Units(_power_of_two(row), _power_of_two(column))


def _row_sizes(matrix: sp.csr_array, rows: Sequence[RowBlock]) -> Vector:
    """Return the largest entry of each row, or of all rows of its cone if it is not polyhedral; 1 if all are 0."""
    largest = _largest(matrix, axis=1)
    for block in rows:
        if not block.cone.is_polyhedral and block.size:
            part, sizes = slice(block.start, block.stop), block.cone_sizes
            largest[part] = np.repeat(np.maximum.reduceat(largest[part], factor_starts(sizes)), sizes)
    return np.where(largest > 0.0, largest, 1.0)


def _largest(matrix: sp.csr_array, axis: int) -> Vector:
    """Return the largest entry of each column (axis 0) or row (axis 1)."""
    if not matrix.shape[axis]:
        return np.zeros(matrix.shape[1 - axis])
    return np.array(matrix.max(axis=axis).todense(), dtype=np.float64).ravel()


def _power_of_two(values: Vector) -> Vector:
    return np.asarray(np.exp2(np.round(np.log2(values))))
