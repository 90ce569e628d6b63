"""Factorisation of a symmetric matrix M by the cheapest method that its inertia allows.

Cholesky if M is positive definite, LDL' if M is indefinite, eigenvectors if M is singular. If the rows of M have very
different sizes, S M S is factorised, with a diagonal scaling S (`equilibration`). If M is a small difference of
larger numbers, its errors are proportional to those numbers. The eigenvalues are then compared with the size of those
numbers (`size_of_data`), and M is not equilibrated, because that would amplify the errors.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs, dsytrf, dsytrs
from scipy.sparse.linalg import eigsh

from milopt.arrays import Matrix, Vector
from milopt.compilation.equilibration import equilibration_scale
from milopt.compilation.inertia import Inertia

LAPACK_BLOCK_COLUMNS = 64
"""Block size of the LDL' factorisation, which determines the size of its workspace."""


class SymmetricFactors:
    """Factors of a symmetric matrix, and its inertia."""

    def __init__(
        self,
        matrix: Matrix,
        *,
        try_cholesky: bool = True,
        with_smallest: bool = True,
        overwrite: bool = False,
        size_of_data: float | None = None,
    ) -> None:
        """Factorise the matrix.

        Parameters
        ----------
        matrix : ndarray of shape (size, size)
            Symmetric matrix.
        try_cholesky : bool
            Whether the matrix may be positive definite, so that Cholesky is tried first.
        with_smallest : bool
            Whether to compute the smallest eigenvalue for `inertia` if it is negative. If the matrix is singular and
            not scaled, this eigenvalue is computed in any case.
        overwrite : bool
            Whether `matrix` may be overwritten, to save memory.
        size_of_data : float or None
            Largest absolute entry of the data that cancelled in the matrix, if it was computed from larger numbers;
            None if it was not.
        """
        size = matrix.shape[0]
        self.size = size
        self.scale = equilibration_scale(matrix) if size and size_of_data is None else None
        data = size_of_data or 0.0
        if self.scale is not None:
            matrix = self.scale[:, None] * matrix * self.scale
        self.eigenvectors: Matrix | None = None
        self.cholesky: Matrix = matrix
        self.is_definite = size == 0
        diagonal = matrix.diagonal().copy()
        if size and try_cholesky:
            largest = max(float(np.abs(matrix).max()), data)
            self.cholesky, info = dpotrf(matrix, lower=1, clean=0)
            self.is_definite = info == 0 and bool(np.all(self.cholesky.diagonal() ** 2 > 1e-11 * largest))
        if self.is_definite:
            self.inertia = Inertia(size, 0, 0)
            return
        # Only the lower triangle is overwritten: the entries above the diagonal remain those of the matrix.
        self.ldl, self.pivots, _ = dsytrf(matrix, lower=1, lwork=LAPACK_BLOCK_COLUMNS * size, overwrite_a=overwrite)
        block_values = _block_eigenvalues(self.ldl, self.pivots)
        if np.abs(block_values).min() > 1e-11 * max(float(np.abs(block_values).max()), data):
            negative = int(np.sum(block_values < 0.0))
            smallest_value = (
                smallest_eigenvalue(self._undo_scaling(_symmetric_from_upper(matrix, diagonal)))
                if negative and with_smallest
                else None
            )
            self.inertia = Inertia(size - negative, 0, negative, smallest_value)
            return
        values, self.eigenvectors = eigh(_symmetric_from_upper(matrix, diagonal))
        zero = np.abs(values) <= 1e-14 * max(size, 100) * max(float(np.abs(values).max(initial=0.0)), data)
        self.is_zero: npt.NDArray[np.bool_] = zero
        self.inverse_eigenvalues = np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, values))
        negative = int(np.sum(~zero & (values < 0.0)))
        smallest_value = float(values[0]) if negative else None
        if negative and self.scale is not None:
            smallest_value = (
                smallest_eigenvalue(self._undo_scaling(_symmetric_from_upper(matrix, diagonal)))
                if with_smallest
                else None
            )
        self.inertia = Inertia(size - negative - int(zero.sum()), int(zero.sum()), negative, smallest_value)

    def solve(self, right: Vector) -> Vector:
        """Return the solution x of M x = right; if M is singular, the shortest least-squares solution after scaling."""
        if self.size == 0:
            return right
        if self.scale is None:
            return self._solve_scaled(right)
        return self.scale * self._solve_scaled(self.scale * right)

    def _solve_scaled(self, right: Vector) -> Vector:
        """Return the solution of the scaled system, by whichever factors were computed."""
        if self.is_definite:
            return np.asarray(dpotrs(self.cholesky, right, lower=1)[0])
        if self.eigenvectors is None:
            return np.asarray(dsytrs(self.ldl, self.pivots, right, lower=1)[0]).reshape(-1)
        return np.asarray(self.eigenvectors @ (self.inverse_eigenvalues * (self.eigenvectors.T @ right)))

    def null_space_component(self, right: Vector) -> float:
        """Return the largest |v'right| over the unit vectors v that span the null space of M; 0 if M is nonsingular."""
        if self.eigenvectors is None:
            return 0.0
        if self.scale is None:
            return float(np.abs((self.eigenvectors.T @ right)[self.is_zero]).max(initial=0.0))
        # Unit vectors of the null space in unscaled coordinates.
        null = self.scale[:, None] * self.eigenvectors[:, self.is_zero]
        return float(np.abs((null / np.linalg.norm(null, axis=0)).T @ right).max(initial=0.0))

    def _undo_scaling(self, matrix: Matrix) -> Matrix:
        """Return the matrix before equilibration, given the matrix after it."""
        return matrix if self.scale is None else matrix / self.scale[:, None] / self.scale


def _symmetric_from_upper(upper: Matrix, diagonal: Vector) -> Matrix:
    """Return the symmetric matrix with this diagonal and with the entries of `upper` above the diagonal."""
    above = np.triu(upper, 1)
    return np.asarray(above + above.T + np.diag(diagonal))


def _block_eigenvalues(ldl: Matrix, pivots: npt.NDArray[np.intp]) -> Vector:
    """Return the eigenvalues of the block-diagonal D of LDL'. Their signs are those of the matrix's eigenvalues."""
    values = ldl.diagonal().copy()
    # LAPACK marks both rows of a 2 x 2 block by a negative index, so every second negative index starts a block.
    first = np.flatnonzero(pivots < 0)[::2]
    a, b, c = values[first], ldl[first + 1, first], values[first + 1]
    half, apart = (a + c) / 2, np.hypot((a - c) / 2, b)
    large = half + np.where(half < 0, -apart, apart)
    # The eigenvalue of smaller absolute value follows from the determinant, which avoids cancellation.
    values[first], values[first + 1] = large, (a / large) * c - (b / large) * b
    return values


def smallest_eigenvalue(matrix: Matrix) -> float:
    """Return the smallest eigenvalue, by the Lanczos method if the matrix has more than 1000 rows.

    For such matrices, a reduction to tridiagonal form would cost more than the solve.
    """
    if matrix.shape[0] <= 1000:
        return float(eigh(matrix, eigvals_only=True, subset_by_index=(0, 0))[0])
    # ARPACK's default starting vector is random, which would make the last digits random.
    start = np.random.default_rng(0).standard_normal(len(matrix))
    return float(eigsh(matrix, k=1, which="SA", return_eigenvectors=False, tol=1e-8, v0=start)[0])
