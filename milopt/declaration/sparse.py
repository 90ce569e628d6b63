"""Sparse matrices without the ceremony: what scipy does in tens of microseconds, done on the three arrays at once.

An expression is made of many small operations; these keep each of them cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Vector = npt.NDArray[np.float64]


def csr(matrix: Any) -> sp.csr_array:
    """The matrix itself if it is a csr array, else as one."""
    if type(matrix) is sp.csr_array:
        return matrix
    result: sp.csr_array = sp.csr_array(matrix)
    return result


def row_vector(values: Vector) -> sp.csr_array:
    """One row; zeros are left out."""
    at = np.flatnonzero(values)
    return sp.csr_array((values[at], at, np.array([0, at.size])), shape=(1, values.size))


def scaled_rows(matrix: sp.csr_array, factors: Vector) -> sp.csr_array:
    """diag(factors) @ matrix."""
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def widened(matrix: sp.csr_array, columns: int) -> sp.csr_array:
    """The same entries in a matrix with more columns."""
    if matrix.shape[1] == columns:
        return matrix
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))


def placed(matrix: sp.csr_array, start: int, columns: int) -> sp.csr_array:
    """The matrix at columns start, start+1, ... of a wider one."""
    if start == 0:
        return widened(matrix, columns)
    return sp.csr_array((matrix.data, matrix.indices + start, matrix.indptr), shape=(matrix.shape[0], columns))


def stacked(matrices: Sequence[sp.csr_array]) -> sp.csr_array:
    """One under the other; all of one width."""
    if len(matrices) == 1:
        return matrices[0]
    ends = np.cumsum([0, *(m.indptr[-1] for m in matrices)])
    indptr = [matrices[0].indptr[:1], *(m.indptr[1:] + end for m, end in zip(matrices, ends, strict=False))]
    data = np.concatenate([m.data for m in matrices])
    indices = np.concatenate([m.indices for m in matrices])
    rows = sum(m.shape[0] for m in matrices)
    return sp.csr_array((data, indices, np.concatenate(indptr)), shape=(rows, matrices[0].shape[1]))


def taken(matrix: sp.csr_array, rows: npt.NDArray[np.intp]) -> sp.csr_array:
    """Rows by index; a run of consecutive rows is a slice."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size and (rows.size == 1 or bool((np.diff(rows) == 1).all())):
        return matrix[int(rows[0]) : int(rows[-1]) + 1]
    return matrix[rows]
