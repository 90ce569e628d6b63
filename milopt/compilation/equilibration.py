"""Equilibration of a symmetric matrix:  S M S  with a diagonal S of powers of two has rows of about the same size.

The eigenvalues of S M S have the same signs as those of M (Sylvester's law of inertia), and scaling by powers of two
causes no rounding. After equilibration, entries that are small relative to the largest entry are negligible. Before, a
block of the matrix may be small only because of its units.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Matrix, Vector

MAX_SIZE_RATIO = 2.0**20
"""Largest ratio between the sizes of two rows at which a matrix is not scaled."""
EQUILIBRATION_PASSES = 4
"""Number of passes of the Ruiz iteration, which computes S."""


def equilibration_scale(matrix: Matrix) -> Vector | None:
    """Return the diagonal of the scaling S (see the module docstring); None if S is not needed or not defined.

    Each pass of the Ruiz iteration multiplies S by the inverse square roots of the row sizes (largest absolute
    entries), rounded to powers of two. Zero rows keep the factor 1. The result is None if all rows are zero, if an
    entry is not finite, or if row sizes differ by a factor of at most `MAX_SIZE_RATIO`.
    """
    size = largest_row_entries(matrix)
    used = size > 0.0
    if not used.any() or not np.isfinite(size).all() or size[used].max() <= MAX_SIZE_RATIO * size[used].min():
        return None
    scale = np.ones(size.size)
    for _ in range(EQUILIBRATION_PASSES):
        scale[used] *= np.exp2(-np.round(np.log2(size[used]) / 2))
        size = largest_row_entries(matrix, scale)
    return scale


def largest_row_entries(matrix: Matrix, scale: Vector | None = None) -> Vector:
    """Return the largest absolute entry of each row of S M S, without copying M.

    `matrix` is M and `scale` the diagonal of S; None stands for the identity.
    """
    if scale is None:
        return np.asarray(np.maximum(matrix.max(axis=1), -matrix.min(axis=1)))
    return np.array([scale[i] * float(np.abs(row * scale).max()) for i, row in enumerate(matrix)])
