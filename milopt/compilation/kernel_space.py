"""Kernel values between the points of one function, computed once and only where they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.compilation.evaluation_form import Space
from milopt.compilation.pivoted_cholesky import pivoted_cholesky
from milopt.declaration.bags.bag_rows import BagRows, as_bag_rows, bag_rows, joined
from milopt.declaration.kernels.gram import gathered, symmetrised
from milopt.declaration.kernels.recollection import gram_of
from milopt.declaration.programs.sparse import between, csr, from_parts, taken, zeros
from milopt.errors import ConvexityError

MOST = 0.75
"""Share of the points from which products with the kernel values of all cost less than a copy of those of some."""


class KernelSpace:
    """Rows K(touched points, all points), a block for each time that points are touched; a row is computed once."""

    def __init__(self, space: Space) -> None:
        self.function = space.function
        self._given = space.points
        self.points: Points = _stacked(space.points)
        self.count = space.count
        self.place = np.full(self.count, -1, dtype=np.intp)
        """Per point, its row; -1 while untouched."""
        self.touched = np.zeros(0, dtype=np.intp)
        self._blocks: list[Matrix] = []
        self._starts = np.zeros(1, dtype=np.intp)
        self._reduced = Reduced(zeros(0, self.count), np.zeros(0, dtype=np.intp), np.zeros((0, 0)))
        self._square = Square(np.zeros(0, dtype=np.intp), np.zeros((0, 0)))

    @property
    def is_known_semidefinite(self) -> bool:
        """Whether the kernel is positive semidefinite by what it is."""
        return self.function.kernel.is_semidefinite

    def indefinite(self, gram: Matrix) -> str:
        """The sentence for a kernel that is not positive semidefinite."""
        smallest = float(np.linalg.eigvalsh((gram + gram.T) / 2)[0])
        where = f"smallest eigenvalue {smallest:.4g} on the points used"
        kernel = self.function.kernel
        return f"The kernel of {self.function.name!r} is not positive semidefinite: {where}; {kernel.remedy}."

    def serves(self, space: Space) -> bool:
        """Whether another function has the same kernel and is evaluated at the same points."""
        same = len(self._given) == len(space.points) and all(
            a is b for a, b in zip(self._given, space.points, strict=True)
        )
        return same and self.function.name == space.function.name and self.function.kernel is space.function.kernel

    def touch(self, index: Index) -> None:
        """Make sure that these points have their rows."""
        new = np.unique(index[self.place[index] < 0])
        if not new.size:
            return
        points = self.points if new.size == self.count else self.points[new]
        self._blocks.append(gram_of(self.function.kernel, points, self.points))
        self.place[new] = np.arange(self.touched.size, self.touched.size + new.size)
        self.touched = np.concatenate([self.touched, new])
        self._starts = np.append(self._starts, self.touched.size)

    def gram(self, rows: Index, columns: Index) -> Matrix:
        """K between points, the column points touched first; not to be written to."""
        self.touch(columns)
        if len(self._blocks) == 1 and all(_is_whole(index, self.count) for index in (self.touched, columns, rows)):
            return self._blocks[0].T
        return self._gathered(columns, rows).T

    def square(self, points: Index) -> Square:
        """K between points and themselves, exactly symmetric; the same array as long as the same points are asked.

        It is of all points where all are touched and most are asked: theirs alone would be a copy.
        """
        most = self.is_known_semidefinite and self.touched.size == self.count and points.size >= MOST * self.count
        asked = np.arange(self.count) if most else points
        if not np.array_equal(asked, self._square.points):
            self._square = Square(asked, symmetrised(self.gram(asked, asked)))
        return self._square

    def _gathered(self, points: Index, others: Index) -> Matrix:
        """K(points, others), the points touched before."""
        place = self.place[points]
        block_of = np.searchsorted(self._starts, place, side="right") - 1
        met = np.unique(block_of)
        if met.size == 1:
            return gathered(self._blocks[met[0]], place - self._starts[met[0]], others)
        result = np.empty((points.size, others.size))
        for k in met:
            mine = np.flatnonzero(block_of == k)
            result[mine] = gathered(self._blocks[k], place[mine] - self._starts[k], others)
        return result

    def reduced(self, combinations: sp.csr_array, active: Index) -> Matrix:
        """E K E' for some rows E of `combinations`, over all points; rows asked for before are not computed again."""
        last = self._reduced
        known = last.active.size
        same = combinations is last.combinations and np.array_equal(active[:known], last.active)
        if not same or known == 0:
            last, known = Reduced(combinations, active[:0], np.zeros((0, 0))), 0
        every = taken(combinations, active)
        cross = self._between(between(every, known, active.size), every)
        if known == 0:
            product = symmetrised(cross)
        else:
            product = np.empty((active.size, active.size))
            product[:known, :known] = last.product
            product[known:] = cross
            product[:known, known:] = cross[:, :known].T
            product[known:, known:] = symmetrised(cross[:, known:])
        self._reduced = Reduced(combinations, active, product)
        return product

    def _between(self, left: sp.csr_array, right: sp.csr_array) -> Matrix:
        """E K G' for combinations E and G of points."""
        points = np.unique(left.indices).astype(np.intp)
        if not points.size:
            return np.zeros((left.shape[0], right.shape[0]))
        self.touch(points)
        # Rows of kernel values are added up where they lie, rather than gathered first.
        placed = csr(from_parts(left.data, self.place[left.indices], left.indptr, (left.shape[0], self.touched.size)))
        total = np.zeros((left.shape[0], self.count))
        for rows, (start, stop) in zip(self._blocks, pairwise(self._starts.tolist()), strict=True):
            part = placed[:, start:stop]
            if part.nnz:
                total += part @ rows
        return np.asarray(right @ total.T).T

    def values(self, coefficients: Vector) -> Vector:
        """f at all points, for f = sum_p a_p K(x_p, .)."""
        support = np.flatnonzero(coefficients)
        if not support.size:
            return np.zeros(self.count)
        self.touch(support)
        weights = np.zeros(self.touched.size)
        weights[self.place[support]] = coefficients[support]
        parts = zip(np.split(weights, self._starts[1:-1]), self._blocks, strict=True)
        return np.asarray(sum(part @ block for part, block in parts))

    def norm(self, coefficients: Vector) -> float:
        """Return ||sum_p a_p K(x_p, .)|| in the kernel's space, or its rounding error if that is larger.

        Where the kernel has features, the norm is that of the sum of features, without cancellation. Otherwise it is
        the root of a'Ka, in which errors of eps sqrt(K(x,x) K(y,y)) of the kernel values leave about
        eps sum_p a_p^2 K(x_p, x_p): a norm that cannot be told from 0 is not 0.
        """
        features = self.function.kernel.features(self.points)
        if features is not None:
            return float(np.linalg.norm(features.T @ coefficients))
        support = np.flatnonzero(coefficients)
        squared = float(coefficients @ self.values(coefficients))
        rounding = np.finfo(np.float64).eps * float(coefficients[support] ** 2 @ self._diagonal(support))
        return float(np.sqrt(max(squared, rounding)))

    def _diagonal(self, points: Index) -> Vector:
        """K(x, x) of points that were touched before."""
        place = self.place[points]
        result = np.empty(points.size)
        for block, (start, stop) in zip(self._blocks, pairwise(self._starts.tolist()), strict=True):
            mine = np.flatnonzero((place >= start) & (place < stop))
            result[mine] = np.abs(block[place[mine] - start, points[mine]])
        return result

    def size(self, coefficients: Vector) -> float:
        """Return sum_p |a_p| ||K(x_p, .)||: the size of the terms of a function, which may cancel."""
        used = np.flatnonzero(coefficients)
        lengths = np.sqrt(np.maximum(self.function.kernel.diagonal(self.points[used]), 0.0))
        return float(np.abs(coefficients[used]) @ lengths)


