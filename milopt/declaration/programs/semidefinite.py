"""Test for positive semidefiniteness, and square roots of positive semidefinite matrices."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Matrix, Vector
from milopt.deadline import seconds_left
from milopt.errors import ConvexityError, TimeLimitError

ROUNDING_PER_COLUMN = 4 * float(np.finfo(np.float64).eps)
"""Bound on the rounding error of an eigenvalue, divided by the number of columns, if the diagonal consists of ones."""
BLOCK_COLUMNS = 512
"""Number of columns that the factorisation eliminates between two checks of the time limit."""


def is_semidefinite(weight: Vector | Matrix) -> bool:
    """Return True if a weight (a diagonal as a vector, or a matrix) has no negative eigenvalue beyond rounding.

    The matrix is scaled to ones on its diagonal first, so that rounding is relative to each column: an eigenvalue down
    to -4 n eps counts as 0 for a matrix with n columns. A negative entry on the diagonal is never rounding.
    """
    diagonal = weight if weight.ndim == 1 else np.diagonal(weight)
    if (diagonal < 0).any():
        return False
    if weight.ndim == 1 or not weight.size:
        return True
    scale = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    unit = weight / scale[:, None] / scale
    if (np.abs(unit[diagonal == 0]) > 0).any():
        # A non-zero entry in the row of a zero on the diagonal implies a negative eigenvalue.
        return False
    unit.flat[:: len(unit) + 1] += ROUNDING_PER_COLUMN * len(unit)
    return _has_cholesky_factor(unit)


def _has_cholesky_factor(matrix: Matrix) -> bool:
    """Return True if a symmetric matrix is positive definite, so that it has a Cholesky factor.

    The matrix is overwritten. `TimeLimitError` is raised if the time limit is reached.
    """
    from scipy.linalg import solve_triangular

    n = len(matrix)
    for start in range(0, n, BLOCK_COLUMNS):
        if seconds_left() == 0.0:
            raise TimeLimitError(
                f"The time limit was reached while a matrix of size {n} was tested for convexity: increase it."
            )
        stop = min(start + BLOCK_COLUMNS, n)
        try:
            factor = np.linalg.cholesky(matrix[start:stop, start:stop])
        except np.linalg.LinAlgError:
            return False
        below = solve_triangular(factor, matrix[stop:, start:stop].T, lower=True, check_finite=False).T
        for first in range(stop, n, BLOCK_COLUMNS):
            last = min(first + BLOCK_COLUMNS, n)
            matrix[first:, first:last] -= below[first - stop :] @ below[first - stop : last - stop].T
    return True


def symmetric_root(matrix: Vector | Matrix, subject: str) -> Matrix:
    """Return B with B'B = matrix (a vector is a diagonal matrix); raise `ConvexityError` if there is none.

    Columns are scaled to ones on the diagonal first, so that small eigenvalues of small columns are accurate. An error
    message begins with `subject`.
    """
    from scipy.linalg import eigh

    if matrix.ndim == 1:
        if (matrix < 0).any():
            raise ConvexityError(f"{subject} is not positive semidefinite: smallest weight {matrix.min():.4g}.")
        return np.diag(np.sqrt(matrix))
    if not is_semidefinite(matrix):
        smallest = smallest_eigenvalue(matrix)
        raise ConvexityError(f"{subject} is not positive semidefinite: smallest eigenvalue {smallest:.4g}.")
    scale = np.sqrt(np.diagonal(matrix))
    unit = matrix / np.where(scale > 0, scale, 1.0)[:, None] / np.where(scale > 0, scale, 1.0)
    values, vectors = eigh(unit)
    is_positive = values > ROUNDING_PER_COLUMN * len(unit)
    root: Matrix = np.sqrt(values[is_positive])[:, None] * vectors[:, is_positive].T * scale
    return root


def smallest_eigenvalue(matrix: Matrix) -> float:
    """Return the smallest eigenvalue of a symmetric matrix; 0 for an empty matrix."""
    from scipy.linalg import eigvalsh

    return float(eigvalsh(matrix, subset_by_index=[0, 0])[0]) if matrix.size else 0.0
