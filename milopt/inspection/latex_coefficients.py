"""Classification of coefficient matrices for printing: elementwise, selection, weighted sum, bag sum, or general.

A leaf is the variable, parameter, function evaluation or atom that the matrix multiplies. The formulas in the class
docstrings are row i of the product of matrix and leaf, as it is printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.bags.bags import Bags


@dataclass(frozen=True)
class Elementwise:
    """Diagonal matrix: values_i leaf_i; also a column that multiplies a scalar leaf: values_i leaf."""

    values: Vector


@dataclass(frozen=True)
class EntrySelection:
    """Matrix with exactly one nonzero per row i, in column pi(i): values_i leaf_{pi(i)}."""

    values: Vector


@dataclass(frozen=True)
class WeightedSum:
    """Single row of a scalar expression: sum_j values_j leaf_j over all entries of the leaf."""

    values: Vector


@dataclass(frozen=True)
class BagSum:
    """Sum over each bag B_i: values_i sum_{x in B_i} leaf_x, or values_i times the mean over B_i if `mean` is True."""

    values: Vector
    mean: bool


@dataclass(frozen=True)
class GeneralMatrix:
    """Any other matrix A: sum_j A_ij leaf_j."""


CoefficientKind = Elementwise | EntrySelection | WeightedSum | BagSum | GeneralMatrix
"""Any of the classes of coefficient matrices."""


def classify(matrix: sp.csr_array, leaf_is_scalar: bool, is_scalar_row: bool, bags: Bags | None) -> CoefficientKind:
    """Return the class of a coefficient matrix (rows x entries of the leaf).

    A scalar leaf gives `Elementwise`, otherwise a scalar row gives `WeightedSum`. In all other cases, the class is the
    first one that fits of `Elementwise`, `BagSum`, `EntrySelection` and `GeneralMatrix`.

    `is_scalar_row`: the expression is a scalar. `bags`: bags of the instances that the leaf is indexed by, or None.
    """
    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    rows, columns = matrix.shape
    if leaf_is_scalar:
        return Elementwise(np.asarray(matrix.toarray()).ravel())
    if is_scalar_row:
        return WeightedSum(np.asarray(matrix.toarray()).ravel())
    per_row = np.diff(matrix.indptr)
    diagonal = rows == columns and (matrix.nnz == 0 or bool((matrix.indices == np.repeat(range(rows), per_row)).all()))
    if diagonal:
        return Elementwise(matrix.diagonal())
    over = _as_bag_sum(matrix, bags)
    if over is not None:
        return over
    if (per_row == 1).all():
        return EntrySelection(matrix.data.copy())
    return GeneralMatrix()


def _as_bag_sum(matrix: sp.csr_array, bags: Bags | None) -> BagSum | None:
    """Return a bag sum if the nonzeros of each row i are one common value at the instances of bag i, otherwise None."""
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
    # Choose the mean if only its coefficients share one absolute value. If those of the sum do too, all bags have the
    # same size; choose the mean then only if its coefficients are +-1 and those of the sum are not.
    mean = _have_equal_magnitudes(scaled) and (
        not _have_equal_magnitudes(values) or abs(float(scaled[0])) == 1.0 != abs(float(values[0]))
    )
    return BagSum(scaled if mean else values, mean)


def _have_equal_magnitudes(values: Vector) -> bool:
    """Return True if all values have the same absolute value, up to rounding errors."""
    size = np.abs(values)
    return bool(np.ptp(size) <= 1e-12 * size.max())
