"""Statistics of features over all instances, computed in blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milopt.declaration.bags.scaled_rows import ScaledRows, row_slices

if TYPE_CHECKING:
    from milopt.arrays import Floats, Vector


def column_range(rows: Floats | ScaledRows) -> tuple[Vector, Vector]:
    """Return the smallest and the largest value of each column."""
    low, high = np.full(rows.shape[1], np.inf), np.full(rows.shape[1], -np.inf)
    for part in row_slices(*rows.shape):
        block = rows[part]
        np.minimum(low, block.min(axis=0), out=low)
        np.maximum(high, block.max(axis=0), out=high)
    return low, high


def column_moments(rows: Floats | ScaledRows) -> tuple[Vector, Vector]:
    """Return the mean and the standard deviation of each column, in two passes."""
    count, width = rows.shape
    total, squares = np.zeros(width), np.zeros(width)
    for part in row_slices(count, width):
        total += rows[part].sum(axis=0)
    mean = total / count
    for part in row_slices(count, width):
        deviations = rows[part] - mean
        squares += np.multiply(deviations, deviations, out=deviations).sum(axis=0)
    return mean, np.sqrt(squares / count)
