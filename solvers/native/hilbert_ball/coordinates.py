"""Coordinates of instances in a kernel's space, so that norms and inner products are those of plain vectors.

With a dictionary Z the space is the span of its features: rows  K_xZ V lambda^(-1/2)  from  K_ZZ = V lambda V'.
Without one it is the span of the instances used so far (witnesses, and those that carry weight): each adds a coordinate
to all instances, by a Cholesky factorisation that grows, and only their kernel rows are ever computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from milopt.arrays import Index, Mask, Matrix, Vector
from milopt.compilation.evaluation_form import Space
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.pivoted_cholesky import pivoted_cholesky
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.leaves import Function
from milopt.errors import ConvexityError
from milopt.solvers.native.hilbert_ball.one_hots import PIECE, OneHots

DROPPED = 1e-10
"""Eigenvalues of a dictionary's Gram matrix below this part of the largest are dropped."""
DEPENDENT = 1e-13
"""An instance whose squared distance to the span is below this part of the largest K(x, x) adds no coordinate."""
CROWDED = 256
"""Up to so many coordinates, none is forgotten."""
INDEFINITE = 1e-8
"""How far below 0, relative to the largest, what should not be negative may lie in a kernel that is accepted."""
FEW = 1000
"""Up to so many instances, all are known from the start, and the kernel is tested on all where it may be indefinite."""


class Coordinates(ABC):
    """A row for each instance, of which the first `rank` entries count."""

    table: Matrix
    rank: int
    lengths: Vector
    """How long the rows are, were all known."""
    known: Mask
    """Whose row is all of the instance, not only its projection onto the span of the known."""

    @abstractmethod
    def know(self, instances: Index) -> None:
        """Make these instances known."""

    def is_crowded(self, needed: int) -> bool:
        """Whether there are many more coordinates than so many instances need."""
        return False

    def forget(self) -> None:
        """Make every instance unknown; asked only of coordinates that may be crowded, which say how."""
        raise NotImplementedError


class DictionaryCoordinates(Coordinates):
    """In the span of a dictionary's features; everything is known from the start."""

    def __init__(self, function: Function, bags: Bags) -> None:
        kernel, atoms, points = function.kernel, function.dictionary, bags.instances
        assert atoms is not None
        space = KernelSpace(Space(function, (atoms,)))
        gram = np.asarray(kernel(atoms, atoms))
        values, vectors = np.linalg.eigh(gram)
        if values[0] < -INDEFINITE * abs(values[-1]) and not space.is_known_semidefinite:
            raise ConvexityError(space.indefinite(gram))
        kept = values > DROPPED * values[-1]
        self._roots, self._vectors = np.sqrt(values[kept]), vectors[:, kept]
        self._atoms = self._vectors / self._roots
        count, self.rank = points.shape[0], int(kept.sum())
        self.table = np.empty((count, self.rank))
        self.one_hots = OneHots.room(len(bags), atoms.shape[0])
        for first, last in _pieces(bags, PIECE // atoms.shape[0]):
            ends = np.asarray(bags.offsets[first : last + 1])
            rows = slice(int(ends[0]), int(ends[-1]))
            similarities = np.ascontiguousarray(kernel(points[rows], atoms))
            self.table[rows] = similarities @ self._atoms
            self.one_hots.fill(slice(first, last), 0, similarities, ends)
        self.one_hots.normalise(kernel, atoms)
        self.known = np.ones(count, dtype=bool)
        self.lengths = np.sqrt(np.einsum("pd,pd->p", self.table, self.table))

    def know(self, instances: Index) -> None:
        """Nothing to do."""

    def coefficients(self, u: Vector) -> Vector:
        """Over the dictionary, of the function with these coordinates."""
        return np.asarray(self._atoms @ u)

    def norm(self, coefficients: Vector) -> float:
        """Of the function with these coefficients over the dictionary."""
        return float(np.linalg.norm(self._roots * (coefficients @ self._vectors)))


class GrowingCoordinates(Coordinates):
    """In the span of the instances known so far."""

    def __init__(self, function: Function, bags: Bags) -> None:
        points = bags.instances
        self._space = KernelSpace(Space(function, (points,)))
        self._kernel, self._points = function.kernel, points
        count = points.shape[0]
        self._diagonal = np.array(self._kernel.diagonal(points), dtype=float)
        self._slack = self._diagonal.copy()
        self.lengths = np.sqrt(np.maximum(self._diagonal, 0.0))
        self._scale = float(np.abs(self._slack).max(initial=0.0))
        self.table = np.zeros((count, min(count, 64)))
        self.rank = 0
        self.known = np.zeros(count, dtype=bool)
        self._has_few = count <= FEW
        if self._has_few:
            self._test_whole()
            self.know(np.arange(count))

    def know(self, instances: Index) -> None:
        """A coordinate for each of these that is not in the span yet."""
        from scipy.linalg import solve_triangular

        new = np.unique(instances[~self.known[instances]])
        if not new.size:
            return
        r = self.rank
        rest = np.asarray(self._kernel(self._points, self._points[new]))
        rest -= self.table[:, :r] @ self.table[new, :r].T
        lower, order = pivoted_cholesky(rest[new], DEPENDENT * max(self._scale, 1e-300))
        rank = lower.shape[1]
        fresh = solve_triangular(lower[:rank], rest[:, order[:rank]].T, lower=True).T if rank else rest[:, :0]
        fresh[self.known] = 0.0
        fresh[new[order]] = lower
        self._make_room(r + rank)
        self.table[:, r : r + rank] = fresh
        self.rank += rank
        self.known[new] = True
        self._slack -= np.einsum("pd,pd->p", fresh, fresh)
        if not self._space.is_known_semidefinite:
            left = rest[new[order[rank:]]][:, order[rank:]] - lower[rank:] @ lower[rank:].T
            self._check(float(np.abs(left).max(initial=0.0)), float(np.abs(rest).max()))

    def is_crowded(self, needed: int) -> bool:
        """Whether there are many more coordinates than so many instances need."""
        return not self._has_few and self.rank > max(CROWDED, 2 * needed)

    def forget(self) -> None:
        """Make every instance unknown."""
        self.rank = 0
        self.known[:] = False
        self._slack[:] = self._diagonal

    def _make_room(self, columns: int) -> None:
        count, room = self.table.shape
        if columns > room:
            wide = np.zeros((count, min(count, max(columns, 2 * room))))
            wide[:, : self.rank] = self.table[:, : self.rank]
            self.table = wide

    def _test_whole(self) -> None:
        if not self._space.is_known_semidefinite:
            gram = np.asarray(self._kernel(self._points, self._points))
            if float(np.linalg.eigvalsh(gram)[0]) < -INDEFINITE * float(np.abs(gram).max()):
                raise ConvexityError(self._space.indefinite(gram))

    def _check(self, left: float, scale: float) -> None:
        """What the new coordinates `left` over must be nothing, and no row longer than its instance."""
        worst = int(np.argmin(self._slack))
        if self._slack[worst] < -INDEFINITE * self._scale or left > INDEFINITE * max(scale, self._scale):
            used = self.known.copy()
            used[worst] = True
            points = self._points[np.flatnonzero(used)]
            raise ConvexityError(self._space.indefinite(np.asarray(self._kernel(points, points))))


def _pieces(bags: Bags, rows: int) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of consecutive bags that have about so many instances together."""
    first = 0
    while first < len(bags):
        last = int(np.searchsorted(bags.offsets, bags.offsets[first] + rows, side="right")) - 1
        last = max(first + 1, last)
        yield first, last
        first = last
