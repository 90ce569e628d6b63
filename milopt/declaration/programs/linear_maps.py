"""Sparse matrices of linear maps between arrays whose entries are stored as one vector, row after row.

An expression of shape (m, n) is a vector of m n entries with a shape. Selecting, rearranging and adding entries, and
products with constant matrices, multiply this vector by a sparse matrix. None of these functions loops over entries.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Integers, Vector
from milopt.declaration.programs.sparse import as_csr, from_parts, row_vector, selection_matrix

Shape = tuple[int, ...]
"""Shape of an array."""


def entry_name(entry: int, shape: Shape) -> str:
    """Return the index of an entry as written in brackets, such as "3", or "0, 2" in a matrix."""
    return ", ".join(str(int(k)) for k in np.unravel_index(entry, shape)) if len(shape) > 1 else str(entry)


def rearrangement_matrix(rearrange: Callable[[Integers], Any], shape: Shape) -> tuple[sp.csr_array, Shape]:
    """Return (matrix, shape): the matrix that selects entries like the numpy function `rearrange`, and the new shape.

    The function is applied to the numbers 1, 2, ... of the entries. Zeros in the result of the function, such as those
    above the diagonal for `np.tril`, become empty rows of the matrix.
    """
    size = prod(shape)
    chosen = np.asarray(rearrange(np.arange(1, size + 1).reshape(shape)))
    entries = chosen.ravel()
    if not entries.size or entries.min() > 0:
        return selection_matrix(entries - 1, size), chosen.shape
    is_entry = entries > 0
    indptr = np.concatenate([[0], np.cumsum(is_entry)])
    columns = entries[is_entry] - 1
    return from_parts(np.ones(columns.size), columns, indptr, (entries.size, size)), chosen.shape


def sum_matrix(shape: Shape, axis: int | tuple[int, ...] | None, keepdims: bool) -> tuple[sp.csr_array, Shape]:
    """Return (matrix, shape): the matrix that sums entries along axes, and the shape of the sums."""
    size = prod(shape)
    if axis is None:
        return row_vector(np.ones(size)), (1,) * len(shape) if keepdims else ()
    kept_shape = np.empty(shape, dtype=bool).any(axis=axis, keepdims=True).shape
    count = prod(kept_shape)
    row = np.broadcast_to(np.arange(count).reshape(kept_shape), shape).ravel()
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))])
    matrix = from_parts(np.ones(size), np.argsort(row, kind="stable"), indptr, (count, size))
    return matrix, kept_shape if keepdims else np.empty(shape, dtype=bool).any(axis=axis).shape


def product_from_left(matrix: Vector | sp.csr_array, shape: Shape) -> tuple[sp.csr_array, Shape] | None:
    """Return (matrix of the map X -> matrix @ X, shape of the product); None if the shapes do not match."""
    if not shape or matrix.shape[-1] != shape[-2:][0]:
        return None
    rows = _as_matrix(matrix)
    heads, columns = shape[:-2], shape[-1:] if len(shape) > 1 else ()
    if columns:
        rows = as_csr(sp.kron(rows, sp.eye_array(columns[0]), format="csr"))
    return _block_diagonal(rows, prod(heads)), (*heads, *matrix.shape[:-1], *columns)


def product_from_right(matrix: Vector | sp.csr_array, shape: Shape) -> tuple[sp.csr_array, Shape] | None:
    """Return (matrix of the map X -> X @ matrix, shape of the product); None if the shapes do not match."""
    if not shape or matrix.shape[0] != shape[-1]:
        return None
    return _block_diagonal(_as_matrix(matrix.T), prod(shape[:-1])), (*shape[:-1], *matrix.shape[1:])


def _as_matrix(matrix: Vector | sp.csr_array | sp.csc_array) -> sp.csr_array:
    """Return a vector as a matrix with one row, and a matrix as a csr array."""
    if matrix.ndim == 2:
        return as_csr(matrix)
    return row_vector(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _block_diagonal(matrix: sp.csr_array, count: int) -> sp.csr_array:
    """Return the block-diagonal matrix of `count` copies of a matrix."""
    return matrix if count == 1 else as_csr(sp.kron(sp.eye_array(count), matrix, format="csr"))
