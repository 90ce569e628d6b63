"""The minimum-norm point of  c - sum_r d_r conv{x : x in B_r},  by Wolfe's algorithm with the hulls kept apart.

Wolfe's algorithm stands on a face, goes to its least-squares point, drops what would turn negative, and lets the
vertex enter that the direction found calls for. Here a face is a product of one face a bag, and the vertex of a bag is
its argmax, so one pass over the instances brings a candidate for every bag. Any weights nu bound the minimum:

    (<c, w> - sum_r d_r max_{x in B_r} <x, w>) / ||w||  <=  min-norm  <=  ||w||,    w = c - sum_r sum_x nu_rx x

The face does not depend on c or d and is where the next search starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index, Vector
from milopt.solvers.native.hilbert_ball.bag_ceilings import Ceilings, maxima
from milopt.solvers.native.hilbert_ball.coordinates import Coordinates
from milopt.solvers.native.hilbert_ball.corral import Corral
from milopt.solvers.native.hilbert_ball.minimum_norm_search import FOUND, WANTED, search

TOLERANCE = 1e-9
"""How far the bounds may be apart, relative to the upper."""
NOTHING = 1e-12
"""A point is 0 when it is this short beside what it is the sum of."""


@dataclass(frozen=True)
class Nearest:
    """The point of a Minkowski sum that is nearest to 0."""

    w: Vector
    """Its coordinates, which hold until the next search; all 0 where it is 0."""
    upper: float
    """||w|| as found: no larger than this is the minimum norm,"""
    lower: float
    """and no smaller than this."""
    drag: float
    """sum_r d_r max_{x in B_r} <x, w> / ||w||."""
    instances: Index
    weights: Vector
    """nu > 0, on the instances."""
    entered: int

    @property
    def gap(self) -> float:
        """Between the bounds."""
        return self.upper - self.lower


class MinimumNorm:
    """Searches over the same bags, each from the face of the last."""

    def __init__(self, coordinates: Coordinates, offsets: Index) -> None:
        self.coordinates = coordinates
        self._offsets = np.ascontiguousarray(offsets, dtype=np.intp)
        self._wanted = np.zeros(int(offsets[-1]) + 1, dtype=np.intp)
        self.restart()

    def restart(self) -> None:
        """Forget the face."""
        room = self.coordinates.table.shape[1]
        self._face = Corral.empty(self._offsets.size - 1, int(self._offsets[-1]), room)
        self._ceilings = Ceilings.unknown(self.coordinates.lengths, self._offsets, room)

    def _forget_unused(self, witnesses: Index) -> None:
        """Begin the coordinates anew where most of them are of instances that nothing stands on any more."""
        f, space = self._face, self.coordinates
        p = int(f.used[0])
        columns = f.instance[:p]
        used = np.concatenate([witnesses, columns, f.base[f.last > 0]])
        if not space.is_crowded(used.size):
            return
        self.restart()
        self._face.base[:] = f.base
        self._face.share[:] = f.share
        self._face.share[columns] = f.weight[:p] / f.last[f.bag[:p]]
        space.forget()
        space.know(used)

    def solve(self, instances: Index, pulls: Vector, demand: Vector) -> Nearest:
        """At  c = sum_k pulls_k x_instances(k)  and d = `demand`, bags of demand 0 left out."""
        space = self.coordinates
        self._forget_unused(instances)
        space.know(instances)
        scale = float(space.lengths.max(initial=0.0)) * (float(np.abs(pulls).sum()) + float(demand.sum()))
        zero = max((NOTHING * scale) ** 2, 1e-300)
        entered = 0
        while True:
            if space.table.shape[1] > self._face.w.size:
                self._face = self._face.widened(space.table.shape[1])
                self._ceilings = self._ceilings.widened(space.table.shape[1])
            c = pulls @ space.table[instances]
            f, n = self._face, space.rank
            ended = search(
                f, self._ceilings, space.table, n, self._offsets, demand, c, space.known, self._wanted, TOLERANCE, zero
            )
            entered += ended.entered
            if ended.end != WANTED:
                break
            space.know(self._wanted[: int(np.argmin(self._wanted))])
        upper = float(np.sqrt(ended.squared))
        if ended.end == FOUND and ended.squared <= zero:
            return Nearest(np.zeros(n), upper, 0.0, 0.0, np.zeros(0, dtype=np.intp), np.zeros(0), entered)
        lower = max(0.0, (ended.pull - ended.drag) / upper)
        return Nearest(f.w[:n].copy(), upper, lower, ended.drag / upper, *self._weights(demand), entered)

    def maxima(self, bags: Index, w: Vector) -> tuple[Index, Vector]:
        """Per bag, (the first instance with the largest <x, w>, that value)."""
        place, top = maxima(self._ceilings, self.coordinates.table, w.size, self._offsets, bags, w)
        return place, top

    def _weights(self, demand: Vector) -> tuple[Index, Vector]:
        f = self._face
        p = int(f.used[0])
        bags = np.flatnonzero(demand > 0)
        left = demand - np.bincount(f.bag[:p], f.weight[:p], minlength=demand.size)
        instances = np.concatenate([f.instance[:p], f.base[bags]])
        weights = np.concatenate([f.weight[:p], left[bags]])
        kept = weights > 0
        return instances[kept], weights[kept]
