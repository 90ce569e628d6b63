"""Coordinates of instances in a kernel's space, so that norms and inner products are those of plain vectors.

With a dictionary Z, the space is the span of its features, and the coordinates are the rows  K_xZ V lambda^(-1/2)  with
K_ZZ = V lambda V'. Without a dictionary, the space is the span of the instances used so far (witnesses and instances
with positive weight in a convex step, see `hilbert_ball`). Each such instance adds a coordinate to all instances, by an
incremental Cholesky factorisation; only the kernel rows of these instances are computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from milopt.arrays import Index, Mask, Matrix, Vector
from milopt.compilation.evaluation_form import FunctionSpace
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.pivoted_cholesky import pivoted_cholesky
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.leaves import Function
from milopt.errors import ConvexityError
from milopt.solvers.native.hilbert_ball.pattern_maxima import MAX_BLOCK_ENTRIES, PatternMaxima

EIGENVALUE_CUTOFF = 1e-10
"""Eigenvalues of a dictionary's Gram matrix below this fraction of the largest are dropped."""
DEPENDENCE_TOLERANCE = 1e-13
"""An instance adds no coordinate if its squared distance to the span is below this fraction of max K(x, x)."""
MAX_RETAINED_COORDINATES = 256
"""Largest number of coordinates at which unused coordinates are never discarded."""
PSD_TOLERANCE = 1e-8
"""Relative tolerance of the test for positive semidefiniteness.

A kernel is rejected if an eigenvalue or a Cholesky residual violates positive semidefiniteness by more than
PSD_TOLERANCE times the largest entry.
"""
MAX_FULL_BASIS_INSTANCES = 1000
"""Largest number of instances for which all instances get exact coordinates at once.

The kernel is then tested on all instances, unless it is known to be positive semidefinite.
"""


class InstanceCoordinates(ABC):
    """Base class of tables with one row of coordinates per instance. The first `rank` columns are in use."""

    table: Matrix
    """Coordinates, one row per instance."""
    rank: int
    """Number of coordinates in use."""
    lengths: Vector
    """Norm of each instance in the kernel's space; with a dictionary, of its projection onto the span."""
    is_exact: Mask
    """Mask of the instances whose row is exact. The rows of other instances are projections onto the span."""

    @abstractmethod
    def make_coordinates_exact(self, instances: Index) -> None:
        """Make the coordinates of these instances exact; extend the span if necessary."""

    def has_excess_coordinates(self, needed: int) -> bool:
        """Return True if there are many more coordinates than `needed` instances require. By default, return False."""
        return False

    def reset(self) -> None:
        """Discard all coordinates. Only called if `has_excess_coordinates` can return True."""
        raise NotImplementedError


