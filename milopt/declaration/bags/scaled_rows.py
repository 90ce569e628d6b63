"""Rows that are scaled on demand: (x - shift) / divisor for the rows x of an array that does not change.

The array may have any real type, such as float32, and may be memory-mapped. All results are float64. Products fold the
scaling into the vectors, so that no scaled copy of all rows is made:

    X w = R (w / divisor) - shift'(w / divisor),    X'a = (R'a - shift 1'a) / divisor

where R is the array and X the scaled rows. Blocks of R are converted to float64 before a product: sums of float32
numbers in float32 would have errors near the tolerance of certificates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from milopt.arrays import Floats, Index, Matrix, Vector

MAX_BLOCK_VALUES = 2**22
"""Number of values of one block of rows, 32 MB in float64; a single row may have more."""
MAX_PRODUCT_VALUES = 2**17
"""Number of values that are converted at once for a product, 1 MB in float64: they stay in the processor's cache."""
MAX_FOLDED_SHIFT = 1e4
"""Largest |shift / divisor| for which the scaling is folded into vectors.

Folding subtracts two products that are larger than their difference by this factor, which loses as many digits.
"""

RowSelection: TypeAlias = slice | npt.NDArray[Any]
"""Several rows: a slice, an array of indices or a mask."""


class ScaledRows(NDArrayOperatorsMixin):
    """Rows factor (x - shift) / divisor of an array, computed on demand in float64.

    Indexing returns scaled rows as a float64 array, `@` and `T @` are products in blocks, and every other use, such as
    `np.asarray`, converts all rows. Arithmetic operators return arrays.
    """

    def __init__(
        self,
        raw: npt.NDArray[Any],
        shift: Vector | None = None,
        divisor: Vector | None = None,
        factors: Vector | None = None,
    ) -> None:
        self.raw = raw
        """The array of shape (n_rows, n_features)."""
        self.shift = shift
        """Shift of each feature; None for no shift."""
        self.divisor = divisor
        """Divisor of each feature; None for 1."""
        self.factors = factors
        """Factor of each row; None for 1."""
        offset = np.zeros(1) if shift is None else shift if divisor is None else shift / divisor
        self._is_folded = bool(np.abs(offset).max(initial=0.0) <= MAX_FOLDED_SHIFT)

    ndim = 2
    dtype = np.dtype(np.float64)

    @property
    def parts(self) -> tuple[npt.NDArray[Any], Vector | None, Vector | None, Vector | None]:
        """Arguments of the constructor."""
        return self.raw, self.shift, self.divisor, self.factors

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return int(self.raw.shape[0]), int(self.raw.shape[1])

    @property
    def size(self) -> int:
        """Number of values."""
        return int(self.raw.size)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def T(self) -> TransposedRows:
        """The transposed rows, for products."""
        return TransposedRows(self)

    def select(self, which: RowSelection) -> ScaledRows:
        """Return some rows, still scaled on demand: a view for a slice, otherwise a copy in the type of the array."""
        factors = None if self.factors is None else self.factors[which]
        return ScaledRows(self.raw[which], self.shift, self.divisor, factors)

    def times_factors(self, factors: Vector) -> ScaledRows:
        """Return the rows multiplied by one factor per row."""
        both = factors if self.factors is None else self.factors * factors
        return ScaledRows(self.raw, self.shift, self.divisor, both)

    def scaled(self, shift: Vector | None, divisor: Vector) -> ScaledRows | Floats:
        """Return the rows (x - shift) / divisor; a float64 array if the rows are scaled already."""
        if self.shift is None and self.divisor is None and self.factors is None:
            return ScaledRows(self.raw, shift, divisor)
        rows = np.asarray(self)
        return (rows if shift is None else rows - shift) / divisor

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield pairs (slice of the rows, these rows as a new float64 array) of at most `MAX_BLOCK_VALUES` values."""
        for rows in row_slices(*self.shape):
            yield rows, self[rows]

    def __getitem__(self, which: Any) -> Floats:
        """Return rows, or entries of rows, as a new float64 array."""
        if isinstance(which, tuple):
            return np.asarray(np.asarray(self)[which])
        part: Floats = self.raw[which]
        # An empty part of an array shares no memory with it, but is read-only too.
        part = part.astype(np.float64, copy=np.may_share_memory(part, self.raw) or not part.flags.writeable)
        if self.shift is not None:
            part -= self.shift
        if self.divisor is not None:
            part /= self.divisor
        if self.factors is not None:
            part *= np.asarray(self.factors[which])[..., None]
        return part

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a numpy function to the rows as an array."""
        arrays = (np.asarray(value) if isinstance(value, ScaledRows) else value for value in inputs)
        return getattr(ufunc, method)(*arrays, **options)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return all rows as a new array."""
        if copy is False:
            raise ValueError("Scaled rows cannot be converted to an array without a copy.")
        result = np.empty(self.shape)
        for rows, block in self.blocks():
            result[rows] = block
        return result if dtype is None else result.astype(dtype, copy=False)

    def __matmul__(self, w: Any) -> Floats:
        """Return X w for a vector or a matrix w."""
        vectors = np.asarray(w, dtype=np.float64)
        inner, constant = vectors, None
        if self._is_folded:
            inner = vectors if self.divisor is None else (vectors.T / self.divisor).T
            constant = None if self.shift is None else self.shift @ inner
        result = np.empty((self.shape[0], *vectors.shape[1:]))
        for rows, block in self._convert_blocks(slice(0, self.shape[0])):
            np.matmul(block, inner, out=result[rows])
        if constant is not None:
            result -= constant
        return result if self.factors is None else (result.T * self.factors).T

    def transpose_times(self, a: Any) -> Floats:
        """Return X'a for a vector or a matrix a; rows with the coefficient 0 are not read if there are many."""
        weights = np.asarray(a, dtype=np.float64)
        if self.factors is not None:
            weights = (weights.T * self.factors).T
        total = np.zeros((self.shape[1], *weights.shape[1:]))
        support = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=1))
        if not support.size:
            return total
        if 4 * support.size < self.shape[0]:
            weights = weights[support]
            parts = self._convert_blocks(support)
        else:
            parts = self._convert_blocks(slice(0, self.shape[0]))
        for rows, block in parts:
            total += block.T @ weights[rows]
        if self._is_folded:
            if self.shift is not None:
                total -= np.multiply.outer(self.shift, weights.sum(axis=0))
            if self.divisor is not None:
                total = (total.T / self.divisor).T
        return total

    def squared_norms(self) -> Vector:
        """Return ||x||^2 of each row x."""
        result = np.empty(self.shape[0])
        for rows, block in self.blocks():
            result[rows] = np.einsum("pd,pd->p", block, block)
        return result

    def _convert_blocks(self, chosen: slice | Index) -> Iterator[tuple[slice, Matrix]]:
        """Yield pairs (positions among the chosen rows, these rows in float64), without the factors.

        The rows are scaled unless the scaling is folded into the vectors. The next block overwrites the last one.
        """
        raw = self.raw
        count = len(range(*chosen.indices(raw.shape[0]))) if isinstance(chosen, slice) else chosen.size
        is_ready = raw.dtype == np.float64 and raw.flags.aligned and self._is_folded and isinstance(chosen, slice)
        step = max(1, MAX_PRODUCT_VALUES // raw.shape[1])
        buffer = np.empty((0 if is_ready else min(step, count), raw.shape[1]))
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            part = raw[rows] if isinstance(chosen, slice) else raw[chosen[rows]]
            if is_ready:
                yield rows, part
                continue
            block = buffer[: rows.stop - rows.start]
            block[...] = part
            if not self._is_folded:
                if self.shift is not None:
                    block -= self.shift
                if self.divisor is not None:
                    block /= self.divisor
            yield rows, block


class TransposedRows:
    """Transpose of scaled rows."""

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, rows: ScaledRows) -> None:
        self._rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of features and of rows."""
        return self._rows.shape[1], self._rows.shape[0]

    @property
    def T(self) -> ScaledRows:
        """The rows."""
        return self._rows

    def __matmul__(self, a: Any) -> Floats:
        """Return X'a for a vector or a matrix a."""
        return self._rows.transpose_times(a)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the transposed rows as a new array."""
        return self._rows.__array__(dtype, copy).T


def is_scaled_rows(rows: object) -> TypeGuard[ScaledRows]:
    """Return True for `ScaledRows`, which type checkers do not know as points."""
    return isinstance(rows, ScaledRows)


def fits_in_block(values: int) -> bool:
    """Return True if an array of this number of values is small enough to be converted as a whole."""
    return values <= MAX_BLOCK_VALUES


def row_slices(count: int, width: int) -> Iterator[slice]:
    """Return slices of consecutive rows that cover `count` rows of this width, of at most `MAX_BLOCK_VALUES` values."""
    step = max(1, MAX_BLOCK_VALUES // max(1, width))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def bag_slices(offsets: Index, width: int) -> Iterator[slice]:
    """Return slices of consecutive bags that cover all bags, with at most `MAX_BLOCK_VALUES` values or one bag each."""
    rows, low, last = max(1, MAX_BLOCK_VALUES // max(1, width)), 0, offsets.size - 1
    while low < last:
        high = max(low + 1, int(np.searchsorted(offsets, offsets[low] + rows, side="right")) - 1)
        yield slice(low, high)
        low = high
