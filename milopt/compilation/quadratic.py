"""Quadratic forms as sums of pieces, P = sum_k R_k' W_k R_k.

Solvers can request P as a sparse or dense matrix, its product with a vector, or a principal submatrix. If the W of a
piece is dense and its R selects a few columns, the piece is expanded to a dense matrix of the size of P only on
request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Matrix, Vector
from milopt.declaration.kernels.gram import submatrix
from milopt.declaration.programs.sparse import have_same_entries, scale_rows, transpose


def apply_weight(weight: Vector | Matrix, values: Vector) -> Vector:
    """Return W @ values; `weight` is the matrix W, or its diagonal if W is diagonal."""
    return np.asarray(weight * values if weight.ndim == 1 else weight @ values)


@dataclass(frozen=True)
class QuadraticPiece:
    """Piece 1/2 x'R'WR x of a quadratic form 1/2 x'Px.

    `rows` is the sparse matrix R (k x n). `weight` is the symmetric matrix W (k x k), or its diagonal (k).
    """

    rows: sp.csr_array
    weight: Vector | Matrix

    def times(self, x: Vector) -> Vector:
        """Return R'WR x."""
        return np.asarray(transpose(self.rows) @ apply_weight(self.weight, self.rows @ x))

    def diagonal(self) -> Vector:
        """Return the diagonal of R'WR."""
        if self.weight.ndim == 1:
            return np.asarray(self.rows.multiply(self.rows).T @ self.weight)
        half = self.rows.T @ self.weight
        return np.asarray(self.rows.T.multiply(half).sum(axis=1)).ravel()


@dataclass(frozen=True)
class Quadratic:
    """Quadratic form 1/2 x'Px, with P = sum_k R_k' W_k R_k stored as pieces over `size` columns."""

    size: int
    pieces: tuple[QuadraticPiece, ...] = ()

    @property
    def is_zero(self) -> bool:
        """True if there are no pieces, so that the objective is linear."""
        return not self.pieces

    @property
    def is_dense(self) -> bool:
        """True if some piece has a full weight matrix, not a diagonal, of m x m entries with 2 m >= `size`."""
        return any(piece.weight.ndim == 2 and 2 * len(piece.weight) >= self.size for piece in self.pieces)

    def times(self, x: Vector) -> Vector:
        """Return P x."""
        total = np.zeros(self.size)
        for piece in self.pieces:
            total += piece.times(x)
        return total

    def equals(self, other: Quadratic) -> bool:
        """Return True if both quadratic forms have the same pieces in the same order, with exactly equal numbers."""
        return len(self.pieces) == len(other.pieces) and all(
            have_same_entries(mine.rows, its.rows) and np.array_equal(mine.weight, its.weight)
            for mine, its in zip(self.pieces, other.pieces, strict=True)
        )

    def value(self, x: Vector) -> float:
        """Return 1/2 x'Px."""
        return 0.5 * float(x @ self.times(x))

    @cached_property
    def sparse(self) -> sp.csc_array:
        """P as a symmetric sparse matrix."""
        if self.is_dense:
            return sp.csc_array(self.dense)
        total = sp.csc_array((self.size, self.size))
        for piece in self.pieces:
            weight = sp.diags_array(piece.weight) if piece.weight.ndim == 1 else sp.csr_array(piece.weight)
            total = total + (piece.rows.T @ weight @ piece.rows)
        total = sp.csc_array((total + total.T) * 0.5)
        total.sum_duplicates()
        return total

    def lower_triangle(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Vector]:
        """Return (starts, rows, values) of the lower triangle of P, column by column, with rows in ascending order.

        Column j has the entries starts[j] to starts[j + 1] - 1.
        """
        if self.is_dense:
            upper = ~np.tri(self.size, k=-1, dtype=bool)  # row-major upper triangle = column-major lower triangle
            starts = np.concatenate([[0], np.cumsum(np.arange(self.size, 0, -1))])
            rows = np.broadcast_to(np.arange(self.size, dtype=np.int32), upper.shape)[upper]
            return starts.astype(np.int32), rows, self.dense[upper]
        triangle = sp.csc_array(sp.tril(self.sparse, format="csc"))
        triangle.sort_indices()
        return triangle.indptr.astype(np.int32), triangle.indices.astype(np.int32), triangle.data

    @cached_property
    def dense(self) -> Matrix:
        """P as a symmetric dense matrix."""
        if len(self.pieces) == 1:
            return _dense_piece(self.pieces[0])
        return _sum_pieces(self.size, self.pieces)

    def submatrix(self, index: npt.NDArray[np.intp]) -> Matrix:
        """Return P restricted to the rows and columns in `index`, as a dense matrix."""
        return _sum_pieces(
            index.size, [QuadraticPiece(sp.csr_array(piece.rows[:, index]), piece.weight) for piece in self.pieces]
        )

    @cached_property
    def diagonal(self) -> Vector:
        """Diagonal of P."""
        return sum((piece.diagonal() for piece in self.pieces), start=np.zeros(self.size))

    @cached_property
    def absolute_diagonal_sums(self) -> Vector:
        """Sums of the absolute values that the pieces add to the diagonal of P, where they may cancel."""
        parts = (
            QuadraticPiece(piece.rows, np.abs(piece.weight)) if piece.weight.ndim == 1 else piece
            for piece in self.pieces
        )
        return sum((np.abs(part.diagonal()) for part in parts), start=np.zeros(self.size))


