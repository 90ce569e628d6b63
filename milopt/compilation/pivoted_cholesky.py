"""Pivoted Cholesky factorisation of positive semidefinite matrices, up to their numerical rank."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Matrix


def pivoted_cholesky(matrix: Matrix, tolerance: float) -> tuple[Matrix, Index]:
    """Return (L, order) with  matrix[order][:, order] = L L'  up to an error of `tolerance` on the diagonal.

    L has one column per pivot above the tolerance: no column if no diagonal entry is above the tolerance.
    """
    from scipy.linalg.lapack import dpstrf

    triangle, pivots, rank, _ = dpstrf(matrix, lower=1, tol=tolerance)
    if np.max(np.diagonal(matrix), initial=-np.inf) <= tolerance:
        # LAPACK does not compare the first pivot with the tolerance, so a rounding error would become a coordinate.
        rank = 0
    return np.tril(triangle)[:, :rank], np.asarray(pivots[: matrix.shape[0]] - 1, dtype=np.intp)