@dataclass(frozen=True)
class Reduced:
    """E K E' of some rows of a matrix of combinations."""

    combinations: sp.csr_array
    active: Index
    product: Matrix


@dataclass(frozen=True)
class Square:
    """K of some points."""

    points: Index
    gram: Matrix


MAX_WEIGHT = 10.0
"""Largest norm of the weights by which kept points may combine to a new one: rounding errors grow 100 times."""


class Whitening:
    """Coordinates of the points touched so far: K = L L' with L lower triangular over the kept points.

    A point within 1e-13 (of the largest K(x,x), squared distances) of the span of the kept ones gets no coordinate of
    its own. New points add rows and columns and leave the old ones alone, unless the kept points are almost dependent
    and span the new ones by large weights only. Rounding errors, multiplied by the squares of the weights, would then
    count as coordinates, and a function that nothing regularises grows along them. So all points are factorised
    again, with pivots from all of them.
    """

    def __init__(self, space: KernelSpace) -> None:
        self.space = space
        self.place = np.full(space.count, -1, dtype=np.intp)
        self.factor: Matrix = np.zeros((0, 0))
        self.points = np.zeros(0, dtype=np.intp)
        self.kept = np.zeros(0, dtype=np.intp)
        """The points that carry a coordinate, in the order of the coordinates."""

    def copy(self) -> Whitening:
        """The same coordinates over the same kernel values; points that are added to one stay out of the other."""
        other = Whitening(self.space)
        other.place, other.factor, other.points, other.kept = self.place.copy(), self.factor, self.points, self.kept
        return other

    @property
    def rank(self) -> int:
        """How many coordinates there are."""
        return int(self.kept.size)

    def extend(self, index: Index) -> None:
        """Give coordinates to points that have none yet; all points get other ones if the old are unfit for the new."""
        from scipy.linalg import solve_triangular

        new = np.unique(index[self.place[index] < 0])
        if not new.size:
            return
        if not self.rank:
            self._add(new, np.zeros((new.size, 0)))
            return
        kept_rows = self.rows(self.kept)
        old = solve_triangular(kept_rows, self.space.gram(new, self.kept).T, lower=True)
        weights = solve_triangular(kept_rows, old, lower=True, trans="T")
        if np.linalg.norm(weights, axis=0).max() <= MAX_WEIGHT:
            self._add(new, old.T)
            return
        new = np.sort(np.concatenate([self.points, new]))
        self.factor, self.points, self.kept = np.zeros((0, 0)), new[:0], new[:0]
        self._add(new, np.zeros((new.size, 0)))

    def _add(self, new: Index, old: Matrix) -> None:
        """Add points, given their parts `old` along the coordinates that exist."""
        square = self.space.gram(new, new)
        scale = max(float(np.max(np.diagonal(square))), float(np.max(np.abs(self.factor), initial=0.0)) ** 2)
        lower, order = pivoted_cholesky(square - old @ old.T, 1e-13 * max(scale, 1e-300))
        rank = lower.shape[1]
        fresh = np.zeros((new.size, rank))
        fresh[order] = lower
        dropped = order[rank:]
        if dropped.size and not self.space.is_known_semidefinite:
            part = np.ix_(dropped, dropped)
            rest = square[part] - old[dropped] @ old[dropped].T - fresh[dropped] @ fresh[dropped].T
            if np.abs(rest).max() > 1e-8 * scale:
                raise ConvexityError(self.space.indefinite(square))
        top = np.hstack([self.factor, np.zeros((self.points.size, rank))])
        self.factor = np.vstack([top, np.hstack([old, fresh])])
        self.place[new] = np.arange(self.points.size, self.points.size + new.size)
        self.points = np.concatenate([self.points, new])
        self.kept = np.concatenate([self.kept, new[order[:rank]]])

    def rows(self, index: Index) -> Matrix:
        """Coordinates of points that have them."""
        return self.factor[self.place[index]]

    def coefficients(self, coordinates: Vector, wanted: Vector | None = None) -> Vector:
        """Kernel coefficients over all points, for the function with these coordinates.

        Coordinates leave open what the function is outside the span of the kept points. It is nothing there, or what
        the `wanted` coefficients of the points without a coordinate make of it.
        """
        from scipy.linalg import solve_triangular

        result = np.zeros(self.space.count)
        if wanted is not None and self.rank < self.points.size:
            without = np.setdiff1d(self.points, self.kept)
            result[without] = wanted[without]
            coordinates = coordinates - self.rows(without).T @ wanted[without]
        if self.rank:
            result[self.kept] = solve_triangular(self.rows(self.kept), coordinates, lower=True, trans="T")
        return result


def _is_whole(index: Index, count: int) -> bool:
    """Whether these are all places, in order."""
    return index.size == count and bool((index == np.arange(count)).all())


def _stacked(points: tuple[Points, ...]) -> Points:
    if not points:
        return np.zeros((0, 1))
    if len(points) == 1:
        return points[0]
    if any(isinstance(p, BagRows) for p in points):
        return bag_rows(joined([as_bag_rows(p).bags for p in points]))
    if any(sp.issparse(p) for p in points):
        return sp.csr_array(sp.vstack([sp.csr_array(p) for p in points], format="csr"))
    return np.vstack([np.asarray(p) for p in points])
