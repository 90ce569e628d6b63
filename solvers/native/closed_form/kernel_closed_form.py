"""Equality-constrained quadratics over a kernel in closed form:  min 1/2 z'(R'KR + D)z + q'z  s.t.  F z + g = 0.

K is the Gram matrix of N points, D is diagonal without zeros, and F has at most `MAX_CONSTRAINT_ROWS` rows. R (N x S)
is sparse, and for every point it has a column whose only entry is at that point. The other columns sum several points,
for instance those of a bag. `kernel_systems` has two methods for the linear system.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.inertia import Inertia
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.status import Termination
from milopt.solvers.native.closed_form.closed_form import MAX_REFINEMENTS, StationaryPoint
from milopt.solvers.native.closed_form.kernel_systems import (
    DiagonallyDominantSystem,
    IndefiniteSystem,
    KernelPattern,
    UnreliableSystemError,
    choose_system,
)

MAX_CONSTRAINT_ROWS = 8
"""Maximum number of rows of F."""


def recognise_kernel_pattern(P: Quadratic, F: sp.csr_array) -> KernelPattern | None:
    """Return P and F as a `KernelPattern` (see the module docstring), or None if they do not have this form."""
    dense = [piece for piece in P.pieces if piece.weight.ndim == 2]
    if len(dense) != 1 or F.shape[0] > MAX_CONSTRAINT_ROWS:
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
    single = np.flatnonzero((np.diff(columns.indptr) == 1) & (d != 0.0))
    point, first = np.unique(columns.indices[columns.indptr[single]], return_index=True)
    if not K.size or point.size < K.shape[0] or not d.all():
        return None
    pointwise = single[first]
    return KernelPattern(K, R, d, F, pointwise, np.setdiff1d(np.arange(P.size), pointwise))


class KernelClosedForm:
    """Solver for one pattern (K, R, D and F of the module docstring) and any number of q and g.

    The linear system is set up once: factorised, or preconditioned for conjugate gradients. If conjugate gradients fail
    in a solve, the factorised system replaces the preconditioned one.
    """

    def __init__(self, pattern: KernelPattern) -> None:
        self.pattern = pattern
        self._set_system(choose_system(pattern))

    def _set_system(self, system: DiagonallyDominantSystem | IndefiniteSystem) -> None:
        """Use this system, and compute the inertia of R'KR + D on the null space of F (rows must be independent)."""
        self._system = system
        rows, bordered = self.pattern.F.shape[0], system.bordered_inertia
        # Each independent row of the border adds one positive and one negative eigenvalue.
        self.inertia = Inertia(bordered.positive - rows, bordered.zero, bordered.negative - rows)

    def solve(self, q: Vector, g: Vector) -> StationaryPoint:
        """Return the stationary point for this q and g, or UNBOUNDED without a point if the system has no solution."""
        try:
            z, multipliers, null_space_component = self._solve_refined(q, g)
        except UnreliableSystemError:
            self._set_system(IndefiniteSystem(self.pattern))
            z, multipliers, null_space_component = self._solve_refined(q, g)
        if null_space_component > 1e-9 * float(np.abs(q).max(initial=0.0)):
            return StationaryPoint(Termination.UNBOUNDED, f"its system is singular; {self.inertia.eigenvalue_summary}")
        termination = Termination.STATIONARY if self.inertia.negative else Termination.OPTIMAL
        return StationaryPoint(termination, str(self.inertia), z, multipliers)

    def _solve_refined(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float]:
        """Solve the linear system for q and g with iterative refinement.

        Returns
        -------
        z : ndarray
            Solution.
        multipliers : ndarray
            Multipliers of the rows.
        null_space_component : float
            Largest component of the right-hand side in the null space, which no z can produce.
        """
        pattern = self.pattern
        z, multipliers, null_space_component = np.zeros(q.size), np.zeros(pattern.F.shape[0]), 0.0
        gradient, offset = q, g
        for _ in range(1 + MAX_REFINEMENTS):
            step, change, component = self._system.solve(gradient, offset)
            z, multipliers, null_space_component = z + step, multipliers + change, max(null_space_component, component)
            gradient, offset = pattern.times(z) + q - pattern.F.T @ multipliers, pattern.F @ z + g
            # Size of the terms that cancel in the residual.
            terms = float(np.abs(pattern.d * z).max(initial=0.0) + np.abs(q).max(initial=0.0))
            if max(np.abs(gradient).max(initial=0.0), np.abs(offset).max(initial=0.0)) <= 1e-13 * terms:
                break
        return z, multipliers, null_space_component
