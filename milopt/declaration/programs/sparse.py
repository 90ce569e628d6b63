"""Sparse matrices without the ceremony: what scipy does in tens of microseconds, done on the three arrays at once.

An expression is made of many small operations; these keep each of them cheap.

Matrices share arrays: `placed` has the `data` of its argument with other `indices`. That is safe only because every
matrix here is in canonical form (each row sorted by column, no column twice), in which scipy never sorts or merges
entries in place. All functions keep the canonical form of their arguments; `csr` establishes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector

Index = npt.NDArray[np.integer[Any]]


_BLANK = {kind: vars(kind((1, 1))) for kind in (sp.csr_array, sp.csc_array)}
_PARTS = ("data", "indices", "indptr", "_shape")
# What else scipy keeps may differ between its versions; where these parts do, its own constructor serves.
_KNOWN = all(blank.keys() >= set(_PARTS) for blank in _BLANK.values())

_LARGEST = int(np.iinfo(np.int32).max)


def from_parts(data: Vector, indices: Index, indptr: Index, shape: tuple[int, int]) -> sp.csr_array:
    """A csr array of parts that fit together by construction: scipy's constructor would check them for 20 us."""
    matrix: sp.csr_array = _compressed(sp.csr_array, data, indices, indptr, shape)
    return matrix


def transposed(matrix: sp.csr_array) -> sp.csc_array:
    """The transpose over the same numbers."""
    shape = (matrix.shape[1], matrix.shape[0])
    result: sp.csc_array = _compressed(sp.csc_array, matrix.data, matrix.indices, matrix.indptr, shape)
    return result


def _compressed(kind: Any, data: Vector, indices: Index, indptr: Index, shape: tuple[int, int]) -> Any:
    if not _KNOWN or max(data.size, *shape) > _LARGEST:
        return kind((data, indices, indptr), shape=shape)
    matrix = kind.__new__(kind)
    own = matrix.__dict__
    own.update(_BLANK[kind])
    own["data"], own["_shape"] = data, shape
    own["indices"] = indices if indices.dtype == np.int32 else indices.astype(np.int32)
    own["indptr"] = indptr if indptr.dtype == np.int32 else indptr.astype(np.int32)
    return matrix


def csr(matrix: Any) -> sp.csr_array:
    """The matrix as a csr array in canonical form: each row sorted by column, no column twice.

    It is the matrix itself if it is that already. Otherwise it is a sorted copy: scipy sorts in place, and `data` may
    be shared with matrices that have other `indices`.
    """
    result: sp.csr_array = matrix if type(matrix) is sp.csr_array else sp.csr_array(matrix)
    if not result.has_canonical_format:
        result = result.copy()
        result.sum_duplicates()
    return result


def zeros(rows: int, columns: int) -> sp.csr_array:
    """No entries."""
    return from_parts(np.zeros(0), np.zeros(0, np.int32), np.zeros(rows + 1, np.int32), (rows, columns))


def picked(columns: Index, width: int, value: float = 1.0) -> sp.csr_array:
    """Rows that are single columns, times `value`."""
    count = columns.size
    return from_parts(np.full(count, value), columns, np.arange(count + 1), (count, width))


def row_vector(values: Vector) -> sp.csr_array:
    """One row; zeros are left out."""
    at = np.flatnonzero(values)
    return from_parts(values[at], at, np.array([0, at.size]), (1, values.size))


def row_lengths(matrix: sp.csr_array) -> Index:
    """Return how many entries each row has; `np.diff` takes five times as long for few rows."""
    return matrix.indptr[1:] - matrix.indptr[:-1]


def times(matrix: sp.csr_array, values: Vector) -> Vector:
    """matrix @ values; a single row costs no ceremony."""
    if matrix.shape[0] == 1:
        return np.array([matrix.data @ values[matrix.indices]])
    return np.asarray(matrix @ values)


def absolute(matrix: sp.csr_array) -> sp.csr_array:
    """Return |matrix|, entry by entry; the matrix itself is not touched, as scipy's `abs` would sort its indices."""
    return from_parts(np.abs(matrix.data), matrix.indices, matrix.indptr, matrix.shape)


def scaled_rows(matrix: sp.csr_array, factors: Vector) -> sp.csr_array:
    """diag(factors) @ matrix."""
    data = matrix.data * np.repeat(factors, row_lengths(matrix))
    return from_parts(data, matrix.indices, matrix.indptr, matrix.shape)


