"""Kernel values between the points of one function, and coordinates of the points in the kernel's space.

Rows of the kernel matrix are computed only if they are needed, and at most once if they fit into the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.compilation.evaluation_form import FunctionSpace
from milopt.compilation.pivoted_cholesky import pivoted_cholesky
from milopt.declaration.bags.bag_rows import BagRows, as_bag_rows, bag_rows, concatenate_bags
from milopt.declaration.bags.scaled_rows import is_scaled_rows
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.kernels.gram import inner_products, submatrix, symmetrise
from milopt.declaration.kernels.gram_cache import cached_gram
from milopt.declaration.kernels.matrix_size import check_matrix_size
from milopt.declaration.programs.sparse import as_csr, from_parts, row_slice, take_rows, zeros
from milopt.errors import ConvexityError

ZERO_PIVOT_FRACTION = 1e-13
"""Squared distance from the span of other points, relative to the largest K(x, x), below which it is 0."""
MAX_CACHED_BYTES = 2 * 2**30
"""Size of the rows of the kernel matrix up to which they are cached; larger ones are computed again in blocks."""
BLOCK_BYTES = 128 * 2**20
"""Size of the blocks of rows of the kernel matrix that are not cached."""
MIN_FULL_GRAM_FRACTION = 0.75
"""Smallest requested fraction of the points for which the full Gram matrix is returned, not a copy of a submatrix."""


class KernelSpace:
    """Points of one function, with the products of its kernel that forms and certificates need.

    A function is represented by a vector. If the kernel has features, it is the vector w over the features with
    f(x) = <w, phi(x)>, and no matrix of kernel values over all points is computed. Otherwise it is the vector a over
    the points with f = sum_p a_p K(x_p, .), and the rows K(x_p, all points) of the kernel matrix are cached. They are
    computed in blocks: each call that needs new rows adds one block. A point whose row is in the cache is called
    touched. Rows that would increase the cache beyond `MAX_CACHED_BYTES` are computed each time they are needed, in
    blocks of `BLOCK_BYTES`.
    """

    def __init__(self, space: FunctionSpace) -> None:
        self.function = space.function
        self._given = space.points
        self.points: Points = _stack_points(space.points)
        self.count = space.count
        kernel = space.function.kernel
        self.features = FeatureRows(kernel, self.points) if kernel.has_features and self.count else None
        """Features of the points; None if the kernel has none."""
        self.place = np.full(self.count, -1, dtype=np.intp)
        """Per point, the index of its row in the cache; -1 if the point is not touched."""
        self.touched = np.zeros(0, dtype=np.intp)
        """Touched points, in the order of their rows in the cache."""
        self._blocks: list[Matrix] = []
        self._starts = np.zeros(1, dtype=np.intp)
        self._reduced = CombinationGram(zeros(0, self.count), np.zeros(0, dtype=np.intp), np.zeros((0, 0)))
        self._square = PointGram(np.zeros(0, dtype=np.intp), np.zeros((0, 0)))

    @property
    def is_known_semidefinite(self) -> bool:
        """True if the kernel guarantees positive semidefinite Gram matrices."""
        return self.function.kernel.is_semidefinite

    def indefinite_message(self, gram: Matrix) -> str:
        """Return the error message for a kernel whose Gram matrix `gram` is not positive semidefinite."""
        smallest = float(np.linalg.eigvalsh((gram + gram.T) / 2)[0])
        detail = f"smallest eigenvalue {smallest:.4g} on the points used"
        kernel = self.function.kernel
        return (
            f"The kernel of {self.function.name!r} is not positive semidefinite: {detail}; {kernel.indefinite_remedy}."
        )

    def matches(self, space: FunctionSpace) -> bool:
        """Return True if `space` has a function of the same name, the same kernel and the same arrays of points."""
        same = len(self._given) == len(space.points) and all(
            a is b for a, b in zip(self._given, space.points, strict=True)
        )
        return same and self.function.name == space.function.name and self.function.kernel is space.function.kernel

    def ensure_rows(self, index: Index) -> None:
        """Compute the rows of those points in `index` that are not touched yet."""
        new = np.unique(index[self.place[index] < 0])
        if not new.size:
            return
        points = self.points if new.size == self.count else self.points[new]
        self._blocks.append(cached_gram(self.function.kernel, points, self.points))
        self.place[new] = np.arange(self.touched.size, self.touched.size + new.size)
        self.touched = np.concatenate([self.touched, new])
        self._starts = np.append(self._starts, self.touched.size)

    def _can_cache(self, index: Index) -> bool:
        """Return True if the rows of the points in `index` are cached, or small enough to be cached."""
        new = np.unique(index[self.place[index] < 0]).size
        return new == 0 or 8 * (self.touched.size + new) * self.count <= MAX_CACHED_BYTES

    def _row_blocks(self, points: Index) -> Iterator[tuple[slice, Matrix]]:
        """Yield slices of `points` with the rows K(points[slice], all points), without caching them."""
        step = max(1, BLOCK_BYTES // (8 * max(1, self.count)))
        for start in range(0, points.size, step):
            part = slice(start, start + step)
            yield part, self.function.kernel(self.points[points[part]], self.points)

    def _check_size(self, rows: int, columns: int) -> None:
        """Raise `UnsupportedError` if a matrix of this shape is too large."""
        check_matrix_size(
            self.function.kernel, rows, columns, f"this form of the program, with {self.function.name!r},"
        )

    def gram(self, rows: Index, columns: Index) -> Matrix:
        """Return K(rows, columns), read-only; if there are no features, touch the points in `columns`."""
        if self.features is not None:
            return self.features.gram(rows, columns)
        if not self._can_cache(columns):
            self._check_size(rows.size, columns.size)
            return self.function.kernel(self.points[rows], self.points[columns])
        self.ensure_rows(columns)
        if len(self._blocks) == 1 and all(_is_full_range(index, self.count) for index in (self.touched, columns, rows)):
            return self._blocks[0].T
        return self._gather_gram(columns, rows).T

    def symmetric_gram(self, points: Index) -> PointGram:
        """Return the exactly symmetric Gram matrix of at least the given points, with the points that it contains.

        The result contains all points, which avoids a copy, if all points are touched, at least the fraction
        `MIN_FULL_GRAM_FRACTION` of them is requested, and the kernel guarantees positive semidefinite matrices. If two
        successive calls have the same points, the second returns the same object.
        """
        uses_all = (
            self.is_known_semidefinite
            and self.touched.size == self.count
            and points.size >= MIN_FULL_GRAM_FRACTION * self.count
        )
        requested = np.arange(self.count) if uses_all else points
        if not np.array_equal(requested, self._square.points):
            self._square = PointGram(requested, symmetrise(self.gram(requested, requested)))
        return self._square

    def _gather_gram(self, points: Index, others: Index) -> Matrix:
        """Return K(points, others) from the cache; all of `points` must be touched."""
        place = self.place[points]
        block_of = np.searchsorted(self._starts, place, side="right") - 1
        met = np.unique(block_of)
        if met.size == 1:
            return submatrix(self._blocks[met[0]], place - self._starts[met[0]], others)
        result = np.empty((points.size, others.size))
        for k in met:
            mine = np.flatnonzero(block_of == k)
            result[mine] = submatrix(self._blocks[k], place[mine] - self._starts[k], others)
        return result

    def combination_gram(self, combinations: sp.csr_array, active: Index) -> Matrix:
        """Return E K E' for the rows E = combinations[active], each a linear combination of points.

        If `combinations` is the same object as in the previous call and `active` begins with the rows of that call, the
        part of the result for these rows is not computed again.
        """
        last = self._reduced
        known = last.active.size
        same = combinations is last.combinations and np.array_equal(active[:known], last.active)
        if not same or known == 0:
            last, known = CombinationGram(combinations, active[:0], np.zeros((0, 0))), 0
        every = take_rows(combinations, active)
        cross = self._cross_gram(row_slice(every, known, active.size), every)
        if known == 0:
            product = symmetrise(cross)
        else:
            product = np.empty((active.size, active.size))
            product[:known, :known] = last.product
            product[known:] = cross
            product[:known, known:] = cross[:, :known].T
            product[known:, known:] = symmetrise(cross[:, known:])
        self._reduced = CombinationGram(combinations, active, product)
        return product

    def combination_coordinates(self, combinations: sp.csr_array) -> Matrix:
        """Return L with E K E' = L L' up to rounding errors, one row per row of E = `combinations`."""
        gram = self.combination_gram(combinations, np.arange(combinations.shape[0]))
        lower, order = pivoted_cholesky(gram, ZERO_PIVOT_FRACTION * float(np.max(np.diagonal(gram), initial=0.0)))
        result = np.empty_like(lower)
        result[order] = lower
        return result

    def _cross_gram(self, left: sp.csr_array, right: sp.csr_array) -> Matrix:
        """Return E K G' for E = `left` and G = `right`, whose rows are linear combinations of points."""
        if self.features is not None:
            return inner_products(self.features.combine(left), self.features.combine(right))
        points = np.unique(left.indices).astype(np.intp)
        self._check_size(left.shape[0], right.shape[0])
        if not points.size:
            return np.zeros((left.shape[0], right.shape[0]))
        if not self._can_cache(points):
            weights, product = sp.csc_array(left), np.zeros((left.shape[0], right.shape[0]))
            for part, rows in self._row_blocks(points):
                product += weights[:, points[part]] @ np.asarray(right @ rows.T).T
            return product
        self.ensure_rows(points)
        # Add up the product block by block, without first copying all blocks into one matrix.
        placed = as_csr(
            from_parts(left.data, self.place[left.indices], left.indptr, (left.shape[0], self.touched.size))
        )
        total = np.zeros((left.shape[0], self.count))
        for rows, (start, stop) in zip(self._blocks, pairwise(self._starts.tolist()), strict=True):
            block_weights = placed[:, start:stop]
            if block_weights.nnz:
                total += block_weights @ rows
        return np.asarray(right @ total.T).T

    # -- functions as vectors ------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Length of the vector of a function: the number of features or, if there are none, of points."""
        return self.count if self.features is None else self.features.count

    def from_points(self, coefficients: Vector) -> Vector:
        """Return the vector of the function sum_p a_p K(x_p, .) with these coefficients a over the points."""
        return coefficients if self.features is None else self.features.transpose_times(coefficients)

    def to_points(self, function: Vector) -> Vector:
        """Return coefficients a over the points with f = sum_p a_p K(x_p, .), for a function in their span."""
        return function if self.features is None else self.features.expand(function)

    def values(self, function: Vector) -> Vector:
        """Return the values of a function at all points."""
        if self.features is not None:
            return self.features.times(function)
        support = np.flatnonzero(function)
        if not support.size:
            return np.zeros(self.count)
        if not self._can_cache(support):
            total = np.zeros(self.count)
            for part, rows in self._row_blocks(support):
                total += function[support[part]] @ rows
            return total
        self.ensure_rows(support)
        weights = np.zeros(self.touched.size)
        weights[self.place[support]] = function[support]
        parts = zip(np.split(weights, self._starts[1:-1]), self._blocks, strict=True)
        return np.asarray(sum(part @ block for part, block in parts))

    def inner_product(self, left: Vector, right: Vector, values: Vector) -> float:
        """Return the inner product <f, g> of two functions; `values` are those of g = `right` at all points."""
        return float(left @ (values if self.features is None else right))

    def length(self, function: Vector) -> float:
        """Return ||f|| of a function."""
        return self.norm(function) if self.features is None else float(np.linalg.norm(function))

    def point_size(self, function: Vector) -> float:
        """Return the size of the coefficients over the points of a function.

        It is the largest one, or, if the kernel has features, the smallest possible sum of their absolute values.
        """
        if self.features is None:
            return float(np.max(np.abs(function), initial=0.0))
        return float(np.linalg.norm(function)) / (self.features.largest_length or 1.0)

    def norm(self, coefficients: Vector) -> float:
        """Return ||sum_p a_p K(x_p, .)|| in the kernel's space; `coefficients` is a.

        If the kernel has explicit features, the norm is that of the weighted sum of feature vectors, which avoids the
        cancellation in a'Ka. Otherwise it is sqrt(max(a'Ka, rounding)), where rounding is the size of the error of
        a'Ka: errors of eps sqrt(K(x,x) K(y,y)) in kernel values cause an error of about eps sum_p a_p^2 K(x_p, x_p).
        """
        if self.features is not None:
            return float(np.linalg.norm(self.features.transpose_times(coefficients)))
        support = np.flatnonzero(coefficients)
        squared = float(coefficients @ self.values(coefficients))
        rounding = np.finfo(np.float64).eps * float(coefficients[support] ** 2 @ self._diagonal(support))
        return float(np.sqrt(max(squared, rounding)))

    def _diagonal(self, points: Index) -> Vector:
        """Return |K(x, x)| of the given points."""
        place = self.place[points]
        if (place < 0).any():
            return np.abs(self.function.kernel.diagonal(self.points[points]))
        result = np.empty(points.size)
        for block, (start, stop) in zip(self._blocks, pairwise(self._starts.tolist()), strict=True):
            mine = np.flatnonzero((place >= start) & (place < stop))
            result[mine] = np.abs(block[place[mine] - start, points[mine]])
        return result

    def summed_term_norms(self, coefficients: Vector) -> float:
        """Return sum_p |a_p| ||K(x_p, .)||, the summed norms of the terms of f, which may cancel in f itself."""
        used = np.flatnonzero(coefficients)
        points = self.points.select(used) if is_scaled_rows(self.points) else self.points[used]
        lengths = np.sqrt(np.maximum(self.function.kernel.diagonal(points), 0.0))
        return float(np.abs(coefficients[used]) @ lengths)