def _sum_pieces(size: int, pieces: Sequence[QuadraticPiece]) -> Matrix:
    """Return the sum of pieces over `size` columns as a new dense matrix, which shares no memory with the pieces.

    Pieces with diagonal weights are computed as sparse matrices and added entry by entry, because they are mostly 0.
    """
    dense = [piece for piece in pieces if piece.weight.ndim == 2]
    total = _dense_piece(dense[0]) if dense else np.zeros((size, size))
    if dense and np.shares_memory(total, dense[0].weight):
        total = total.copy()
    for piece in dense[1:]:
        total += _dense_piece(piece)
    for piece in pieces:
        if piece.weight.ndim == 1:
            product = transpose(piece.rows).tocsr() @ scale_rows(piece.rows, piece.weight)
            total[np.repeat(np.arange(size), np.diff(product.indptr)), product.indices] += product.data
    return total


def _is_identity(rows: sp.csr_array) -> bool:
    """Return True if a sparse matrix is the identity."""
    counting = np.arange(rows.shape[0] + 1)
    same = np.array_equal(rows.indptr, counting) and np.array_equal(rows.indices, counting[:-1])
    return same and bool((rows.data == 1.0).all())


def _dense_piece(piece: QuadraticPiece) -> Matrix:
    """Return R'WR as a dense matrix; the result is W itself, not a copy, if W is dense and R is the identity.

    If each column of R has at most one entry, the entries of W are gathered and scaled instead of multiplying matrices.
    """
    rows, weight = piece.rows, piece.weight
    if weight.ndim == 1:
        counts = np.diff(rows.indptr)
        if counts.max(initial=0) <= 1:
            weights = np.repeat(weight, counts) * rows.data**2
            return np.diag(np.bincount(rows.indices, weights=weights, minlength=rows.shape[1]))
        return np.asarray((rows.T @ sp.diags_array(weight) @ rows).toarray())
    columns = rows.indices
    if columns.size == rows.shape[0] == rows.shape[1] and _is_identity(rows):
        return weight
    if np.bincount(columns, minlength=1).max() <= 1:
        chosen = np.zeros(rows.shape[1], dtype=np.intp)
        entry = np.zeros(rows.shape[1])
        chosen[columns], entry[columns] = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.data
        block = submatrix(weight, chosen, chosen) if weight.size else np.zeros((entry.size, entry.size))
        block *= entry[:, None]
        block *= entry
        return block
    return np.asarray(rows.T @ np.asarray((rows.T @ weight.T).T))