class DictionaryCoordinates(InstanceCoordinates):
    """Coordinates in the span of a dictionary's features, exact for all instances from the start.

    The coordinates are exact because they give the value of every function in the span at every instance.
    """

    def __init__(self, function: Function, bags: Bags) -> None:
        kernel, atoms, points = function.kernel, function.dictionary, bags.instances
        assert atoms is not None
        space = KernelSpace(FunctionSpace(function, (atoms,)))
        gram = np.asarray(kernel(atoms, atoms))
        values, vectors = np.linalg.eigh(gram)
        if values[0] < -PSD_TOLERANCE * abs(values[-1]) and not space.is_known_semidefinite:
            raise ConvexityError(space.indefinite_message(gram))
        retained = values > EIGENVALUE_CUTOFF * values[-1]
        self._roots, self._vectors = np.sqrt(values[retained]), vectors[:, retained]
        self._atoms = self._vectors / self._roots
        count, self.rank = points.shape[0], int(retained.sum())
        self.table = np.empty((count, self.rank))
        self.pattern_maxima = PatternMaxima.empty(len(bags), atoms.shape[0])
        for first, last in _bag_blocks(bags, MAX_BLOCK_ENTRIES // atoms.shape[0]):
            ends = np.asarray(bags.offsets[first : last + 1])
            rows = slice(int(ends[0]), int(ends[-1]))
            similarities = np.ascontiguousarray(kernel(points[rows], atoms))
            self.table[rows] = similarities @ self._atoms
            self.pattern_maxima.write_block(slice(first, last), 0, similarities, ends)
        self.pattern_maxima.normalise(kernel, atoms)
        self.is_exact = np.ones(count, dtype=bool)
        self.lengths = np.sqrt(np.einsum("pd,pd->p", self.table, self.table))

    def make_coordinates_exact(self, instances: Index) -> None:
        """Do nothing: all coordinates are exact."""

    def coefficients(self, u: Vector) -> Vector:
        """Return the dictionary coefficients of the function with coordinates u."""
        return np.asarray(self._atoms @ u)

    def norm(self, coefficients: Vector) -> float:
        """Return the norm of the function with these dictionary coefficients."""
        return float(np.linalg.norm(self._roots * (coefficients @ self._vectors)))


class GrowingCoordinates(InstanceCoordinates):
    """Coordinates in the span of the instances added so far."""

    def __init__(self, function: Function, bags: Bags) -> None:
        points = bags.instances
        self._space = KernelSpace(FunctionSpace(function, (points,)))
        self._kernel, self._points = function.kernel, points
        count = points.shape[0]
        self._diagonal = np.array(self._kernel.diagonal(points), dtype=float)
        self._squared_distances = self._diagonal.copy()
        self.lengths = np.sqrt(np.maximum(self._diagonal, 0.0))
        self._scale = float(np.abs(self._squared_distances).max(initial=0.0))
        self.table = np.zeros((count, min(count, 64)))
        self.rank = 0
        self.is_exact = np.zeros(count, dtype=bool)
        self._has_full_basis = count <= MAX_FULL_BASIS_INSTANCES
        if self._has_full_basis:
            self._check_gram_matrix()
            self.make_coordinates_exact(np.arange(count))

    def make_coordinates_exact(self, instances: Index) -> None:
        """Make the rows of these instances exact; add one coordinate for each of them that is not in the span yet.

        Raises `ConvexityError` if the kernel turns out not to be positive semidefinite.
        """
        from scipy.linalg import solve_triangular

        new = np.unique(instances[~self.is_exact[instances]])
        if not new.size:
            return
        r = self.rank
        residual_kernel = np.asarray(self._kernel(self._points, self._points[new]))
        residual_kernel -= self.table[:, :r] @ self.table[new, :r].T
        lower, order = pivoted_cholesky(residual_kernel[new], DEPENDENCE_TOLERANCE * max(self._scale, 1e-300))
        rank = lower.shape[1]
        fresh = (
            solve_triangular(lower[:rank], residual_kernel[:, order[:rank]].T, lower=True).T
            if rank
            else residual_kernel[:, :0]
        )
        fresh[self.is_exact] = 0.0
        fresh[new[order]] = lower
        self._reserve_columns(r + rank)
        self.table[:, r : r + rank] = fresh
        self.rank += rank
        self.is_exact[new] = True
        self._squared_distances -= np.einsum("pd,pd->p", fresh, fresh)
        if not self._space.is_known_semidefinite:
            residual = residual_kernel[new[order[rank:]]][:, order[rank:]] - lower[rank:] @ lower[rank:].T
            self._check_semidefinite(float(np.abs(residual).max(initial=0.0)), float(np.abs(residual_kernel).max()))

    def has_excess_coordinates(self, needed: int) -> bool:
        """Return True if there are more than twice `needed` and more than MAX_RETAINED_COORDINATES coordinates.

        Always False if all instances got coordinates at once.
        """
        return not self._has_full_basis and self.rank > max(MAX_RETAINED_COORDINATES, 2 * needed)

    def reset(self) -> None:
        """Discard all coordinates."""
        self.rank = 0
        self.is_exact[:] = False
        self._squared_distances[:] = self._diagonal

    def _reserve_columns(self, columns: int) -> None:
        """Enlarge the table to at least this many columns."""
        count, capacity = self.table.shape
        if columns > capacity:
            larger = np.zeros((count, min(count, max(columns, 2 * capacity))))
            larger[:, : self.rank] = self.table[:, : self.rank]
            self.table = larger

    def _check_gram_matrix(self) -> None:
        """Raise `ConvexityError` if the kernel is not positive semidefinite on all instances.

        Kernels that are known to be positive semidefinite are not tested.
        """
        if not self._space.is_known_semidefinite:
            gram = np.asarray(self._kernel(self._points, self._points))
            if float(np.linalg.eigvalsh(gram)[0]) < -PSD_TOLERANCE * float(np.abs(gram).max()):
                raise ConvexityError(self._space.indefinite_message(gram))

    def _check_semidefinite(self, residual: float, scale: float) -> None:
        """Raise `ConvexityError` if the kernel is not positive semidefinite on the instances used so far.

        `residual` is the part of the new kernel values that the new coordinates do not represent. It must be at most
        PSD_TOLERANCE times the larger of `scale` and max |K(x, x)|. For every instance x, the squared norm of its
        coordinates must be at most K(x, x) + PSD_TOLERANCE max |K(x, x)|.
        """
        worst = int(np.argmin(self._squared_distances))
        if self._squared_distances[worst] < -PSD_TOLERANCE * self._scale or residual > PSD_TOLERANCE * max(
            scale, self._scale
        ):
            used = self.is_exact.copy()
            used[worst] = True
            points = self._points[np.flatnonzero(used)]
            raise ConvexityError(self._space.indefinite_message(np.asarray(self._kernel(points, points))))


def _bag_blocks(bags: Bags, rows: int) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, stop) of consecutive bags with at most `rows` instances in total, or of a single bag."""
    first = 0
    while first < len(bags):
        last = int(np.searchsorted(bags.offsets, bags.offsets[first] + rows, side="right")) - 1
        last = max(first + 1, last)
        yield first, last
        first = last
