"""Fast operations on small sparse matrices, computed directly on the three arrays of the CSR format.

An expression is built by many small operations. scipy needs tens of microseconds for each of them, and these functions
less.

Matrices may share arrays: `shift_columns` returns the `data` of its argument with other `indices`. That is safe only
because every matrix here is in canonical form (each row sorted by column, no duplicates), for which scipy never sorts
or merges entries in place. All functions preserve the canonical form; `as_csr` establishes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Integers, Vector

_EMPTY_ATTRIBUTES = {kind: vars(kind((1, 1))) for kind in (sp.csr_array, sp.csc_array)}
"""Attributes of an empty matrix of each format, the template for new matrices."""
_ARRAY_ATTRIBUTES = ("data", "indices", "indptr", "_shape")
"""Attributes that are set for every new matrix."""
_HAS_KNOWN_LAYOUT = all(attributes.keys() >= set(_ARRAY_ATTRIBUTES) for attributes in _EMPTY_ATTRIBUTES.values())
"""Whether this version of scipy uses these attributes; otherwise scipy's constructor is called."""

_MAX_INT32 = int(np.iinfo(np.int32).max)
"""Largest index that fits into 32 bits."""


def from_parts(data: Vector, indices: Integers, indptr: Integers, shape: tuple[int, int]) -> sp.csr_array:
    """Return a csr array from its three arrays, without checks.

    The arrays must be consistent. The checks of scipy's constructor would take 20 microseconds.
    """
    matrix: sp.csr_array = _build_without_checks(sp.csr_array, data, indices, indptr, shape)
    return matrix


def transpose(matrix: sp.csr_array) -> sp.csc_array:
    """Return the transpose, which shares the arrays of the matrix."""
    shape = (matrix.shape[1], matrix.shape[0])
    result: sp.csc_array = _build_without_checks(sp.csc_array, matrix.data, matrix.indices, matrix.indptr, shape)
    return result


def _build_without_checks(kind: Any, data: Vector, indices: Integers, indptr: Integers, shape: tuple[int, int]) -> Any:
    """Return a compressed sparse array of the given class without checks."""
    if not _HAS_KNOWN_LAYOUT or max(data.size, *shape) > _MAX_INT32:
        return kind((data, indices, indptr), shape=shape)
    matrix = kind.__new__(kind)
    attributes = matrix.__dict__
    attributes.update(_EMPTY_ATTRIBUTES[kind])
    attributes["data"], attributes["_shape"] = data, shape
    attributes["indices"] = indices if indices.dtype == np.int32 else indices.astype(np.int32)
    attributes["indptr"] = indptr if indptr.dtype == np.int32 else indptr.astype(np.int32)
    return matrix


def as_csr(matrix: Any) -> sp.csr_array:
    """Return a matrix as a csr array in canonical form: each row sorted by column, no duplicates.

    A matrix in this form is returned unchanged. Otherwise the result is a sorted copy: scipy sorts in place, and `data`
    may be shared with matrices that have other `indices`.
    """
    result: sp.csr_array = matrix if type(matrix) is sp.csr_array else sp.csr_array(matrix)
    if not result.has_canonical_format:
        result = result.copy()
        result.sum_duplicates()
    return result


def zeros(rows: int, columns: int) -> sp.csr_array:
    """Return a sparse matrix of zeros, without stored entries."""
    return from_parts(np.zeros(0), np.zeros(0, np.int32), np.zeros(rows + 1, np.int32), (rows, columns))


def selection_matrix(columns: Integers, width: int, value: float = 1.0) -> sp.csr_array:
    """Return the matrix with `width` columns whose k-th row has the single entry `value` in column columns[k]."""
    count = columns.size
    return from_parts(np.full(count, value), columns, np.arange(count + 1), (count, width))


def row_vector(values: Vector) -> sp.csr_array:
    """Return a vector as a matrix with one row, without stored zeros."""
    at = np.flatnonzero(values)
    return from_parts(values[at], at, np.array([0, at.size]), (1, values.size))


def row_lengths(matrix: sp.csr_array) -> Integers:
    """Return the number of stored entries of each row; for few rows, `np.diff` is several times slower."""
    return matrix.indptr[1:] - matrix.indptr[:-1]


def matvec(matrix: sp.csr_array, values: Vector) -> Vector:
    """Return matrix @ values; a matrix with one row is handled faster than by scipy."""
    if matrix.shape[0] == 1:
        return np.array([matrix.data @ values[matrix.indices]])
    return np.asarray(matrix @ values)


def absolute(matrix: sp.csr_array) -> sp.csr_array:
    """Return |matrix| entry by entry; unlike scipy's `abs`, this does not sort the indices of the matrix."""
    return from_parts(np.abs(matrix.data), matrix.indices, matrix.indptr, matrix.shape)


