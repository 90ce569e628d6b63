"""What Gram matrices are made of: inner products and squared distances between the rows of two arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.declaration.arrays import csr, numeric
from milopt.declaration.bags.bag_rows import BagRows
from milopt.errors import BagsError

# Rows are worked on in pieces of this many bytes, so that passes over them stay in the processor's cache.
_PIECE = 2**20


def points(given: Any) -> Points:
    """Points as rows: contiguous float64, or canonical CSR; the very object where it is that already, or bags are."""
    if isinstance(given, BagRows):
        return cast(Points, given)
    if sp.issparse(given):
        return csr(given)
    rows = np.ascontiguousarray(numeric(given, "The array of points"))
    if rows.ndim != 2:
        raise BagsError(f"Points must be a 2-D array, one row a point, not {rows.ndim}-D.")
    if rows.shape[1] == 0:
        raise BagsError("Points must have at least one feature.")
    return rows


def products(A: Points, B: Points) -> Floats:
    """A B', dense."""
    if not (isinstance(A, sp.csr_array) and isinstance(B, sp.csr_array)):
        # Where B is A, numpy computes one triangle and mirrors it.
        return np.asarray(A @ B.T, dtype=np.float64)
    result = np.empty((A.shape[0], B.shape[0]))
    columns = B.T.tocsr()
    for rows in pieces(result):
        result[rows] = (A[rows] @ columns).toarray()
    return result


def squared_norms(A: Points) -> Floats:
    """||x||^2 for each row."""
    if isinstance(A, sp.csr_array):
        return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    return cast(Floats, np.einsum("pd,pd->p", A, A))


def minus_squared_distances(A: Points, B: Points) -> Floats:
    """-||x - z||^2 = 2 <x, z> - (||x||^2 + ||z||^2), never above 0; exactly 0 on the diagonal where B is A."""
    same = B is A
    if not isinstance(A, sp.csr_array) and not isinstance(B, sp.csr_array):
        # Far from the origin the three terms are large and their sum is small: take the origin amid the points. Amid
        # those of B alone, so that a row does not depend on which others it is computed with.
        centre = B.mean(axis=0) if B.shape[0] else np.zeros(B.shape[1])
        A = A - centre
        B = A if same else B - centre
    left = squared_norms(A)
    right = left if same else squared_norms(B)
    distances = products(A, B)
    for rows in pieces(distances):
        piece = distances[rows]
        piece *= 2
        # The two norms are added first: that sum does not depend on their order, so symmetry is exact.
        piece -= left[rows, None] + right
        np.minimum(piece, 0, out=piece)
    if same:
        np.fill_diagonal(distances, 0)
    return distances


def pieces(matrix: Floats, count: int | None = None) -> Iterator[slice]:
    """The rows of a matrix, or so many as long as they are, a cacheful at a time."""
    step = max(1, _PIECE // (8 * max(1, matrix.shape[1])))
    return (slice(start, start + step) for start in range(0, matrix.shape[0] if count is None else count, step))


def gathered(matrix: Floats, rows: Index, columns: Index) -> Floats:
    """Some rows and columns of a matrix, in memory of their own."""
    result = np.empty((rows.size, columns.size))
    # All rows first and columns then would be a second matrix, whose memory costs more than its numbers do.
    for some in pieces(matrix, rows.size):
        result[some] = matrix[rows[some]].take(columns, axis=1)
    return result


def is_symmetric(gram: Floats) -> bool:
    """Whether K = K' up to rounding."""
    scale = max((float(np.abs(gram[rows]).max(initial=0)) for rows in pieces(gram)), default=0.0)
    return all(np.abs(gram[rows] - gram[:, rows].T).max(initial=0) <= 1e-8 * scale for rows in pieces(gram))


def symmetrised(gram: Floats) -> Floats:
    """(K + K') / 2, which is K itself where it is exactly symmetric; it lies row by row."""
    by_rows = gram if gram.flags.c_contiguous else gram.T
    same = all(np.array_equal(by_rows[rows, rows.start :], by_rows[rows.start :, rows].T) for rows in pieces(gram))
    return by_rows if same else (by_rows + by_rows.T) / 2


def orthonormal_basis(gram: Floats) -> Floats:
    """R with R'KR = I, over the eigenvalues of K above 1e-10 of the largest: K(., Z) R is an orthonormal basis."""
    from scipy.linalg import eigh

    values, vectors = eigh(gram)
    kept = values > 1e-10 * max(float(values[-1]), 0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
