"""A quadratic form as a diagonal, a scaled selection of a dense matrix, and squared sums:  P = diag(d) + S'WS + G.

Column i of S has one entry v_i in row r_i. x'Gx is a sum of squared sums, where column i has the coefficient u_i and is
in the sum number g_i only (see `sums`). With [..] = 1 if the condition holds, else 0,

    P_ij = d_i [i = j] + v_i v_j W[r_i, r_j] + u_i u_j [g_i = g_j].

For a dual with paired rows, S = [I, -I]: the 2n x 2n matrix is never formed, a product costs n^2, and any principal
block is a gather of entries of W. The other modules write  P = diag(d) + N,  N = S'WS + G.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.declaration.kernels.gram import submatrix
from milopt.declaration.programs.sparse import take_rows
from milopt.errors import ConvexityError
from milopt.solvers.native.box_qp.sums import SquaredSums, combine_sums, find_single_column_entries, zero_sums

MAX_CURVATURE_RATIO = 2.0**20
"""Ratio of the largest to the smallest curvature up to which columns are not rescaled."""


@dataclass(frozen=True)
class QuadraticSplit:
    """The split P = diag(d) + S'WS + G with d >= 0 (see the module docstring).

    `principal_block` and `block` are blocks of S'WS + G, without diag(d).
    """

    diagonal: Vector
    """The vector d."""
    weight: Matrix
    """The matrix W, C-contiguous and symmetric; 0 x 0 if P = diag(d)."""
    row: Index
    """The row r_i of W that each column of P selects."""
    entry: Vector
    """The entry v_i of each column of S."""
    sums: SquaredSums
    """The matrix G."""

    @property
    def is_diagonal(self) -> bool:
        """Whether W is empty and G = 0, so that P = diag(d)."""
        return self.weight.size == 0

    def times_without_diagonal(self, x: Vector) -> Vector:
        """Return (S'WS + G) x, which is P x without the part diag(d) x."""
        if self.is_diagonal or not x.any():
            return np.zeros(x.size)
        return self.entry * self.weighted_selection(x)[self.row] + self.sums.times(x)

    def weighted_selection(self, x: Vector) -> Vector:
        """Return W S x. If only x_i changes, W S x changes by a multiple of row r_i of W (W is symmetric)."""
        selected = np.bincount(self.row, weights=self.entry * x, minlength=self.weight.shape[0])
        return np.asarray(self.weight @ selected)

    def times(self, x: Vector) -> Vector:
        """Return P x."""
        return self.times_without_diagonal(x) + self.diagonal * x

    def estimate_rounding_error(self, x: Vector) -> float:
        """Return an estimate of the largest rounding error in P x:  eps max_i sum_j |P_ij| |x_j|.

        The parts of P are added with their absolute values, even if they cancel in P_ij.
        """
        size = np.abs(x)
        selected = np.bincount(self.row, weights=np.abs(self.entry) * size, minlength=self.weight.shape[0])
        terms = np.abs(self.entry) * (np.abs(self.weight) @ selected)[self.row] + self.diagonal * size
        terms += SquaredSums(self.sums.group, np.abs(self.sums.entry)).times(size)
        return float(np.finfo(np.float64).eps * terms.max(initial=0.0))

    def principal_block(self, index: Index) -> Matrix:
        """Return a new array with S'WS + G restricted to the rows and columns in `index`."""
        return self.block(index, index)

    def block(self, rows: Index, columns: Index) -> Matrix:
        """Return a new array with S'WS + G restricted to these rows and columns."""
        selection = submatrix(self.weight, self.row[rows], self.row[columns])
        left, right = self.entry[rows], self.entry[columns]
        if np.any(left != 1.0) or np.any(right != 1.0):
            selection *= left[:, None]
            selection *= right
        self.sums.add_to_block(selection, rows, columns)
        return selection

    @property
    def curvature(self) -> Vector:
        """Diagonal of P, all parts included."""
        if self.is_diagonal:
            return self.diagonal
        return self.diagonal + self.entry**2 * self.weight.diagonal()[self.row] + self.sums.entry**2

    def column_scales(self) -> Vector | None:
        """Return powers of two c that bring the curvatures c_i^2 P_ii near 1, or None if P needs no scaling.

        P needs no scaling if its positive curvatures P_ii differ by at most the factor MAX_CURVATURE_RATIO.
        If P_ii <= 0, c_i is 1.
        """
        curved = self.curvature > 0.0
        sizes = self.curvature[curved]
        if not sizes.size or sizes.max() <= MAX_CURVATURE_RATIO * sizes.min():
            return None
        d = np.ones(curved.size)
        d[curved] = np.exp2(-np.round(np.log2(sizes) / 2))
        return d

    def rescale(self, d: Vector) -> QuadraticSplit:
        """Return the split of DPD, where D is the diagonal matrix of the column scales (here the argument `d`)."""
        sums = SquaredSums(self.sums.group, self.sums.entry * d)
        return QuadraticSplit(self.diagonal * d**2, self.weight, self.row, self.entry * d, sums)


def split_quadratic(P: Quadratic) -> QuadraticSplit:
    """Split P into a diagonal part, one dense piece over a selection, and squared sums.

    The diagonal part d is the sum of the squares of single columns, not the whole diagonal of P. If an entry of d is
    negative, P becomes one dense matrix W and d = 0. Otherwise W and G keep the pieces of P if there is exactly one
    dense piece, whose rows have at most one entry per column, and if the sums have non-negative weights and no column
    in common. If P consists of d only, W is empty. In all other cases, P - diag(d) becomes one dense matrix W.
    """
    diagonal = np.zeros(P.size)
    dense: list[QuadraticPiece] = []
    sum_pieces: list[QuadraticPiece] = []
    for piece in P.pieces:
        if piece.weight.ndim == 2:
            dense += [piece] if piece.weight.size else []
            continue
        counts = np.diff(piece.rows.indptr)
        alone = np.repeat(counts <= 1, counts)
        weights = np.repeat(piece.weight, counts)[alone] * piece.rows.data[alone] ** 2
        diagonal += np.bincount(piece.rows.indices[alone], weights=weights, minlength=P.size)
        if not alone.all():
            rows = np.flatnonzero(counts > 1)
            sum_pieces.append(QuadraticPiece(take_rows(piece.rows, rows), piece.weight[rows]))
    identity, none = np.arange(P.size), zero_sums(P.size)
    if np.any(diagonal < 0.0):
        return QuadraticSplit(np.zeros(P.size), np.ascontiguousarray(P.dense), identity, np.ones(P.size), none)
    if not dense and not sum_pieces:
        return QuadraticSplit(diagonal, np.zeros((0, 0)), identity, np.zeros(P.size), none)
    selection = find_single_column_entries(dense[0].rows) if len(dense) == 1 else None
    squared_sums = combine_sums(P.size, sum_pieces)
    if selection is not None and squared_sums is not None:
        return QuadraticSplit(diagonal, np.ascontiguousarray(dense[0].weight), *selection, squared_sums)
    rest = np.ascontiguousarray(Quadratic(P.size, (*dense, *sum_pieces)).dense)
    return QuadraticSplit(diagonal, rest, identity, np.ones(P.size), none)


def check_convex(parts: QuadraticSplit, index: Index, name: str) -> None:
    """Raise `ConvexityError` unless P is positive semidefinite, up to rounding, on the columns in `index`.

    `index` are the columns that are not fixed, and `name` is the program's name for the message. Because diag(d) and G
    are positive semidefinite, it is sufficient that W is, which is usually smaller than P. P itself is tested only if W
    is not positive semidefinite.
    """
    if parts.is_diagonal or _is_semidefinite(parts.weight):
        return
    block = parts.principal_block(index)
    block.flat[:: index.size + 1] += parts.diagonal[index]
    if _is_semidefinite(block):
        return
    smallest = float(np.linalg.eigvalsh(block)[0])
    raise ConvexityError(
        f'The box-constrained QP "{name}" is not convex: the smallest eigenvalue of P on the free columns '
        f"is {smallest:.6g}; native only minimises convex ones. Use scheme='ccp'."
    )


def _is_semidefinite(matrix: Matrix) -> bool:
    """Return True if a Cholesky factorisation succeeds after a shift by the rounding errors of the entries.

    The shift of each column is relative to its own diagonal entry, so a negative diagonal entry is never accepted,
    however small it is. A row whose diagonal entry is 0 must be 0.
    """
    size = matrix.shape[0]
    if size == 0:
        return True
    diagonal = matrix.diagonal()
    used = diagonal > 0.0
    if (diagonal < 0.0).any() or matrix[~used].any():
        return False
    shifted = np.array(matrix, order="F")
    shifted.flat[:: size + 1] += np.where(used, 1e-14 * size * diagonal, 1.0)
    return bool(dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1] == 0)
