"""Units in which the rows and columns of a flat program have about the same size.

With positive diagonal matrices R and S of powers of two, the largest entry of every row and column of  R F S  that has
an entry is about 1 (Ruiz). Rows of one second-order cone share one factor, so that they stay in the cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.quadratic import Vector
from milopt.compilation.standard_form import RowBlock
from milopt.cones import SECOND_ORDER

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
        column = np.where(fixed, 1.0, column / np.sqrt(width))
    row = row / _row_sizes(sp.csr_array(sp.diags_array(row) @ size @ sp.diags_array(column)), rows)
    return Units(_power_of_two(row), _power_of_two(column))


def _row_sizes(matrix: sp.csr_array, rows: Sequence[RowBlock]) -> Vector:
    """The largest entry of each row, the same for all rows of one second-order cone; 1 for an empty row."""
    sizes = _largest(matrix, axis=1)
    for block in rows:
        if block.cone is SECOND_ORDER:
            part = slice(block.start, block.stop)
            sizes[part] = matrix[part].max() or 1.0
    return sizes


def _largest(matrix: sp.csr_array, axis: int) -> Vector:
    if not matrix.shape[axis]:
        return np.ones(matrix.shape[1 - axis])
    largest = np.asarray(matrix.max(axis=axis).todense(), dtype=np.float64).ravel()
    return np.where(largest > 0.0, largest, 1.0)


def _power_of_two(values: Vector) -> Vector:
    return np.asarray(np.exp2(np.round(np.log2(values))))
