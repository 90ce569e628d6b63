"""A symmetric matrix factorised as cheaply as its inertia allows: Cholesky, LDL', or eigenvectors when singular.

If its rows are of very different sizes, S M S is factorised (`equilibration`). A matrix that was computed by
cancellation has errors in proportion to the data that cancelled. Its eigenvalues are compared with the size of those
data (`size_of_data`), and it is not equilibrated, which would enlarge the errors.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs, dsytrf, dsytrs
from scipy.sparse.linalg import eigsh

from milopt.arrays import Matrix, Vector
from milopt.compilation.equilibration import equilibration
from milopt.compilation.inertia import Inertia

PANEL = 64
"""Columns that LAPACK factorises at a time, for which it is given room."""


class Symmetric:
    """The factors of a symmetric matrix, and the signs of its eigenvalues."""

    def __init__(
        self,
        matrix: Matrix,
        *,
        definite: bool = True,
        smallest: bool = True,
        disposable: bool = False,
        size_of_data: float | None = None,
    ) -> None:
        """`definite`: it may be, so that Cholesky is tried first; `smallest`: find a smallest eigenvalue below 0.

        `disposable`: nobody needs the matrix any more, and its place may be taken. `size_of_data`: the largest entry of
        the data that cancelled in it, if it was computed from larger numbers.
        """
        size = matrix.shape[0]
        self.size = size
        self.scale = equilibration(matrix) if size and size_of_data is None else None
        data = size_of_data or 0.0
        if self.scale is not None:
            matrix = self.scale[:, None] * matrix * self.scale
        self.vectors: Matrix | None = None
        self.cholesky: Matrix = matrix
        self.definite = size == 0
        diagonal = matrix.diagonal().copy()
        if size and definite:
            largest = max(float(np.abs(matrix).max()), data)
            self.cholesky, info = dpotrf(matrix, lower=1, clean=0)
            self.definite = info == 0 and bool(np.all(self.cholesky.diagonal() ** 2 > 1e-11 * largest))
        if self.definite:
            self.inertia = Inertia(size, 0, 0)
            return
        # Where it takes the matrix's place, it leaves the part above the diagonal.
        self.ldl, self.pivots, _ = dsytrf(matrix, lower=1, lwork=PANEL * size, overwrite_a=disposable)
        blocks = _block_eigenvalues(self.ldl, self.pivots)
        if np.abs(blocks).min() > 1e-11 * max(float(np.abs(blocks).max()), data):
            negative = int(np.sum(blocks < 0.0))
            least = smallest_eigenvalue(self._unscaled(_mirrored(matrix, diagonal))) if negative and smallest else None
            self.inertia = Inertia(size - negative, 0, negative, least)
            return
        values, self.vectors = eigh(_mirrored(matrix, diagonal))
        zero = np.abs(values) <= 1e-14 * max(size, 100) * max(float(np.abs(values).max(initial=0.0)), data)
        self.kernel: npt.NDArray[np.bool_] = zero
        self.inverse = np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, values))
        negative = int(np.sum(~zero & (values < 0.0)))
        least = float(values[0]) if negative else None
        if negative and self.scale is not None:
            least = smallest_eigenvalue(self._unscaled(_mirrored(matrix, diagonal))) if smallest else None
        self.inertia = Inertia(size - negative - int(zero.sum()), int(zero.sum()), negative, least)

    def solve(self, right: Vector) -> Vector:
        """The solution, the shortest one (after scaling) when the matrix is singular."""
        if self.size == 0:
            return right
        if self.scale is None:
            return self._solved(right)
        return self.scale * self._solved(self.scale * right)

    def _solved(self, right: Vector) -> Vector:
        if self.definite:
            return np.asarray(dpotrs(self.cholesky, right, lower=1)[0])
        if self.vectors is None:
            return np.asarray(dsytrs(self.ldl, self.pivots, right, lower=1)[0]).reshape(-1)
        return np.asarray(self.vectors @ (self.inverse * (self.vectors.T @ right)))

    def leftover(self, right: Vector) -> float:
        """The largest component of `right` in the null space, which no solution can produce."""
        if self.vectors is None:
            return 0.0
        if self.scale is None:
            return float(np.abs((self.vectors.T @ right)[self.kernel]).max(initial=0.0))
        # Directions of the null space itself, of length 1 as without scaling.
        null = self.scale[:, None] * self.vectors[:, self.kernel]
        return float(np.abs((null / np.linalg.norm(null, axis=0)).T @ right).max(initial=0.0))

    def _unscaled(self, matrix: Matrix) -> Matrix:
        return matrix if self.scale is None else matrix / self.scale[:, None] / self.scale


def _mirrored(upper: Matrix, diagonal: Vector) -> Matrix:
    """The symmetric matrix with this part above its diagonal."""
    above = np.triu(upper, 1)
    return np.asarray(above + above.T + np.diag(diagonal))


def _block_eigenvalues(ldl: Matrix, pivots: npt.NDArray[np.intp]) -> Vector:
    """Eigenvalues of the block-diagonal D of LDL'; by Sylvester their signs are the matrix's."""
    values = ldl.diagonal().copy()
    # A block of two has both of its pivots below 0, so that blocks begin at every other of these.
    first = np.flatnonzero(pivots < 0)[::2]
    a, b, c = values[first], ldl[first + 1, first], values[first + 1]
    half, apart = (a + c) / 2, np.hypot((a - c) / 2, b)
    large = half + np.where(half < 0, -apart, apart)
    # The small one from the determinant: a difference of large numbers would lose it.
    values[first], values[first + 1] = large, (a / large) * c - (b / large) * b
    return values


def smallest_eigenvalue(matrix: Matrix) -> float:
    """Return the smallest eigenvalue; by Lanczos where reducing the whole matrix would cost more than solving did."""
    if matrix.shape[0] <= 1000:
        return float(eigh(matrix, eigvals_only=True, subset_by_index=(0, 0))[0])
    # ARPACK's own start is random, and so would be the last digits.
    start = np.random.default_rng(0).standard_normal(len(matrix))
    return float(eigsh(matrix, k=1, which="SA", return_eigenvectors=False, tol=1e-8, v0=start)[0])
