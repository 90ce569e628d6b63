"""Equality-constrained quadratics over a kernel in closed form:  min 1/2 z'(R'KR + D)z + q'z  s.t.  F z + g = 0.

K is a Gram matrix of N points, D diagonal and F has few rows; R (N x S) is sparse, and to every point belongs a column
of R with that one entry. The other columns add up points, such as those of a bag. `kernel_systems` has the two ways to
solve it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.inertia import Inertia
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.status import Termination
from milopt.solvers.native.closed_form.closed_form import REFINEMENTS, Stationary
from milopt.solvers.native.closed_form.kernel_systems import (
    DominantSystem,
    IndefiniteSystem,
    KernelPattern,
    SlowError,
    system_of,
)

FEW_ROWS = 8


def kernel_pattern(P: Quadratic, F: sp.csr_array) -> KernelPattern | None:
    """The pattern in a flat program's quadratic and rows; None where it is another."""
    dense = [piece for piece in P.pieces if piece.weight.ndim == 2]
    if len(dense) != 1 or F.shape[0] > FEW_ROWS:
        return None
    d = np.zeros(P.size)
    for piece in P.pieces:
        if piece.weight.ndim == 1:
            counts = np.diff(piece.rows.indptr)
            if counts.max(initial=0) > 1:
                return None
            np.add.at(d, piece.rows.indices, np.repeat(piece.weight, counts) * piece.rows.data**2)
    R, K = dense[0].rows, dense[0].weight
    columns = sp.csc_array(R)
    alone = np.flatnonzero((np.diff(columns.indptr) == 1) & (d != 0.0))
    point, first = np.unique(columns.indices[columns.indptr[alone]], return_index=True)
    if not K.size or point.size < K.shape[0] or not d.all():
        return None
    pointwise = alone[first]
    return KernelPattern(K, R, d, F, pointwise, np.setdiff1d(np.arange(P.size), pointwise))


class KernelClosedForm:
    """The system of a pattern, factorised or made ready; it serves any number of q and g."""

    def __init__(self, pattern: KernelPattern) -> None:
        self.pattern = pattern
        self._use(system_of(pattern))

    def _use(self, system: DominantSystem | IndefiniteSystem) -> None:
        self._system = system
        rows, signs = self.pattern.F.shape[0], system.signs
        # Of a system bordered by independent rows, each row takes one direction of each sign.
        self.inertia = Inertia(signs.positive - rows, signs.zero, signs.negative - rows)

    def solve(self, q: Vector, g: Vector) -> Stationary:
        """The stationary point for this q and g."""
        try:
            z, multipliers, leftover = self._refined(q, g)
        except SlowError:
            self._use(IndefiniteSystem(self.pattern))
            z, multipliers, leftover = self._refined(q, g)
        if leftover > 1e-9 * float(np.abs(q).max(initial=0.0)):
            return Stationary(Termination.UNBOUNDED, f"its system is singular; {self.inertia.spectrum}")
        termination = Termination.STATIONARY if self.inertia.negative else Termination.OPTIMAL
        return Stationary(termination, str(self.inertia), z, multipliers)

    def _refined(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float]:
        """(z, multipliers, what no z can produce), corrected by the same system from the residual that is left."""
        some = self.pattern
        z, multipliers, leftover = np.zeros(q.size), np.zeros(some.F.shape[0]), 0.0
        gradient, offset = q, g
        for _ in range(1 + REFINEMENTS):
            step, change, unsolved = self._system.solve(gradient, offset)
            z, multipliers, leftover = z + step, multipliers + change, max(leftover, unsolved)
            gradient, offset = some.times(z) + q - some.F.T @ multipliers, some.F @ z + g
            # The residual is a difference of terms this large.
            terms = float(np.abs(some.d * z).max(initial=0.0) + np.abs(q).max(initial=0.0))
            if max(np.abs(gradient).max(initial=0.0), np.abs(offset).max(initial=0.0)) <= 1e-13 * terms:
                break
        return z, multipliers, leftover
