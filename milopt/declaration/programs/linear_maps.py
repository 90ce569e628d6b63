"""Sparse matrices of linear maps between arrays whose entries are kept as one vector, row after row.

An expression of shape (m, n) is a vector of m n entries with a shape. Choosing, rearranging and adding up its entries,
and its products with matrices of numbers, multiply this vector by a sparse matrix. None of these maps has a loop over
entries.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.programs.sparse import Index, csr, from_parts, picked, row_vector

Shape = tuple[int, ...]


def entry_name(entry: int, shape: Shape) -> str:
    """Return the index of an entry of a vector of entries, as it is written in brackets: 3, or 0, 2 in a matrix."""
    return ", ".join(str(int(k)) for k in np.unravel_index(entry, shape)) if len(shape) > 1 else str(entry)


def choice(rearrange: Callable[[Index], Any], shape: Shape) -> tuple[sp.csr_array, Shape]:
    """Return the matrix that chooses entries as a function of numpy does, and the shape of its result.

    The function is applied to the numbers 1, 2, ... of the entries. Where its result is 0, as above the diagonal of
    `np.tril`, the row of the matrix is empty.
    """
    size = prod(shape)
    chosen = np.asarray(rearrange(np.arange(1, size + 1).reshape(shape)))
    entries = chosen.ravel()
    if not entries.size or entries.min() > 0:
        return picked(entries - 1, size), chosen.shape
    is_entry = entries > 0
    indptr = np.concatenate([[0], np.cumsum(is_entry)])
    columns = entries[is_entry] - 1
    return from_parts(np.ones(columns.size), columns, indptr, (entries.size, size)), chosen.shape


def sums(shape: Shape, axis: int | tuple[int, ...] | None, keepdims: bool) -> tuple[sp.csr_array, Shape]:
    """Return the matrix that adds up entries along axes, and the shape of the sums."""
    size = prod(shape)
    if axis is None:
        return row_vector(np.ones(size)), (1,) * len(shape) if keepdims else ()
    kept = np.empty(shape, dtype=bool).any(axis=axis, keepdims=True).shape
    count = prod(kept)
    row = np.broadcast_to(np.arange(count).reshape(kept), shape).ravel()
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))])
    matrix = from_parts(np.ones(size), np.argsort(row, kind="stable"), indptr, (count, size))
    return matrix, kept if keepdims else np.empty(shape, dtype=bool).any(axis=axis).shape


def product_from_left(matrix: Vector | sp.csr_array, shape: Shape) -> tuple[sp.csr_array, Shape] | None:
    """Return the matrix of X -> matrix @ X, and the shape of the product; None if the shapes do not match."""
    if not shape or matrix.shape[-1] != shape[-2:][0]:
        return None
    rows = _as_rows(matrix)
    heads, columns = shape[:-2], shape[-1:] if len(shape) > 1 else ()
    if columns:
        rows = csr(sp.kron(rows, sp.eye_array(columns[0]), format="csr"))
    return _repeated(rows, prod(heads)), (*heads, *matrix.shape[:-1], *columns)


def product_from_right(matrix: Vector | sp.csr_array, shape: Shape) -> tuple[sp.csr_array, Shape] | None:
    """Return the matrix of X -> X @ matrix, and the shape of the product; None if the shapes do not match."""
    if not shape or matrix.shape[0] != shape[-1]:
        return None
    return _repeated(_as_rows(matrix.T), prod(shape[:-1])), (*shape[:-1], *matrix.shape[1:])


def _as_rows(matrix: Vector | sp.csr_array | sp.csc_array) -> sp.csr_array:
    """Return a vector as one row, and a matrix as it is."""
    if matrix.ndim == 2:
        return csr(matrix)
    return row_vector(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _repeated(matrix: sp.csr_array, count: int) -> sp.csr_array:
    """Return a block-diagonal matrix of copies of a matrix."""
    return matrix if count == 1 else csr(sp.kron(sp.eye_array(count), matrix, format="csr"))
