"""The matrix in front of a leaf, read for what it is: a number, a vector entry by entry, a sum, bags, or a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.bags.bags import Bags


@dataclass(frozen=True)
class EntryByEntry:
    """values_i leaf_i; a scalar leaf has no index."""

    values: Vector


@dataclass(frozen=True)
class Chosen:
    """values_i leaf_{pi(i)}: each row has one entry of the leaf."""

    values: Vector


@dataclass(frozen=True)
class Weighted:
    """sum_j values_j leaf_j: one row over a vector."""

    values: Vector


@dataclass(frozen=True)
class OverBags:
    """values_i sum_{x in B_i} leaf_x, a mean when `mean`."""

    values: Vector
    mean: bool


@dataclass(frozen=True)
class Full:
    """sum_j A_ij leaf_j."""


Reading = EntryByEntry | Chosen | Weighted | OverBags | Full


def read(matrix: sp.csr_array, leaf_is_scalar: bool, is_scalar_row: bool, bags: Bags | None) -> Reading:
    """The simplest way to say a matrix (rows x entries of the leaf)."""
    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rows, columns = matrix.shape
    if leaf_is_scalar:
        return EntryByEntry(np.asarray(matrix.toarray()).ravel())
    if is_scalar_row:
        return Weighted(np.asarray(matrix.toarray()).ravel())
    per_row = np.diff(matrix.indptr)
    diagonal = rows == columns and (matrix.nnz == 0 or bool((matrix.indices == np.repeat(range(rows), per_row)).all()))
    if diagonal:
        return EntryByEntry(matrix.diagonal())
    over = _over_bags(matrix, bags)
    if over is not None:
        return over
    if (per_row == 1).all():
        return Chosen(matrix.data.copy())
    return Full()


def _over_bags(matrix: sp.csr_array, bags: Bags | None) -> OverBags | None:
    """Bag sums times values, where row i has one value at exactly the instances of bag i."""
    if bags is None or matrix.shape != (len(bags), int(bags.offsets[-1])):
        return None
    members = sp.csr_array(bags.membership.T)
    members.sort_indices()
    matrix.sort_indices()
    if not np.array_equal(matrix.indptr, members.indptr) or not np.array_equal(matrix.indices, members.indices):
        return None
    values = matrix.data[matrix.indptr[:-1]]
    if not np.allclose(matrix.data, np.repeat(values, bags.sizes), rtol=1e-12, atol=0.0):
        return None
    scaled = np.asarray(values * bags.sizes, dtype=np.float64)
    # With bags of one size both readings fit; a sum is meant unless the numbers are those of a mean.
    mean = _same_size(scaled) and (not _same_size(values) or abs(float(scaled[0])) == 1.0 != abs(float(values[0])))
    return OverBags(scaled if mean else values, mean)


def _same_size(values: Vector) -> bool:
    size = np.abs(values)
    return bool(np.ptp(size) <= 1e-12 * size.max())
