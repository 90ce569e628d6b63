"""Units of rows and columns in which all rows and columns of a matrix F have about the same size.

F is the matrix of a program in standard form. R and S are diagonal matrices of powers of two such that the largest
absolute entry of every non-zero row and column of  R F S  is about 1 (Ruiz iteration). The rows of one non-polyhedral
cone have one common unit, so that scaled points of the cone are points of the cone.
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

RUIZ_PASSES = 10
"""Number of passes of the Ruiz iteration."""


@dataclass(frozen=True)
class ScalingUnits:
    """Diagonals of R (for rows) and S (for columns), as defined in the module docstring."""

    row: Vector
    column: Vector

    def scale(self, F: sp.csr_array) -> sp.csr_array:
        """Return R F S."""
        return sp.csr_array(sp.diags_array(self.row) @ F @ sp.diags_array(self.column))


def equilibrated_units(F: sp.csr_array, rows: Sequence[RowBlock], fixed: npt.NDArray[np.bool_]) -> ScalingUnits:
    """Return the units R and S of F, whose row blocks are `rows`; columns with `fixed` True keep the unit 1."""
    size = sp.csr_array(abs(F.copy()))
    row, column = np.ones(F.shape[0]), np.ones(F.shape[1])
    for _ in range(RUIZ_PASSES if F.nnz else 0):
        scaled = sp.csr_array(sp.diags_array(row) @ size @ sp.diags_array(column))
        row = row / np.sqrt(_row_sizes(scaled, rows))
        width = _largest_entries(scaled, axis=0)
        column = np.where(fixed, 1.0, column / np.sqrt(np.where(width > 0.0, width, 1.0)))
    row = row / _row_sizes(sp.csr_array(sp.diags_array(row) @ size @ sp.diags_array(column)), rows)
    return ScalingUnits(_nearest_powers_of_two(row), _nearest_powers_of_two(column))


def _row_sizes(matrix: sp.csr_array, rows: Sequence[RowBlock]) -> Vector:
    """Return the largest entry of each row of a non-negative matrix, or 1 if that is 0.

    Each row of a non-polyhedral cone gets the largest entry among all rows of the cone.
    """
    largest = _largest_entries(matrix, axis=1)
    for block in rows:
        if not block.cone.is_polyhedral and block.size:
            part, sizes = slice(block.start, block.stop), block.cone_sizes
            largest[part] = np.repeat(np.maximum.reduceat(largest[part], factor_starts(sizes)), sizes)
    return np.where(largest > 0.0, largest, 1.0)


def _largest_entries(matrix: sp.csr_array, axis: int) -> Vector:
    """Return the largest entry of each column (axis 0) or each row (axis 1); 0 for a matrix without entries."""
    if not matrix.shape[axis]:
        return np.zeros(matrix.shape[1 - axis])
    return np.array(matrix.max(axis=axis).todense(), dtype=np.float64).ravel()


def _nearest_powers_of_two(values: Vector) -> Vector:
    """Return the powers of two that are nearest to positive values on a logarithmic scale."""
    return np.asarray(np.exp2(np.round(np.log2(values))))
