"""Kernel values between the points of one function, computed once and only where they are needed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.compilation.evaluation_form import Index, Space
from milopt.compilation.quadratic import Matrix, Vector
from milopt.declaration.leaves import Points


class KernelSpace:
    """Columns K(all points, touched points), grown as points are touched; a point's column is computed once."""

    def __init__(self, space: Space) -> None:
        self.function = space.function
        self.points: Points = _stacked(space.points)
        self.count = space.count
        self.place = np.full(self.count, -1, dtype=np.intp)
        """Per point, its column; -1 while untouched."""
        self.touched = np.zeros(0, dtype=np.intp)
        self._columns = np.empty((self.count, 0), order="F")

    def touch(self, index: Index) -> None:
        """Make sure that these points have their columns."""
        new = np.unique(index[self.place[index] < 0])
        if not new.size:
            return
        used, needed = self.touched.size, self.touched.size + new.size
        if needed > self._columns.shape[1]:
            room = min(self.count, max(needed, 2 * self._columns.shape[1]))
            grown = np.empty((self.count, room), order="F")
            grown[:, :used] = self._columns[:, :used]
            self._columns = grown
        if new.size == self.count:
            self._columns[:] = self.function.kernel(self.points, self.points)
        else:
            self._columns[:, used:needed] = self.function.kernel(self.points, self.points[new])
        self.place[new] = np.arange(used, needed)
        self.touched = np.concatenate([self.touched, new])

    def gram(self, rows: Index, columns: Index) -> Matrix:
        """K between points, the column points touched first."""
        self.touch(columns)
        return self._columns[np.ix_(rows, self.place[columns])]

    def reduced(self, rows: sp.csr_array) -> Matrix:
        """E K E' for rows E over all points: kernel values between combinations of points, no copy of K."""
        used = np.unique(rows.indices).astype(np.intp)
        self.touch(used)
        weights = sp.csc_array(rows)[:, used]
        half = self._columns[:, self.place[used]] @ weights.T if used.size < self.touched.size else None
        if half is None:
            order = np.argsort(self.place[used])
            half = self._columns[:, : self.touched.size] @ sp.csr_array(weights[:, order].T)
        product: Matrix = np.asarray(rows @ half)
        symmetric: Matrix = (product + product.T) / 2
        return symmetric

    def values(self, coefficients: Vector) -> Vector:
        """f at all points, for f = sum_p a_p K(x_p, .)."""
        support = np.flatnonzero(coefficients)
        if not support.size:
            return np.zeros(self.count)
        self.touch(support)
        weights = np.zeros(self.touched.size)
        weights[self.place[support]] = coefficients[support]
        return np.asarray(self._columns[:, : self.touched.size] @ weights)

    def norm(self, coefficients: Vector) -> float:
        """||sum_p a_p K(x_p, .)|| in the kernel's space."""
        support = np.flatnonzero(coefficients)
        if not support.size:
            return 0.0
        a = coefficients[support]
        return float(np.sqrt(max(0.0, float(a @ self.gram(support, support) @ a))))


class Whitening:
    """Coordinates of the points touched so far: K = L L' with L lower triangular over the kept points.

    New points add rows and columns and leave the old ones alone. A point within 1e-13 (of the largest K(x,x)) of the
    span of the kept ones gets no coordinate of its own.
    """

    def __init__(self, space: KernelSpace) -> None:
        self.space = space
        self.place = np.full(space.count, -1, dtype=np.intp)
        self.factor: Matrix = np.zeros((0, 0))
        self.points = np.zeros(0, dtype=np.intp)
        self.kept = np.zeros(0, dtype=np.intp)
        """The points that carry a coordinate, in the order of the coordinates."""

    @property
    def rank(self) -> int:
        """How many coordinates there are."""
        return int(self.kept.size)

    def extend(self, index: Index) -> None:
        """Give coordinates to points that have none yet."""
        from scipy.linalg import solve_triangular
        from scipy.linalg.lapack import dpstrf

        new = np.unique(index[self.place[index] < 0])
        if not new.size:
            return
        square = self.space.gram(new, new)
        scale = max(float(np.max(np.diagonal(square))), float(np.max(np.abs(self.factor), initial=0.0)) ** 2)
        if self.rank:
            cross = self.space.gram(new, self.kept)
            kept_rows = self.factor[self.place[self.kept]]
            old = solve_triangular(kept_rows, cross.T, lower=True).T
        else:
            old = np.zeros((new.size, 0))
        triangle, pivots, rank, _ = dpstrf(square - old @ old.T, lower=1, tol=1e-13 * max(scale, 1e-300))
        order = pivots[: new.size] - 1
        fresh = np.zeros((new.size, rank))
        fresh[order] = np.tril(triangle)[:, :rank]
        top = np.hstack([self.factor, np.zeros((self.points.size, rank))])
        self.factor = np.vstack([top, np.hstack([old, fresh])])
        self.place[new] = np.arange(self.points.size, self.points.size + new.size)
        self.points = np.concatenate([self.points, new])
        self.kept = np.concatenate([self.kept, new[order[:rank]]])

    def rows(self, index: Index) -> Matrix:
        """Coordinates of points that have them."""
        return self.factor[self.place[index]]

    def coefficients(self, coordinates: Vector) -> Vector:
        """Kernel coefficients over all points, for the function with these coordinates."""
        from scipy.linalg import solve_triangular

        result = np.zeros(self.space.count)
        if self.rank:
            result[self.kept] = solve_triangular(self.factor[self.place[self.kept]], coordinates, lower=True, trans="T")
        return result


def _stacked(points: tuple[Points, ...]) -> Points:
    if not points:
        return np.zeros((0, 1))
    if len(points) == 1:
        return points[0]
    if any(sp.issparse(p) for p in points):
        return sp.csr_array(sp.vstack([sp.csr_array(p) for p in points], format="csr"))
    return np.vstack([np.asarray(p) for p in points])