def scale_rows(matrix: sp.csr_array, factors: Vector) -> sp.csr_array:
    """Return diag(factors) @ matrix."""
    data = matrix.data * np.repeat(factors, row_lengths(matrix))
    return from_parts(data, matrix.indices, matrix.indptr, matrix.shape)


def widen(matrix: sp.csr_array, columns: int) -> sp.csr_array:
    """Return the matrix with empty columns appended, such that it has `columns` columns."""
    if matrix.shape[1] == columns:
        return matrix
    return from_parts(matrix.data, matrix.indices, matrix.indptr, (matrix.shape[0], columns))


def shift_columns(matrix: sp.csr_array, start: int, columns: int) -> sp.csr_array:
    """Return the matrix with all columns moved to the right by `start`, in a matrix with `columns` columns."""
    if start == 0:
        return widen(matrix, columns)
    return from_parts(matrix.data, matrix.indices + start, matrix.indptr, (matrix.shape[0], columns))


def stack_rows(matrices: Sequence[sp.csr_array]) -> sp.csr_array:
    """Return the matrices below each other; all have the same number of columns."""
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


def add(a: sp.csr_array, b: sp.csr_array) -> sp.csr_array:
    """Return a + b; if one of the matrices has no stored entries, the result is the other matrix itself.

    The sum is fast in three cases: one matrix has no stored entries; both matrices have one row and disjoint ranges of
    columns; in every row, at least one of the matrices has no stored entries.
    """
    if a.indptr[-1] == 0:
        return b
    if b.indptr[-1] == 0:
        return a
    if a.shape[0] == 1:
        first, last = (a, b) if a.indices[0] < b.indices[0] else (b, a)
        if first.indices.max() < last.indices.min():
            data, indices = np.concatenate([first.data, last.data]), np.concatenate([first.indices, last.indices])
            return from_parts(data, indices, np.array([0, data.size]), a.shape)
    a_lengths, b_lengths = row_lengths(a), row_lengths(b)
    return as_csr(a + b) if (a_lengths * b_lengths).any() else _add_disjoint_rows(a, a_lengths, b, b_lengths)


def _add_disjoint_rows(a: sp.csr_array, a_lengths: Integers, b: sp.csr_array, b_lengths: Integers) -> sp.csr_array:
    """Return a + b if, in every row, at least one of the matrices has no stored entries (this is not checked).

    `a_lengths` and `b_lengths` are the row lengths of the matrices.
    """
    indptr = a.indptr + b.indptr
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    for matrix, lengths, other in ((a, a_lengths, b), (b, b_lengths, a)):
        at = np.arange(matrix.indptr[-1]) + np.repeat(other.indptr[:-1], lengths)
        data[at], indices[at] = matrix.data, matrix.indices
    return from_parts(data, indices, indptr, a.shape)


def row_slice(matrix: sp.csr_array, start: int, stop: int) -> sp.csr_array:
    """Return rows start to stop - 1; the result shares the arrays of the matrix."""
    first, last = int(matrix.indptr[start]), int(matrix.indptr[stop])
    indptr = matrix.indptr[start : stop + 1] - first
    return from_parts(matrix.data[first:last], matrix.indices[first:last], indptr, (stop - start, matrix.shape[1]))


def multiply(a: sp.csr_array, b: sp.csr_array) -> sp.csr_array:
    """Return a @ b; fast if b has no stored entries, or if no row of a has more than one stored entry."""
    if b.indptr[-1] == 0:
        return zeros(a.shape[0], b.shape[1])
    if row_lengths(a).max(initial=0) > 1:
        return as_csr(a @ b)
    rows = scale_rows(take_rows(b, a.indices), a.data)
    return from_parts(rows.data, rows.indices, rows.indptr[a.indptr], (a.shape[0], b.shape[1]))


def take_rows(matrix: sp.csr_array, rows: Integers) -> sp.csr_array:
    """Return the rows with the given indices; for consecutive rows, the result shares the arrays of the matrix."""
    if rows.size and rows[-1] - rows[0] + 1 == rows.size and (rows.size == 1 or bool((np.diff(rows) == 1).all())):
        return row_slice(matrix, int(rows[0]), int(rows[-1]) + 1)
    first = matrix.indptr[rows]
    lengths = matrix.indptr[1:][rows] - first
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(first - indptr[:-1], lengths) + np.arange(indptr[-1])
    return from_parts(matrix.data[at], matrix.indices[at], indptr, (rows.size, matrix.shape[1]))


def have_same_pattern(a: sp.csr_array, b: sp.csr_array) -> bool:
    """Return True if both matrices have the same shape, and stored entries in the same positions."""
    return a.shape == b.shape and np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def have_same_entries(a: sp.csr_array, b: sp.csr_array) -> bool:
    """Return True if both matrices have the same shape, and the same stored entries in the same positions."""
    return have_same_pattern(a, b) and np.array_equal(a.data, b.data)
