"""The minimum-norm point of  c - sum_r d_r conv{x : x in B_r},  by Wolfe's algorithm with a separate hull per bag.

Bag r has the instances B_r and the weight d_r >= 0. Wolfe's algorithm moves to the minimum-norm point of the current
face, removes vertices whose weight would become negative, and adds the vertex that minimises the inner product with the
point. Here a face is a product of one face per bag, and the vertex of a bag is the instance x with the largest <x, w>,
so that one pass over the instances gives one candidate per bag. Any weights nu >= 0 that sum to d_r in each bag bound
the minimum:

    (<c, w> - sum_r d_r max_{x in B_r} <x, w>) / ||w||  <=  min-norm  <=  ||w||,    w = c - sum_r sum_x nu_rx x

The face does not depend on c or d, and the next search starts from it. A round costs one inner product per instance,
most of which are skipped (`instance_bounds`). Adding a column to the p columns of the face in n dimensions costs O(np)
(`face`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Index, Vector
from milopt.solvers.native.hilbert_ball.coordinates import InstanceCoordinates
from milopt.solvers.native.hilbert_ball.face import Face
from milopt.solvers.native.hilbert_ball.instance_bounds import InstanceBounds, bag_maxima
from milopt.solvers.native.hilbert_ball.minimum_norm_search import (
    SEARCH_NEEDS_COORDINATES,
    SEARCH_SOLVED,
    search_minimum_norm_point,
)

NORM_GAP_TOLERANCE = 1e-9
"""Difference of the bounds on the minimum norm, relative to the upper bound, at which the search stops."""
POINT_ZERO_TOLERANCE = 1e-12
"""A point counts as 0 if its norm is at most this fraction of the largest instance norm times the sum of weights."""


@dataclass(frozen=True)
class MinimumNormPoint:
    """Minimum-norm point w of  c - sum_r d_r conv(B_r),  with the weights that give w and bounds on the norm."""

    w: Vector
    """Coordinates, valid until the next search; all 0 if the minimum norm is 0."""
    upper: float
    """Upper bound on the minimum norm: ||w|| as computed (before w was set to 0, if it counts as 0)."""
    lower: float
    """Lower bound on the minimum norm."""
    support_value: float
    """Support value  sum_r d_r max_{x in B_r} <x, w> / ||w||;  0 if w = 0."""
    instances: Index
    """Instances with positive weight nu; empty if w = 0."""
    weights: Vector
    """Weights nu > 0 of the instances."""
    n_entered: int
    """Number of columns (instances) that were added to the face during the search."""

    @property
    def gap(self) -> float:
        """Difference of the upper and the lower bound on the minimum norm."""
        return self.upper - self.lower


class MinimumNormSolver:
    """Solver for minimum-norm points over the same bags. Each search starts from the face of the previous one."""

    def __init__(self, coordinates: InstanceCoordinates, offsets: Index) -> None:
        self.coordinates = coordinates
        self._offsets = np.ascontiguousarray(offsets, dtype=np.intp)
        self._requested = np.zeros(int(offsets[-1]) + 1, dtype=np.intp)
        self.restart()

    def restart(self) -> None:
        """Discard the face and the bounds on <x, w>, so that the next search starts without a face."""
        dimension = self.coordinates.table.shape[1]
        self._face = Face.empty(self._offsets.size - 1, int(self._offsets[-1]), dimension)
        self._bounds = InstanceBounds.empty(self.coordinates.lengths, self._offsets, dimension)

    def _discard_unused_coordinates(self, witnesses: Index) -> None:
        """Rebuild the coordinates if there are many more than the witnesses and the instances on the face need.

        The weights on the face are stored as fractions of the bag weights, from which the next search rebuilds the
        face.
        """
        f, space = self._face, self.coordinates
        p = int(f.used[0])
        columns = f.instance[:p]
        used = np.concatenate([witnesses, columns, f.base[f.last_bag_weight > 0]])
        if not space.has_excess_coordinates(used.size):
            return
        self.restart()
        self._face.base[:] = f.base
        self._face.share[:] = f.share
        self._face.share[columns] = f.weight[:p] / f.last_bag_weight[f.bag[:p]]
        space.reset()
        space.make_coordinates_exact(used)

    def solve(self, witnesses: Index, witness_weights: Vector, bag_weights: Vector) -> MinimumNormPoint:
        """Compute the minimum-norm point of  c - sum_r d_r conv(B_r),  starting from the face of the previous call.

        Parameters
        ----------
        witnesses : ndarray of int
            Indices of the instances in c = sum_k witness_weights[k] x_{witnesses[k]}.
        witness_weights : ndarray
            Weights of the witnesses.
        bag_weights : ndarray of shape (n_bags,)
            The weights d. Bags of weight 0 are ignored.

        Returns
        -------
        MinimumNormPoint
        """
        space = self.coordinates
        self._discard_unused_coordinates(witnesses)
        space.make_coordinates_exact(witnesses)
        scale = float(space.lengths.max(initial=0.0)) * (
            float(np.abs(witness_weights).sum()) + float(bag_weights.sum())
        )
        zero = max((POINT_ZERO_TOLERANCE * scale) ** 2, 1e-300)
        n_entered = 0
        while True:
            if space.table.shape[1] > self._face.w.size:
                self._face = self._face.with_dimension(space.table.shape[1])
                self._bounds = self._bounds.with_dimension(space.table.shape[1])
            c = witness_weights @ space.table[witnesses]
            f, n = self._face, space.rank
            result = search_minimum_norm_point(
                f,
                self._bounds,
                space.table,
                n,
                self._offsets,
                bag_weights,
                c,
                space.is_exact,
                self._requested,
                NORM_GAP_TOLERANCE,
                zero,
            )
            n_entered += result.n_entered
            if result.end != SEARCH_NEEDS_COORDINATES:
                break
            space.make_coordinates_exact(self._requested[: int(np.argmin(self._requested))])
        upper = float(np.sqrt(result.squared))
        if result.end == SEARCH_SOLVED and result.squared <= zero:
            return MinimumNormPoint(np.zeros(n), upper, 0.0, 0.0, np.zeros(0, dtype=np.intp), np.zeros(0), n_entered)
        lower = max(0.0, (result.inner_product - result.support_value) / upper)
        return MinimumNormPoint(
            f.w[:n].copy(), upper, lower, result.support_value / upper, *self._instance_weights(bag_weights), n_entered
        )

    def bag_maxima(self, bags: Index, w: Vector) -> tuple[Index, Vector]:
        """Return (instances, values): the first instance with the largest <x, w> in each bag, and this value."""
        place, top = bag_maxima(self._bounds, self.coordinates.table, w.size, self._offsets, bags, w)
        return place, top

    def _instance_weights(self, bag_weights: Vector) -> tuple[Index, Vector]:
        """Return (instances, weights): the instances with positive weight on the face, and their weights."""
        f = self._face
        p = int(f.used[0])
        bags = np.flatnonzero(bag_weights > 0)
        base_weights = bag_weights - np.bincount(f.bag[:p], f.weight[:p], minlength=bag_weights.size)
        instances = np.concatenate([f.instance[:p], f.base[bags]])
        weights = np.concatenate([f.weight[:p], base_weights[bags]])
        is_positive = weights > 0
        return instances[is_positive], weights[is_positive]
