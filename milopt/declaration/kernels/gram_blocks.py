"""Gram matrices in blocks of rows, for matrices that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.kernels.gram import as_point_rows
from milopt.declaration.kernels.gram_cache import cached_gram
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import BagsError

GRAM_BLOCK_BYTES = 64 * 2**20
"""Default size of a block of the Gram matrix, in bytes."""


def gram_blocks(kernel: Kernel, A: Any, B: Any, memory: int = GRAM_BLOCK_BYTES) -> Iterator[tuple[slice, Floats]]:
    """Yield K(A, B) in blocks of consecutive rows, as pairs (slice of the rows, block).

    A block has at most `memory` bytes, but always at least one row. The caller must not write to a block.
    """
    left = as_point_rows(A)
    right = left if B is A else as_point_rows(B)
    count = left.shape[0]
    step = max(1, int(memory) // (8 * max(1, right.shape[0])))
    if step >= count:
        yield slice(0, count), cached_gram(kernel, left, right)
        return
    diagonal = kernel.diagonal(left) if right is left else None
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        block = kernel(left[rows], right)
        if diagonal is not None:
            # In the full Gram matrix, the diagonal is exact. A block is computed from two different arrays, so that its
            # part of the diagonal has to be set.
            block[np.arange(block.shape[0]), np.arange(rows.start, rows.stop)] = diagonal[rows]
        yield rows, block


def kernel_times(kernel: Kernel, A: Any, B: Any, coefficients: npt.ArrayLike, memory: int = GRAM_BLOCK_BYTES) -> Floats:
    """Return K(A, B) @ coefficients, with at most `memory` bytes (or one row) of K in memory at a time.

    The coefficients have shape (len(B),) or (len(B), k).
    """
    factor = np.asarray(coefficients, dtype=np.float64)
    left = as_point_rows(A)
    right = left if B is A else as_point_rows(B)
    if factor.ndim not in (1, 2) or factor.shape[0] != right.shape[0]:
        raise BagsError(f"Coefficients have shape {factor.shape} for {right.shape[0]} points: give one row per point.")
    if kernel.has_features and left.shape[1] == right.shape[1]:
        features = FeatureRows(kernel, right, memory)
        weights = features.transpose_times(factor)
        return (features if left is right else FeatureRows(kernel, left, memory)).times(weights)
    result = np.empty((left.shape[0], *factor.shape[1:]))
    for rows, block in gram_blocks(kernel, left, right, memory):
        result[rows] = block @ factor
    return result
