"""Rows and columns of a symmetric matrix brought to one size:  S M S  with S diagonal, of powers of two.

The signs of the eigenvalues are those of M (Sylvester), no digit is lost, and what is small beside the largest entry
is then small in earnest: a block that only has small units is no null space.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Matrix, Vector

APART = 2.0**20
"""Rows whose sizes differ by less are left as they are."""
PASSES = 4


def equilibration(matrix: Matrix) -> Vector | None:
    """The diagonal of S, by square roots of row sizes until they settle (Ruiz); None where none is needed."""
    size = row_sizes(matrix)
    used = size > 0.0
    if not used.any() or not np.isfinite(size).all() or size[used].max() <= APART * size[used].min():
        return None
    scale = np.ones(size.size)
    for _ in range(PASSES):
        scale[used] *= np.exp2(-np.round(np.log2(size[used]) / 2))
        size = row_sizes(matrix, scale)
    return scale


def row_sizes(matrix: Matrix, scale: Vector | None = None) -> Vector:
    """The largest magnitude of each row of S M S, without a copy of M."""
    if scale is None:
        return np.asarray(np.maximum(matrix.max(axis=1), -matrix.min(axis=1)))
    return np.array([scale[i] * float(np.abs(row * scale).max()) for i, row in enumerate(matrix)])
