"""Equality-constrained quadratics in closed form:  min 1/2 x'Px + q'x  s.t.  F x + g = 0,  P of any inertia.

The null-space method. Let  F'CE = QR  be a QR factorisation by Householder reflections, where the diagonal C scales the
rows of F to unit length and E is the permutation of column pivoting (redundant rows last). The last columns Z of Q span
the null space of F, and

    x = x_0 + Z y,   F x_0 + g = 0,   H y = -Z'(P x_0 + q),   H = Z'PZ (the reduced Hessian),   F'z = P x + q.

The inertia of H classifies x: a minimum if H has no negative eigenvalue, otherwise a saddle point or a maximum. If the
rows fix a part of the objective, H is a difference of larger numbers, so its zero eigenvalues are decided relative to
P. If the rows of P have very different sizes, the method is applied to the columns u of  x = D u,  where the diagonal D
equilibrates P. The factorisation costs O(n^3) and is reused for any number of q and g, each at O(n^2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dormqr

from milopt.arrays import Matrix, Vector
from milopt.compilation.equilibration import equilibration_scale
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.status import Termination
from milopt.solvers.native.closed_form.symmetric import SymmetricFactors, smallest_eigenvalue

MAX_REFINEMENTS = 2
"""Number of steps of iterative refinement."""


@dataclass(frozen=True)
class StationaryPoint:
    """Stationary point x and multipliers z of the rows (0 for redundant rows), or the reason why there is none.

    The termination is OPTIMAL at a minimum, and STATIONARY at a saddle point or a maximum.
    """

    termination: Termination
    reason: str
    x: Vector | None = None
    z: Vector | None = None


class ClosedForm:
    """Factorised KKT system of P and F, to solve for any q and g. `inertia` is that of the reduced Hessian H."""

    def __init__(self, P: Quadratic, F: sp.csr_array) -> None:
        self.P, self.F = P, F
        dense = P.dense
        scale = equilibration_scale(dense) if dense.size else None
        self.scales = np.ones(P.size) if scale is None else scale
        self._rows = NullSpace(F, self.scales)
        if scale is not None:
            dense = scale[:, None] * dense * scale
        largest = float(np.abs(dense).max(initial=0.0))
        self.hessian = SymmetricFactors(
            self._rows.reduced_hessian(dense), with_smallest=scale is None, size_of_data=largest
        )
        self.inertia = self.hessian.inertia
        if scale is not None and self.inertia.negative:
            smallest_value = smallest_eigenvalue(NullSpace(F, np.ones(P.size)).reduced_hessian(P.dense))
            self.inertia = replace(self.inertia, smallest=smallest_value)

    def solve(self, q: Vector, g: Vector) -> StationaryPoint:
        """Return the stationary point for this q and g, or the reason why there is none.

        There is none if the rows contradict each other, or if the objective has a nonzero slope in the null space of H.
        """
        rows, scales = self._rows, self.scales
        offset = g / rows.norms
        x = scales * rows.particular_solution(offset)
        violation = np.abs(self.F @ x / rows.norms + offset)
        allowed = 1e-9 * float(np.abs(offset).max(initial=0.0))
        if violation.max(initial=0.0) > allowed:
            row = int(violation.argmax())
            return StationaryPoint(Termination.INFEASIBLE, f"row {row} contradicts the others by {violation[row]:.2e}")
        for _ in range(1 + MAX_REFINEMENTS):
            # The first pass computes x; the other passes are iterative refinement with the same factors.
            x = x + scales * rows.particular_solution(np.asarray(self.F @ x) / rows.norms + offset)
            gradient = scales * (self.P.times(x) + q)
            reduced = rows.multiply_by_q(gradient, transpose=True)[rows.rank :]
            linear = scales * q
            size = float(np.abs(linear).max(initial=0.0)) + float(np.abs(gradient - linear).max(initial=0.0))
            if self.hessian.null_space_component(reduced) > 1e-9 * size:
                reason = f"the objective is unbounded below on the feasible subspace; {self.inertia.eigenvalue_summary}"
                return StationaryPoint(Termination.UNBOUNDED, reason)
            step = np.concatenate([np.zeros(rows.rank), -self.hessian.solve(reduced)])
            x = x + scales * rows.multiply_by_q(step)
        z = rows.multipliers(scales * (self.P.times(x) + q))
        termination = Termination.STATIONARY if self.inertia.negative else Termination.OPTIMAL
        return StationaryPoint(termination, str(self.inertia), x, z)


class NullSpace:
    """QR factorisation of the rows of F D, each divided by its norm, and the basis Z of their null space.

    F is the constraint matrix, and D the diagonal matrix of `scales`. `norms` are the norms of the rows of F D, or 1
    for zero rows.
    """

    def __init__(self, F: sp.csr_array, scales: Vector) -> None:
        self.shape = F.shape
        rows = F.toarray() * scales
        norms = np.linalg.norm(rows, axis=1)
        # With rows of unit length, one threshold detects all redundant rows.
        self.norms = np.where(norms > 0.0, norms, 1.0)
        self.rank = 0
        if F.shape[0]:
            (self.reflectors, self.tau), triangle, order = qr((rows / self.norms[:, None]).T, mode="raw", pivoting=True)
            pivots = np.abs(np.diagonal(triangle))
            self.rank = int(np.sum(pivots > 1e-12 * max(F.shape) * pivots.max(initial=0.0)))
            self.triangle = triangle[: self.rank, : self.rank]
            self.independent_rows = order[: self.rank]

    def particular_solution(self, offset: Vector) -> Vector:
        """Return the shortest u with  (F D u)_i / norms_i = -offset_i  for the independent rows i."""
        n = self.shape[1]
        if self.rank == 0:
            return np.zeros(n)
        coordinates = solve_triangular(self.triangle, -offset[self.independent_rows], trans="T")
        return self.multiply_by_q(np.concatenate([coordinates, np.zeros(n - self.rank)]))

    def multipliers(self, gradient: Vector) -> Vector:
        """Return z, one entry per row of F, such that (F D)'z is the orthogonal projection of `gradient`.

        The projection is onto the span of the rows of F D. Redundant rows get z_i = 0.
        """
        z = np.zeros(self.shape[0])
        if self.rank:
            range_part = self.multiply_by_q(gradient, transpose=True)[: self.rank]
            z[self.independent_rows] = solve_triangular(self.triangle, range_part) / self.norms[self.independent_rows]
        return z

    def multiply_by_q(self, columns: Matrix | Vector, transpose: bool = False) -> Matrix:
        """Return Q times the given columns, or Q' times them if `transpose`, by Householder reflections."""
        if self.rank == 0:
            return columns
        matrix = columns.reshape(columns.shape[0], -1)
        count = self.tau.size
        product = dormqr(
            "L",
            "T" if transpose else "N",
            self.reflectors[:, :count],
            self.tau,
            matrix,
            64 * max(count, matrix.shape[1]),
        )
        return np.asarray(product[0]).reshape(columns.shape)

    def reduced_hessian(self, hessian: Matrix) -> Matrix:
        """Return Z'MZ for the symmetric matrix M = `hessian`, where Z is the basis of the null space of F D."""
        half = self.multiply_by_q(hessian, transpose=True)[self.rank :]
        reduced_matrix = self.multiply_by_q(np.ascontiguousarray(half.T), transpose=True)[self.rank :]
        return np.asarray(0.5 * (reduced_matrix + reduced_matrix.T))
