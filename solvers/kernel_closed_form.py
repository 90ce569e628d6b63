"""Equality-constrained quadratics over a kernel in closed form:  min 1/2 z'(R'KR + D)z + q'z  s.t.  F z + g = 0.

K is a Gram matrix of N points, D diagonal and F has few rows; R (N x S) is sparse, and to every point belongs a column
of R with that one entry. The other columns add up points, such as those of a bag. `kernel_systems` has the two ways to
factorise it; where single precision was enough to start from, the solution is refined in double precision.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.compilation.quadratic import Quadratic, Vector
from milopt.outcome.inertia import Inertia
from milopt.outcome.status import Termination
from milopt.solvers.closed_form import REFINEMENTS, Stationary
from milopt.solvers.kernel_systems import KernelPattern, exact_system, first_system

FEW_ROWS = 8
MOST_REFINEMENTS = 8
"""Of a solution by factors of single precision, each of which adds about as many digits as the first gave."""


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
    if point.size < K.shape[0] or not d.all():
        return None
    pointwise = alone[first]
    return KernelPattern(K, R, d, F, pointwise, np.setdiff1d(np.arange(P.size), pointwise))


class KernelClosedForm:
    """The factorised system of a pattern; the factors serve any number of q and g."""

    def __init__(self, pattern: KernelPattern) -> None:
        self.pattern = pattern
        self._system = first_system(pattern)
        self._judge()

    def _judge(self) -> None:
        rows, signs = self.pattern.F.shape[0], self._system.signs
        # Of a system bordered by independent rows, each row takes one direction of each sign.
        self.inertia = Inertia(signs.positive - rows, signs.zero, signs.negative - rows)

    def solve(self, q: Vector, g: Vector) -> Stationary:
        """The stationary point for this q and g."""
        found = self._refined(q, g)
        if found is None:
            # Single precision was not enough to start from.
            self._system = exact_system(self.pattern)
            self._judge()
            found = self._refined(q, g)
            assert found is not None
        z, multipliers, leftover = found
        if leftover > 1e-9 * float(np.abs(q).max(initial=0.0)):
            return Stationary(Termination.UNBOUNDED, f"its system is singular; {self.inertia.spectrum}")
        termination = Termination.STATIONARY if self.inertia.negative else Termination.OPTIMAL
        return Stationary(termination, str(self.inertia), z, multipliers)

    def _refined(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float] | None:
        """(z, multipliers, what no z can produce): corrected by the same factors from the residual that is left."""
        some, single = self.pattern, self._system.is_single
        z, multipliers, leftover = np.zeros(q.size), np.zeros(some.F.shape[0]), 0.0
        gradient, offset = q, g
        size, last = float(np.abs(q).max(initial=0.0) + np.abs(g).max(initial=0.0)), np.inf
        for _ in range(MOST_REFINEMENTS if single else 1 + REFINEMENTS):
            step, change, unsolved = self._system.solve(gradient, offset)
            leftover = max(leftover, unsolved)
            z, multipliers = z + step, multipliers + change
            gradient, offset = some.times(z) + q - some.F.T @ multipliers, some.F @ z + g
            left = float(np.abs(gradient).max(initial=0.0) + np.abs(offset).max(initial=0.0))
            if left <= 1e-13 * size:
                break
            if single and left > 0.1 * last:
                return (z, multipliers, leftover) if left <= 1e-10 * size else None
            last = left
        return z, multipliers, leftover
