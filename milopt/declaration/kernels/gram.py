"""Inner products and squared distances between the rows of two arrays, from which Gram matrices are computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.deadline import seconds_left
from milopt.declaration.array_conversion import as_canonical_csr, to_float_array
from milopt.declaration.bags.bag_rows import BagRows
from milopt.declaration.bags.scaled_rows import is_scaled_rows
from milopt.errors import BagsError, TimeLimitError

_CACHE_BLOCK_BYTES = 2**20
"""Size of the blocks of rows that are processed at once, in bytes: a block should fit into the processor's cache."""
MAX_UNINTERRUPTED_VALUES = 2**26
"""Number of inner products up to which the deadline is not checked: about a second of work for 100 features."""


def as_point_rows(given: Any) -> Points:
    """Return points as rows: a C-contiguous float64 array, or a csr array in canonical form.

    An array that has this form already is returned unchanged, and so are `BagRows` and `ScaledRows`. `BagsError` is
    raised if `given` is not a 2-D array of real numbers with at least one feature.
    """
    if isinstance(given, BagRows) or is_scaled_rows(given):
        return cast(Points, given)
    if sp.issparse(given):
        return as_canonical_csr(given)
    rows = np.ascontiguousarray(to_float_array(given, "The array of points"))
    if rows.ndim != 2:
        raise BagsError(f"Points must be a 2-D array, one row per point, not {rows.ndim}-D.")
    if rows.shape[1] == 0:
        raise BagsError("Points must have at least one feature.")
    return rows


def point_blocks(points: Points) -> Iterator[tuple[slice, Points]]:
    """Yield pairs (slice of the points, these points as an array): blocks of `ScaledRows`, otherwise all points."""
    if is_scaled_rows(points):
        yield from points.blocks()
    else:
        yield slice(0, points.shape[0]), points


def inner_products(A: Points, B: Points) -> Floats:
    """Return A B', the inner products of the rows of A and B, as a dense array.

    Large products are computed in blocks if there is a deadline; `TimeLimitError` is raised if it is reached.
    """
    is_large = A.shape[0] * B.shape[0] > MAX_UNINTERRUPTED_VALUES and seconds_left() is not None
    if is_large and isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        return _inner_products_until_deadline(A, B)
    if not (isinstance(A, sp.csr_array) and isinstance(B, sp.csr_array)):
        # If B is A, numpy computes one triangle and mirrors it.
        return np.asarray(A @ B.T, dtype=np.float64)
    result = np.empty((A.shape[0], B.shape[0]))
    columns = B.T.tocsr()
    for rows in cache_sized_slices(result):
        result[rows] = (A[rows] @ columns).toarray()
    return result


def _inner_products_until_deadline(A: Floats, B: Floats) -> Floats:
    """Return A B', or raise `TimeLimitError` if the deadline is reached; if B is A, the result is symmetric."""
    result = np.empty((A.shape[0], B.shape[0]))
    step = max(1, MAX_UNINTERRUPTED_VALUES // (8 * B.shape[0]))
    for start in range(0, A.shape[0], step):
        if seconds_left() == 0.0:
            raise TimeLimitError(
                f"The time limit was reached while {A.shape[0]} x {B.shape[0]} kernel values were computed: increase "
                "it, or use a solver that takes features."
            )
        rows = slice(start, start + step)
        if B is A:
            result[rows, :start] = A[rows] @ A[:start].T
            result[:start, rows] = result[rows, :start].T
            result[rows, rows] = A[rows] @ A[rows].T
        else:
            result[rows] = A[rows] @ B.T
    return result


def squared_norms(A: Points) -> Floats:
    """Return ||x||^2 for each row x."""
    if isinstance(A, sp.csr_array):
        return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    if is_scaled_rows(A):
        return A.squared_norms()
    return cast(Floats, np.einsum("pd,pd->p", A, A))


def negative_squared_distances(A: Points, B: Points) -> Floats:
    """Return -||x - z||^2 = 2 <x, z> - (||x||^2 + ||z||^2) for all pairs of rows; no entry is positive.

    If ``B is A``, the diagonal is exactly 0.
    """
    same = B is A
    if not isinstance(A, sp.csr_array) and not isinstance(B, sp.csr_array):
        # Far from the origin, the three terms are large and their sum is small, which loses digits. So the points are
        # centred, at the mean of B only: a row of the result must not depend on the other rows of A.
        centre = B.mean(axis=0) if B.shape[0] else np.zeros(B.shape[1])
        A = A - centre
        B = A if same else B - centre
    left = squared_norms(A)
    right = left if same else squared_norms(B)
    distances = inner_products(A, B)
    for rows in cache_sized_slices(distances):
        piece = distances[rows]
        piece *= 2
        # Add the two norms first: their sum does not depend on the order, so the matrix is exactly symmetric.
        piece -= left[rows, None] + right
        np.minimum(piece, 0, out=piece)
    if same:
        np.fill_diagonal(distances, 0)
    return distances


def cache_sized_slices(matrix: Floats, count: int | None = None) -> Iterator[slice]:
    """Return slices of consecutive rows of a matrix such that each slice fits into the processor's cache.

    If `count` is given, the slices cover `count` rows of this length instead of the rows of the matrix. All slices have
    the same length, so the last slice may end after the last row.
    """
    step = max(1, _CACHE_BLOCK_BYTES // (8 * max(1, matrix.shape[1])))
    return (slice(start, start + step) for start in range(0, matrix.shape[0] if count is None else count, step))


def submatrix(matrix: Floats, rows: Index, columns: Index) -> Floats:
    """Return a copy of the entries in the given rows and columns."""
    result = np.empty((rows.size, columns.size))
    # Gather block by block: taking all rows first would allocate a second large matrix.
    for part in cache_sized_slices(matrix, rows.size):
        result[part] = matrix[rows[part]].take(columns, axis=1)
    return result


def is_symmetric(gram: Floats) -> bool:
    """Return True if K = K' up to 1e-8 times the largest absolute entry."""
    scale = max((float(np.abs(gram[rows]).max(initial=0)) for rows in cache_sized_slices(gram)), default=0.0)
    return all(np.abs(gram[rows] - gram[:, rows].T).max(initial=0) <= 1e-8 * scale for rows in cache_sized_slices(gram))


def symmetrise(gram: Floats) -> Floats:
    """Return (K + K') / 2 as a C-contiguous array.

    If K is exactly symmetric, the result is K itself (or its transpose, if K is not C-contiguous).
    """
    by_rows = gram if gram.flags.c_contiguous else gram.T
    same = all(
        np.array_equal(by_rows[rows, rows.start :], by_rows[rows.start :, rows].T) for rows in cache_sized_slices(gram)
    )
    return by_rows if same else (by_rows + by_rows.T) / 2


def orthonormal_basis(gram: Floats) -> Floats:
    """Return R with R'KR = I for the Gram matrix K = K(Z, Z) of points Z.

    The functions K(., Z) R are then an orthonormal basis of the span of the functions K(., z). Eigenvalues of K up to
    1e-10 times the largest one are left out, so that R may have fewer columns than rows.
    """
    from scipy.linalg import eigh

    values, vectors = eigh(gram)
    is_large = values > 1e-10 * max(float(values[-1]), 0.0)
    return np.asarray(vectors[:, is_large] / np.sqrt(values[is_large]))