@dataclass(frozen=True)
class CombinationGram:
    """Cached matrix `product` = E K E' of the rows E = combinations[active]."""

    combinations: sp.csr_array
    active: Index
    product: Matrix


@dataclass(frozen=True)
class PointGram:
    """Gram matrix K(points, points) with the indices of its points."""

    points: Index
    gram: Matrix


MAX_COMBINATION_NORM = 10.0
"""Largest norm of the weights in the linear combination of basis points that represents a new point.

With this limit, rounding errors grow by a factor of at most 100.
"""


class Whitening:
    """Coordinates of points in the kernel's space: the rows of a matrix L with K = L L', extended as points are added.

    A point that defines a new coordinate is called a basis point; L is lower triangular on the basis points. A point
    defines no coordinate if its squared distance from the span of the basis points is below 1e-13 of the largest
    K(x, x). New points add rows and columns to L and leave the old ones unchanged, with one exception: if the basis
    points are almost linearly dependent, they may represent the new points only with large weights. Rounding errors,
    multiplied by the squared weights, would then count as new coordinates, along which a function without
    regularisation could grow. In this case all points are factorised again, with pivots chosen among all of them.
    """

    def __init__(self, space: KernelSpace) -> None:
        self.space = space
        self.place = np.full(space.count, -1, dtype=np.intp)
        """Per point, its row in `factor`; -1 if the point has not been added."""
        self.factor: Matrix = np.zeros((0, 0))
        """The matrix L: coordinates of the added points, one row per point."""
        self.points = np.zeros(0, dtype=np.intp)
        """Added points, in the order of the rows of `factor`."""
        self.basis_points = np.zeros(0, dtype=np.intp)
        """Points that define a coordinate, in the order of the coordinates."""

    def copy(self) -> Whitening:
        """Return a copy with the same cache of kernel values; points that are added later are not shared."""
        other = Whitening(self.space)
        other.place, other.factor, other.points, other.basis_points = (
            self.place.copy(),
            self.factor,
            self.points,
            self.basis_points,
        )
        return other

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return int(self.basis_points.size)

    def extend(self, index: Index) -> None:
        """Add those points in `index` that have no coordinates yet (see the class docstring for when others change)."""
        from scipy.linalg import solve_triangular

        new = np.unique(index[self.place[index] < 0])
        if not new.size:
            return
        if not self.rank:
            self._add_points(new, np.zeros((new.size, 0)))
            return
        kept_rows = self.coordinates(self.basis_points)
        old = solve_triangular(kept_rows, self.space.gram(new, self.basis_points).T, lower=True)
        weights = solve_triangular(kept_rows, old, lower=True, trans="T")
        if np.linalg.norm(weights, axis=0).max() <= MAX_COMBINATION_NORM:
            self._add_points(new, old.T)
            return
        new = np.sort(np.concatenate([self.points, new]))
        self.factor, self.points, self.basis_points = np.zeros((0, 0)), new[:0], new[:0]
        self._add_points(new, np.zeros((new.size, 0)))

    def _add_points(self, new: Index, old: Matrix) -> None:
        """Add the points `new`, given their coordinates `old` with respect to the existing basis points.

        Raise a `ConvexityError` if the kernel is found not to be positive semidefinite.
        """
        square = self.space.gram(new, new)
        scale = max(float(np.max(np.diagonal(square))), float(np.max(np.abs(self.factor), initial=0.0)) ** 2)
        lower, order = pivoted_cholesky(square - old @ old.T, ZERO_PIVOT_FRACTION * max(scale, 1e-300))
        rank = lower.shape[1]
        fresh = np.zeros((new.size, rank))
        fresh[order] = lower
        dropped = order[rank:]
        if dropped.size and not self.space.is_known_semidefinite:
            part = np.ix_(dropped, dropped)
            rest = square[part] - old[dropped] @ old[dropped].T - fresh[dropped] @ fresh[dropped].T
            if np.abs(rest).max() > 1e-8 * scale:
                raise ConvexityError(self.space.indefinite_message(square))
        top = np.hstack([self.factor, np.zeros((self.points.size, rank))])
        self.factor = np.vstack([top, np.hstack([old, fresh])])
        self.place[new] = np.arange(self.points.size, self.points.size + new.size)
        self.points = np.concatenate([self.points, new])
        self.basis_points = np.concatenate([self.basis_points, new[order[:rank]]])

    def coordinates(self, index: Index) -> Matrix:
        """Return the coordinates of the points in `index`, one row per point; all of them must have been added."""
        return self.factor[self.place[index]]

    def function(self, coordinates: Vector, wanted: Vector | None = None) -> Vector:
        """Return the function with these coordinates, as a vector of its space (see `KernelSpace`)."""
        return self.space.from_points(self.coefficients(coordinates, wanted))

    @property
    def is_complete(self) -> bool:
        """Whether every point has exact coordinates: none was left out because it is almost in the span of others."""
        return self.rank == self.points.size

    def combine(self, combinations: sp.csr_array) -> Points:
        """Return E L for a sparse matrix E of combinations of points with coordinates L."""
        used = np.unique(combinations.indices).astype(np.intp)
        if not used.size:
            return np.zeros((combinations.shape[0], self.rank))
        return np.asarray(combinations[:, used] @ self.coordinates(used))

    def has_coordinates(self, index: Index) -> bool:
        """Return True if all points in `index` have been added."""
        return bool((self.place[index] >= 0).all())

    def coefficients(self, coordinates: Vector, wanted: Vector | None = None) -> Vector:
        """Return kernel coefficients, one per point, of a function with these coordinates.

        Coordinates determine a function only on the span of the basis points. Without `wanted`, the function is zero
        outside of this span: only basis points get coefficients. If `wanted` is given, it contains one coefficient per
        point. Added points that are not basis points then get their coefficients from `wanted`, and the coefficients of
        the basis points are chosen so that the function still has the given coordinates.
        """
        from scipy.linalg import solve_triangular

        result = np.zeros(self.space.count)
        if wanted is not None and self.rank < self.points.size:
            without = np.setdiff1d(self.points, self.basis_points)
            result[without] = wanted[without]
            coordinates = coordinates - self.coordinates(without).T @ wanted[without]
        if self.rank:
            result[self.basis_points] = solve_triangular(
                self.coordinates(self.basis_points), coordinates, lower=True, trans="T"
            )
        return result


