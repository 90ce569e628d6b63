"""Positive semidefinite weights: the test, and square roots."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Matrix, Vector
from milopt.deadline import seconds_left
from milopt.errors import ConvexityError, TimeLimitError

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Per column, what an eigenvalue of a matrix with a diagonal of ones may be below 0 by rounding."""
BLOCK_COLUMNS = 512
"""Columns that a factorisation eliminates between two looks at the clock."""


def is_semidefinite(weight: Vector | Matrix) -> bool:
    """Return True if a weight (a diagonal as a vector, or a matrix) has no negative eigenvalue beyond rounding.

    Rounding is measured after the columns are scaled to a diagonal of ones, so that it is that of each column's own
    numbers: n eps for a matrix of n columns. A negative entry on the diagonal is never rounding.
    """
    diagonal = weight if weight.ndim == 1 else np.diagonal(weight)
    if (diagonal < 0).any():
        return False
    if weight.ndim == 1 or not weight.size:
        return True
    scale = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    unit = weight / scale[:, None] / scale
    if (np.abs(unit[diagonal == 0]) > 0).any():
        # Beside a zero on the diagonal any other entry makes a negative eigenvalue.
        return False
    unit.flat[:: len(unit) + 1] += ROUNDING * len(unit)
    return _has_cholesky_factor(unit)


def _has_cholesky_factor(matrix: Matrix) -> bool:
    """Return True if a symmetric matrix, which is overwritten, has a Cholesky factor; blocks of columns at a time.

    Raises `TimeLimitError` if the time is up before it is known.
    """
    from scipy.linalg import solve_triangular

    n = len(matrix)
    for start in range(0, n, BLOCK_COLUMNS):
        if seconds_left() == 0.0:
            raise TimeLimitError(
                f"The time limit passed while a matrix of size {n} was tested for convexity: give more time."
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


def symmetric_root(matrix: Vector | Matrix, what: str) -> Matrix:
    """Return B with B'B = matrix (or a diagonal, as a vector); an error names the smallest eigenvalue if negative.

    Columns are scaled to a diagonal of ones first, so that small eigenvalues of small columns keep their digits.
    """
    from scipy.linalg import eigh

    if matrix.ndim == 1:
        if (matrix < 0).any():
            raise ConvexityError(f"{what} is not positive semidefinite: smallest weight {matrix.min():.4g}.")
        return np.diag(np.sqrt(matrix))
    if not is_semidefinite(matrix):
        smallest = smallest_eigenvalue(matrix)
        raise ConvexityError(f"{what} is not positive semidefinite: smallest eigenvalue {smallest:.4g}.")
    scale = np.sqrt(np.diagonal(matrix))
    unit = matrix / np.where(scale > 0, scale, 1.0)[:, None] / np.where(scale > 0, scale, 1.0)
    values, vectors = eigh(unit)
    kept = values > ROUNDING * len(unit)
    root: Matrix = np.sqrt(values[kept])[:, None] * vectors[:, kept].T * scale
    return root


def smallest_eigenvalue(matrix: Matrix) -> float:
    """Return the smallest eigenvalue of a symmetric matrix; 0 if it has no entries."""
    from scipy.linalg import eigvalsh

    return float(eigvalsh(matrix, subset_by_index=[0, 0])[0]) if matrix.size else 0.0
