"""Features of the points of one function, Phi with one row per point, for kernels K(x, z) = phi(x)'phi(z).

A function of such a kernel is a vector w over the features: f(x) = <w, phi(x)> and ||f|| = ||w||. All products here
cost time proportional to the number of points times the number of features.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.declaration.bags.mixed_rows import MixedRows
from milopt.declaration.bags.scaled_rows import fits_in_block, is_scaled_rows, row_slices
from milopt.declaration.kernels.gram import inner_products, squared_norms
from milopt.declaration.kernels.kernel import Kernel, Linear
from milopt.declaration.programs.sparse import take_rows, transpose
from milopt.errors import BagsError

MAX_STORED_BYTES = 1024 * 2**20
"""Maximum size of features that are stored, in bytes; features of more points are computed again for every product."""
FEATURE_BLOCK_BYTES = 32 * 2**20
"""Size of the features of one block of points, in bytes, if the features are not stored."""

MAX_DENSE_BLOCKS = 8
"""Number of blocks of `ScaledRows` up to which rows that a solver holds are converted to float64, which is faster."""


class FeatureRows:
    """Rows phi(x) of the features of points, for a kernel that has features.

    Features are stored if they are sparse, take at most `memory` bytes, or are the points themselves. Otherwise they
    are computed block by block. Points that are `ScaledRows` are not converted.
    """

    def __init__(self, kernel: Kernel, points: Points, memory: int = MAX_STORED_BYTES) -> None:
        self._kernel, self._points = kernel, points
        self.points = points.shape[0]
        first = self._evaluate(points[:1])
        self.count = int(first.shape[1])
        """Number of features."""
        fits = sp.issparse(first) or 8 * self.points * self.count <= memory or isinstance(kernel, Linear)
        self._stored: Points | None = self._evaluate_all() if fits else None

    @property
    def is_sparse(self) -> bool:
        """Whether the features are a sparse matrix."""
        return sp.issparse(self._stored)

    def _evaluate(self, points: Points) -> Points:
        """Return the features of these points."""
        features = self._kernel.features(points)
        if features is None:
            raise BagsError(f"The kernel {self._kernel!r} has no features.")
        return features

    def _evaluate_all(self) -> Points:
        """Return the features of all points: the points themselves for a linear kernel."""
        if not is_scaled_rows(self._points) or isinstance(self._kernel, Linear):
            return self._evaluate(self._points)
        blocks = [self._evaluate(block) for _, block in self._points.blocks()]
        if any(sp.issparse(block) for block in blocks):
            return sp.csr_array(sp.vstack([sp.csr_array(block) for block in blocks], format="csr"))
        return np.concatenate([np.asarray(block) for block in blocks])

    def _blocks(self) -> Iterator[tuple[slice, Points]]:
        """Yield pairs (slice of the points, their features)."""
        if self._stored is not None:
            yield slice(0, self.points), self._stored
            return
        for rows in row_slices(self.points, self.count):
            yield rows, self._evaluate(self._points[rows])

    def rows(self, index: Index) -> Points:
        """Return the features of the points in `index`, one row per point."""
        return self._evaluate(self._points[index]) if self._stored is None else self._stored[index]

    def take(self, combinations: sp.csr_array) -> Points:
        """Return E Phi for a sparse matrix E of combinations of points, with few points per row.

        The result of `ScaledRows` is dense if it has at most `MAX_DENSE_BLOCKS` blocks. Otherwise, rows of E with one
        entry are copied in the type of the points, and stay scaled on demand.
        """
        lengths = np.diff(combinations.indptr)
        is_single = lengths == 1
        if self.is_sparse or not is_single.any():
            return self.combine(combinations)
        first = combinations.indptr[:-1][is_single]
        points, factors = combinations.indices[first].astype(np.intp), combinations.data[first]
        is_small = fits_in_block(combinations.shape[0] * self.count // MAX_DENSE_BLOCKS)
        if is_small or not is_scaled_rows(self._stored):
            return self.rows(points) * factors[:, None] if is_single.all() else self.combine(combinations)
        chosen = self._stored.select(points).times_factors(factors)
        if not is_single.all():
            others = np.asarray(self.combine(take_rows(combinations, np.flatnonzero(~is_single))))
            chosen = MixedRows(chosen, np.flatnonzero(is_single), others)
        return cast(Points, chosen)

    def times(self, w: Vector) -> Vector:
        """Return Phi w, the values at all points of the function w; w may have several columns."""
        result = np.zeros((self.points, *w.shape[1:]))
        if w.any():
            for rows, block in self._blocks():
                result[rows] = block @ w
        return result

    def transpose_times(self, a: Vector) -> Vector:
        """Return Phi'a, the function sum_p a_p K(x_p, .) as a vector over the features; a may have several columns."""
        support = np.flatnonzero(a if a.ndim == 1 else a.any(axis=1))
        if not support.size:
            return np.zeros((self.count, *a.shape[1:]))
        if is_scaled_rows(self._stored):
            return self._stored.transpose_times(a)
        if 4 * support.size < self.points:
            return np.asarray(self.rows(support).T @ a[support])
        total = np.zeros((self.count, *a.shape[1:]))
        for rows, block in self._blocks():
            total += np.asarray(block.T @ a[rows])
        return total

    def combine(self, combinations: sp.csr_array) -> Points:
        """Return E Phi for a sparse matrix E of combinations of points, dense unless the features are sparse."""
        if self._stored is not None and not is_scaled_rows(self._stored):
            product = combinations @ self._stored
            return sp.csr_array(product) if self.is_sparse else np.asarray(product)
        used = np.unique(combinations.indices).astype(np.intp)
        result = np.zeros((combinations.shape[0], self.count))
        columns = combinations.tocsc()
        for part in row_slices(used.size, self.count):
            some = used[part]
            result += np.asarray(columns[:, some] @ self.rows(some))
        return result

    def weighted_gram(self, weight: Vector) -> Matrix:
        """Return Phi'diag(weight) Phi, one row and one column per feature."""
        total = np.zeros((self.count, self.count))
        for rows in row_slices(self.points, self.count):
            block = self._evaluate(self._points[rows]) if self._stored is None else self._stored[rows]
            dense = block.toarray() if sp.issparse(block) else np.asarray(block)
            total += dense.T @ (weight[rows, None] * dense)
        return total

    def gram(self, left: Index, right: Index) -> Matrix:
        """Return the kernel values of two sets of points."""
        first = self.rows(left)
        return inner_products(first, first if right is left else self.rows(right))

    @cached_property
    def largest_length(self) -> float:
        """Largest ||phi(x)|| of all points."""
        return float(np.sqrt(max((squared_norms(block).max(initial=0.0) for _, block in self._blocks()), default=0.0)))

    def expand(self, w: Vector) -> Vector:
        """Return coefficients a over the points with Phi'a = w, of smallest norm; w is projected onto their span."""
        support = np.arange(self.points)
        whole = self.rows(support)
        if sp.issparse(whole):
            from scipy.sparse.linalg import lsqr

            return np.asarray(lsqr(transpose(whole), w, atol=1e-15, btol=1e-15, iter_lim=10 * self.points)[0])
        return np.asarray(np.linalg.lstsq(whole.T, w, rcond=None)[0])
