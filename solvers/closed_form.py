"""Equality-constrained quadratics in closed form:  min 1/2 x'Px + q'x  s.t.  F x + g = 0,  P of any inertia.

With F'DE = QR by Householder reflections, where the diagonal D gives the rows of F unit length and E is the order of
column pivoting (redundant rows last), the last columns Z of Q span the null space of F, and

    x = x_0 + Z y,   F x_0 + g = 0,   H y = -Z'(P x_0 + q),   H = Z'PZ (the reduced Hessian),   F'z = P x + q.

The inertia of H says what x is: the minimum when H has no negative eigenvalue, a saddle, or a maximum, otherwise. The
factors serve any number of q and g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dormqr

from milopt.compilation.quadratic import Matrix, Quadratic, Vector
from milopt.outcome.inertia import Inertia
from milopt.outcome.status import Termination
from milopt.solvers.symmetric import Symmetric

REFINEMENTS = 2


@dataclass(frozen=True)
class Stationary:
    """The stationary point, or why there is none; z are the multipliers of the rows (0 on redundant ones)."""

    termination: Termination
    reason: str
    x: Vector | None = None
    z: Vector | None = None


class ClosedForm:
    """The factorised system of P and F."""

    def __init__(self, P: Quadratic, F: sp.csr_array) -> None:
        self.P, self.F = P, F
        norms = np.sqrt(np.asarray(F.multiply(F).sum(axis=1)).ravel())
        # Rows of unit length make one threshold for redundancy fit all of them.
        self.norms = np.where(norms > 0.0, norms, 1.0)
        rows = F.toarray() / self.norms[:, None]
        self.rank = 0
        if F.shape[0]:
            (self.reflectors, self.tau), triangle, self.order = qr(rows.T, mode="raw", pivoting=True)
            pivots = np.abs(np.diagonal(triangle))
            self.rank = int(np.sum(pivots > 1e-12 * max(F.shape) * pivots.max(initial=0.0)))
            self.triangle = triangle[: self.rank, : self.rank]
            self.kept = self.order[: self.rank]
        self.hessian = Symmetric(self._reduced())

    @property
    def inertia(self) -> Inertia:
        """The inertia of the reduced Hessian."""
        return self.hessian.inertia

    def solve(self, q: Vector, g: Vector) -> Stationary:
        """The stationary point for this q and g."""
        offset = g / self.norms
        x = self._particular(offset)
        violation = np.abs(self.F @ x / self.norms + offset)
        allowed = 1e-9 * float(np.abs(offset).max(initial=0.0))
        if violation.max(initial=0.0) > allowed:
            row = int(violation.argmax())
            return Stationary(Termination.INFEASIBLE, f"row {row} contradicts the others by {violation[row]:.2e}")
        for _ in range(1 + REFINEMENTS):
            # The first round finds x, the others correct it by the same factors from the residual it left.
            x = x + self._particular(np.asarray(self.F @ x) / self.norms + offset)
            gradient = self.P.times(x) + q
            reduced = self._turn(gradient, transpose=True)[self.rank :]
            size = float(np.abs(q).max(initial=0.0)) + float(np.abs(gradient - q).max(initial=0.0))
            if self.hessian.leftover(reduced) > 1e-9 * size:
                reason = f"the objective falls without end on the rows; {self.inertia.spectrum}"
                return Stationary(Termination.UNBOUNDED, reason)
            x = x + self._turn(np.concatenate([np.zeros(self.rank), -self.hessian.solve(reduced)]))
        z = np.zeros(g.size)
        if self.rank:
            along = self._turn(self.P.times(x) + q, transpose=True)[: self.rank]
            z[self.kept] = solve_triangular(self.triangle, along) / self.norms[self.kept]
        termination = Termination.STATIONARY if self.inertia.negative else Termination.OPTIMAL
        return Stationary(termination, str(self.inertia), x, z)

    def _particular(self, offset: Vector) -> Vector:
        """The shortest x with F x = -offset on the independent rows."""
        n = self.F.shape[1]
        if self.rank == 0:
            return np.zeros(n)
        inside = solve_triangular(self.triangle, -offset[self.kept], trans="T")
        return self._turn(np.concatenate([inside, np.zeros(n - self.rank)]))

    def _turn(self, columns: Matrix | Vector, transpose: bool = False) -> Matrix:
        """Q or Q' times columns, by the reflections."""
        if self.rank == 0:
            return columns
        matrix = columns.reshape(columns.shape[0], -1)
        count = self.tau.size
        turned = dormqr(
            "L",
            "T" if transpose else "N",
            self.reflectors[:, :count],
            self.tau,
            matrix,
            64 * max(count, matrix.shape[1]),
        )
        return np.asarray(turned[0]).reshape(columns.shape)

    def _reduced(self) -> Matrix:
        """H = Z'PZ."""
        half = self._turn(self.P.dense, transpose=True)[self.rank :]
        whole = self._turn(np.ascontiguousarray(half.T), transpose=True)[self.rank :]
        return np.asarray(0.5 * (whole + whole.T))
