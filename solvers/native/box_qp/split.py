"""A quadratic form as a diagonal, a scaled selection of a dense matrix, and sums:  P = diag(d) + S'WS + N.

Column i of S has the one entry v_i in row r_i, and N are squares of sums, each column in one (see `box_qp_sums`):
P_ij = v_i v_j W[r_i, r_j] + u_i u_j [g_i = g_j] + d_i [i = j]. A dual with paired rows has S = [I, -I]: the 2n x 2n
matrix is never formed, a product costs n^2, and any principal block is a gather.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.quadratic import Piece, Quadratic
from milopt.declaration.kernels.gram import gathered
from milopt.declaration.programs.sparse import taken
from milopt.errors import ConvexityError
from milopt.solvers.native.box_qp.sums import Sums, no_sums, selection, sums

APART = 2.0**20
"""Curvatures whose sizes differ by less are left as they are."""


@dataclass(frozen=True)
class Split:
    """P = diag(d) + S'WS + N with d >= 0; the rest of P is what `inner` and `block` speak of."""

    diagonal: Vector
    """d."""
    weight: Matrix
    """W, C-contiguous and symmetric; 0 x 0 when P is diagonal."""
    row: Index
    """r: the row of W that a column selects."""
    entry: Vector
    """v: the one entry in each column of S."""
    sums: Sums
    """N."""

    @property
    def separable(self) -> bool:
        """P is diagonal."""
        return self.weight.size == 0

    def inner(self, x: Vector) -> Vector:
        """(S'WS + N) x."""
        if self.separable or not x.any():
            return np.zeros(x.size)
        return self.entry * self.carried(x)[self.row] + self.sums.times(x)

    def carried(self, x: Vector) -> Vector:
        """W S x, which a coordinate step changes by a multiple of one row of W."""
        selected = np.bincount(self.row, weights=self.entry * x, minlength=self.weight.shape[0])
        return np.asarray(self.weight @ selected)

    def times(self, x: Vector) -> Vector:
        """P x."""
        return self.inner(x) + self.diagonal * x

    def rounding(self, x: Vector) -> float:
        """The error that one rounding of each term leaves in the largest entry of P x: eps max_i sum_j |P_ij| |x_j|."""
        size = np.abs(x)
        selected = np.bincount(self.row, weights=np.abs(self.entry) * size, minlength=self.weight.shape[0])
        terms = np.abs(self.entry) * (np.abs(self.weight) @ selected)[self.row] + self.diagonal * size
        terms += Sums(self.sums.group, np.abs(self.sums.entry)).times(size)
        return float(np.finfo(np.float64).eps * terms.max(initial=0.0))

    def block(self, index: Index) -> Matrix:
        """S'WS + N restricted to the rows and columns in `index`, in memory of its own."""
        return self.between(index, index)

    def between(self, rows: Index, columns: Index) -> Matrix:
        """S'WS + N restricted to some rows and some columns, in memory of its own."""
        chosen = gathered(self.weight, self.row[rows], self.row[columns])
        left, right = self.entry[rows], self.entry[columns]
        if np.any(left != 1.0) or np.any(right != 1.0):
            chosen *= left[:, None]
            chosen *= right
        self.sums.add_to(chosen, rows, columns)
        return chosen

    @property
    def curvature(self) -> Vector:
        """The diagonal of P."""
        if self.separable:
            return self.diagonal
        return self.diagonal + self.entry**2 * self.weight.diagonal()[self.row] + self.sums.entry**2

    def units(self) -> Vector | None:
        """Return powers of two d that bring the curvatures d_i^2 P_ii near 1; None if they are of one size already."""
        curved = self.curvature > 0.0
        sizes = self.curvature[curved]
        if not sizes.size or sizes.max() <= APART * sizes.min():
            return None
        d = np.ones(curved.size)
        d[curved] = np.exp2(-np.round(np.log2(sizes) / 2))
        return d

    def in_units(self, d: Vector) -> Split:
        """Return DPD, split alike."""
        sums = Sums(self.sums.group, self.sums.entry * d)
        return Split(self.diagonal * d**2, self.weight, self.row, self.entry * d, sums)


def split(P: Quadratic) -> Split:
    """P split: squares of single columns and of sums apart, one dense piece kept over a selection, else made dense."""
    diagonal = np.zeros(P.size)
    dense: list[Piece] = []
    several: list[Piece] = []
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
            several.append(Piece(taken(piece.rows, rows), piece.weight[rows]))
    identity, none = np.arange(P.size), no_sums(P.size)
    if np.any(diagonal < 0.0):
        return Split(np.zeros(P.size), np.ascontiguousarray(P.dense), identity, np.ones(P.size), none)
    if not dense and not several:
        return Split(diagonal, np.zeros((0, 0)), identity, np.zeros(P.size), none)
    chosen = selection(dense[0].rows) if len(dense) == 1 else None
    together = sums(P.size, several)
    if chosen is not None and together is not None:
        return Split(diagonal, np.ascontiguousarray(dense[0].weight), *chosen, together)
    rest = np.ascontiguousarray(Quadratic(P.size, (*dense, *several)).dense)
    return Split(diagonal, rest, identity, np.ones(P.size), none)


def prove_convex(parts: Split, index: Index, name: str) -> None:
    """Raise unless P is positive semidefinite, up to rounding, on the columns in `index` (those that may move).

    d >= 0 and N >= 0, so W >= 0 is proof enough and is the smaller matrix; only when that fails is P itself looked at.
    """
    if parts.separable or _semidefinite(parts.weight):
        return
    block = parts.block(index)
    block.flat[:: index.size + 1] += parts.diagonal[index]
    if _semidefinite(block):
        return
    smallest = float(np.linalg.eigvalsh(block)[0])
    raise ConvexityError(
        f'The box-constrained QP "{name}" is not convex: the smallest eigenvalue of P on the columns that may move is '
        f"{smallest:.6g}; native minimises only convex ones."
    )


def _semidefinite(matrix: Matrix) -> bool:
    """Whether a Cholesky factorisation goes through once rounding errors of the entries are allowed for.

    They are errors of each column's own numbers: a negative entry on the diagonal is not one, however small.
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