class FeatureCoordinates:
    """Coordinates of points by the features of the kernel: L = Phi, the same for all points and never changed.

    The members are those of `Whitening`.
    """

    def __init__(self, space: KernelSpace, features: FeatureRows) -> None:
        self.space = space
        self.rank = features.count
        self.is_complete = True
        self.is_sparse = features.is_sparse
        self._features = features

    def copy(self) -> FeatureCoordinates:
        """Return the object itself, which does not change."""
        return self

    def extend(self, index: Index) -> None:
        """Do nothing: all points have coordinates."""

    def coordinates(self, index: Index) -> Points:
        """Return the coordinates of the points in `index`, one row per point."""
        return self._features.rows(index)

    def combine(self, combinations: sp.csr_array) -> Points:
        """Return E L for a sparse matrix E of combinations of points, dense unless the features are sparse."""
        return self._features.combine(combinations)

    def has_coordinates(self, index: Index) -> bool:
        """Return True: all points have coordinates."""
        return True

    def function(self, coordinates: Vector, wanted: Vector | None = None) -> Vector:
        """Return the function with these coordinates: they are its vector. `wanted` is not used."""
        return coordinates.copy()


Coordinates: TypeAlias = Whitening | FeatureCoordinates
"""Coordinates of the points of one function."""


def _is_full_range(index: Index, count: int) -> bool:
    """Return True if the index is 0, 1, ..., count - 1."""
    return index.size == count and bool((index == np.arange(count)).all())


def _stack_points(points: tuple[Points, ...]) -> Points:
    """Return all points as the rows of one dense array, sparse array or `BagRows`."""
    if not points:
        return np.zeros((0, 1))
    if len(points) == 1:
        return points[0]
    if any(isinstance(p, BagRows) for p in points):
        return bag_rows(concatenate_bags([as_bag_rows(p).bags for p in points]))
    if any(sp.issparse(p) for p in points):
        return sp.csr_array(sp.vstack([sp.csr_array(p) for p in points], format="csr"))
    return np.vstack([np.asarray(p) for p in points])
