"""Gram matrices by blocks of rows: what does not fit in memory as a whole is worked on a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.declaration.kernels.gram import points
from milopt.declaration.kernels.kernel import Kernel, Linear
from milopt.declaration.kernels.recollection import gram_of
from milopt.errors import BagsError

MEMORY = 64 * 2**20
"""Bytes of a Gram block where nobody says otherwise."""


def gram_blocks(kernel: Kernel, A: Any, B: Any, memory: int = MEMORY) -> Iterator[tuple[slice, Floats]]:
    """K(A, B) by blocks of rows, each of at most `memory` bytes (but of one row at least), not to be written to."""
    left = points(A)
    right = left if B is A else points(B)
    count = left.shape[0]
    step = max(1, int(memory) // (8 * max(1, right.shape[0])))
    if step >= count:
        yield slice(0, count), gram_of(kernel, left, right)
        return
    diagonal = kernel.diagonal(left) if right is left else None
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        block = kernel(left[rows], right)
        if diagonal is not None:
            # A block does not know that its rows are among the columns, where the whole Gram is exact.
            block[np.arange(block.shape[0]), np.arange(rows.start, rows.stop)] = diagonal[rows]
        yield rows, block


def kernel_times(kernel: Kernel, A: Any, B: Any, coefficients: npt.ArrayLike, memory: int = MEMORY) -> Floats:
    """K(A, B) @ coefficients, for (len(B),) or (len(B), k) coefficients, with no more than `memory` bytes of K."""
    factor = np.asarray(coefficients, dtype=np.float64)
    left = points(A)
    right = left if B is A else points(B)
    if factor.ndim not in (1, 2) or factor.shape[0] != right.shape[0]:
        raise BagsError(f"Coefficients have shape {factor.shape} for {right.shape[0]} points: give one row a point.")
    if isinstance(kernel, Linear) and left.shape[1] == right.shape[1]:
        return np.asarray(left @ (right.T @ factor), dtype=np.float64)
    result = np.empty((left.shape[0], *factor.shape[1:]))
    for rows, block in gram_blocks(kernel, left, right, memory):
        result[rows] = block @ factor
    return result
