"""Rows of which some are scaled on demand and the others, such as means of several rows, are stored in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from milopt.arrays import Floats, Index, Matrix
from milopt.declaration.bags.scaled_rows import ScaledRows


class MixedRows(ScaledRows):
    """Rows in two parts: scaled rows at the positions `places`, stored ones at all others, both in order.

    Stored rows are combinations of several rows, such as bag means, and are kept in float64: rounded to float32, they
    would not be exact enough for certificates.
    """

    def __init__(self, scaled: ScaledRows, places: Index, stored: Matrix) -> None:
        super().__init__(scaled.raw, scaled.shift, scaled.divisor, scaled.factors)
        self._scaled, self._stored = scaled, stored
        self._count: int = scaled.shape[0] + stored.shape[0]
        is_scaled = np.zeros(self._count, dtype=bool)
        is_scaled[places] = True
        self._places, self._others, self._is_scaled = places, np.flatnonzero(~is_scaled), is_scaled
        self._position = np.where(is_scaled, np.cumsum(is_scaled), np.cumsum(~is_scaled)) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return self._count, self._scaled.shape[1]

    @property
    def size(self) -> int:
        """Number of values."""
        return self._count * int(self.raw.shape[1])

    def __getitem__(self, which: Any) -> Floats:
        """Return rows, or entries of rows, as a new float64 array."""
        if isinstance(which, tuple):
            return super().__getitem__(which)
        index = np.atleast_1d(np.arange(self._count)[which])
        result = np.empty((index.size, self.shape[1]))
        is_scaled, position = self._is_scaled[index], self._position[index]
        result[is_scaled] = self._scaled[position[is_scaled]]
        result[~is_scaled] = self._stored[position[~is_scaled]]
        return result[0] if np.ndim(which) == 0 and not isinstance(which, slice) else result

    def __matmul__(self, w: Any) -> Floats:
        """Return X w for a vector or a matrix w."""
        vectors = np.asarray(w, dtype=np.float64)
        result = np.empty((self._count, *vectors.shape[1:]))
        result[self._places] = self._scaled @ vectors
        result[self._others] = self._stored @ vectors
        return result

    def transpose_times(self, a: Any) -> Floats:
        """Return X'a for a vector or a matrix a."""
        weights = np.asarray(a, dtype=np.float64)
        return self._scaled.transpose_times(weights[self._places]) + self._stored.T @ weights[self._others]