def widened(matrix: sp.csr_array, columns: int) -> sp.csr_array:
    """The same entries in a matrix with more columns."""
    if matrix.shape[1] == columns:
        return matrix
    return from_parts(matrix.data, matrix.indices, matrix.indptr, (matrix.shape[0], columns))


def placed(matrix: sp.csr_array, start: int, columns: int) -> sp.csr_array:
    """The matrix at columns start, start+1, ... of a wider one."""
    if start == 0:
        return widened(matrix, columns)
    return from_parts(matrix.data, matrix.indices + start, matrix.indptr, (matrix.shape[0], columns))


def stacked(matrices: Sequence[sp.csr_array]) -> sp.csr_array:
    """One under the other; all of one width."""
    if len(matrices) == 1:
        return matrices[0]
    indptr, end = [matrices[0].indptr], int(matrices[0].indptr[-1])
    for m in matrices[1:]:
        indptr.append(m.indptr[1:] + end)
        end += int(m.indptr[-1])
    data = np.concatenate([m.data for m in matrices])
    indices = np.concatenate([m.indices for m in matrices])
    rows = sum(m.shape[0] for m in matrices)
    return from_parts(data, indices, np.concatenate(indptr), (rows, matrices[0].shape[1]))


def added(a: sp.csr_array, b: sp.csr_array) -> sp.csr_array:
    """a + b: for free when one of them is empty, row by row where one of them has none, else side by side or summed."""
    if a.indptr[-1] == 0:
        return b
    if b.indptr[-1] == 0:
        return a
    if a.shape[0] == 1:
        first, last = (a, b) if a.indices[0] < b.indices[0] else (b, a)
        if first.indices.max() < last.indices.min():
            data, indices = np.concatenate([first.data, last.data]), np.concatenate([first.indices, last.indices])
            return from_parts(data, indices, np.array([0, data.size]), a.shape)
    mine, its = row_lengths(a), row_lengths(b)
    return csr(a + b) if (mine * its).any() else _interleaved(a, mine, b, its)


def _interleaved(a: sp.csr_array, mine: Index, b: sp.csr_array, its: Index) -> sp.csr_array:
    """a + b where every row of one of them is empty; `mine` and `its` are the lengths of their rows."""
    indptr = a.indptr + b.indptr
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    for one, lengths, other in ((a, mine, b), (b, its, a)):
        at = np.arange(one.indptr[-1]) + np.repeat(other.indptr[:-1], lengths)
        data[at], indices[at] = one.data, one.indices
    return from_parts(data, indices, indptr, a.shape)


def between(matrix: sp.csr_array, start: int, stop: int) -> sp.csr_array:
    """The rows from start to stop - 1, over the same numbers."""
    first, last = int(matrix.indptr[start]), int(matrix.indptr[stop])
    indptr = matrix.indptr[start : stop + 1] - first
    return from_parts(matrix.data[first:last], matrix.indices[first:last], indptr, (stop - start, matrix.shape[1]))


def product(a: sp.csr_array, b: sp.csr_array) -> sp.csr_array:
    """a @ b: for free when b is empty, rows of b where those of a have one entry at most."""
    if b.indptr[-1] == 0:
        return zeros(a.shape[0], b.shape[1])
    if row_lengths(a).max(initial=0) > 1:
        return csr(a @ b)
    rows = scaled_rows(taken(b, a.indices), a.data)
    return from_parts(rows.data, rows.indices, rows.indptr[a.indptr], (a.shape[0], b.shape[1]))


def taken(matrix: sp.csr_array, rows: Index) -> sp.csr_array:
    """Rows by index; a run of consecutive rows is a slice."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size and (rows.size == 1 or bool((np.diff(rows) == 1).all())):
        return between(matrix, int(rows[0]), int(rows[-1]) + 1)
    first = matrix.indptr[rows]
    lengths = matrix.indptr[1:][rows] - first
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(first - indptr[:-1], lengths) + np.arange(indptr[-1])
    return from_parts(matrix.data[at], matrix.indices[at], indptr, (rows.size, matrix.shape[1]))


def same_pattern(a: sp.csr_array, b: sp.csr_array) -> bool:
    """Entries in the same places."""
    return a.shape == b.shape and np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def same_entries(a: sp.csr_array, b: sp.csr_array) -> bool:
    """The same numbers in the same places."""
    return same_pattern(a, b) and np.array_equal(a.data, b.data)
