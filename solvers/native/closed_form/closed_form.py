"""Equality-constrained quadratics in closed form:  min 1/2 x'Px + q'x  s.t.  F x + g = 0,  P of any inertia.

With F'DE = QR by Householder reflections, where the diagonal D gives the rows of F unit length and E is the order of
column pivoting (redundant rows last), the last columns Z of Q span the null space of F, and

    x = x_0 + Z y,   F x_0 + g = 0,   H y = -Z'(P x_0 + q),   H = Z'PZ (the reduced Hessian),   F'z = P x + q.

The inertia of H says what x is: the minimum when H has no negative eigenvalue, a saddle, or a maximum, otherwise. On
rows that fix a part of the objective, H is a difference of larger numbers, so what counts as 0 in H is measured against
P. If the rows of P are of very different sizes, the same is done in the columns u of  x = D u,  where D equilibrates P.
The factors serve any number of q and g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dormqr

from milopt.arrays import Matrix, Vector
from milopt.compilation.equilibration import equilibration
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.status import Termination
from milopt.solvers.native.closed_form.symmetric import Symmetric, smallest_eigenvalue

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
        dense = P.dense
        scale = equilibration(dense) if dense.size else None
        self.units = np.ones(P.size) if scale is None else scale
        self._rows = NullSpace(F, self.units)
        if scale is not None:
            dense = scale[:, None] * dense * scale
        largest = float(np.abs(dense).max(initial=0.0))
        self.hessian = Symmetric(self._rows.reduced(dense), smallest=scale is None, size_of_data=largest)
        self.inertia = self.hessian.inertia
        if scale is not None and self.inertia.negative:
            least = smallest_eigenvalue(NullSpace(F, np.ones(P.size)).reduced(P.dense))
            self.inertia = replace(self.inertia, smallest=least)

    def solve(self, q: Vector, g: Vector) -> Stationary:
        """The stationary point for this q and g."""
        rows, units = self._rows, self.units
        offset = g / rows.norms
        x = units * rows.particular(offset)
        violation = np.abs(self.F @ x / rows.norms + offset)
        allowed = 1e-9 * float(np.abs(offset).max(initial=0.0))
        if violation.max(initial=0.0) > allowed:
            row = int(violation.argmax())
            return Stationary(Termination.INFEASIBLE, f"row {row} contradicts the others by {violation[row]:.2e}")
        for _ in range(1 + REFINEMENTS):
            # The first round finds x, the others correct it by the same factors from the residual it left.
            x = x + units * rows.particular(np.asarray(self.F @ x) / rows.norms + offset)
            gradient = units * (self.P.times(x) + q)
            reduced = rows.turn(gradient, transpose=True)[rows.rank :]
            linear = units * q
            size = float(np.abs(linear).max(initial=0.0)) + float(np.abs(gradient - linear).max(initial=0.0))
            if self.hessian.leftover(reduced) > 1e-9 * size:
                reason = f"the objective falls without end on the rows; {self.inertia.spectrum}"
                return Stationary(Termination.UNBOUNDED, reason)
            step = np.concatenate([np.zeros(rows.rank), -self.hessian.solve(reduced)])
            x = x + units * rows.turn(step)
        z = rows.multipliers(units * (self.P.times(x) + q))
        termination = Termination.STATIONARY if self.inertia.negative else Termination.OPTIMAL
        return Stationary(termination, str(self.inertia), x, z)


class NullSpace:
    """The factors of the rows F D, scaled to unit length, and the null space that their last columns span."""

    def __init__(self, F: sp.csr_array, units: Vector) -> None:
        self.shape = F.shape
        rows = F.toarray() * units
        norms = np.linalg.norm(rows, axis=1)
        # Rows of unit length make one threshold for redundancy fit all of them.
        self.norms = np.where(norms > 0.0, norms, 1.0)
        self.rank = 0
        if F.shape[0]:
            (self.reflectors, self.tau), triangle, order = qr((rows / self.norms[:, None]).T, mode="raw", pivoting=True)
            pivots = np.abs(np.diagonal(triangle))
            self.rank = int(np.sum(pivots > 1e-12 * max(F.shape) * pivots.max(initial=0.0)))
            self.triangle = triangle[: self.rank, : self.rank]
            self.kept = order[: self.rank]

    def particular(self, offset: Vector) -> Vector:
        """Return the shortest u with F D u = -offset on the independent rows."""
        n = self.shape[1]
        if self.rank == 0:
            return np.zeros(n)
        inside = solve_triangular(self.triangle, -offset[self.kept], trans="T")
        return self.turn(np.concatenate([inside, np.zeros(n - self.rank)]))

    def multipliers(self, gradient: Vector) -> Vector:
        """Return the multipliers of the rows that make up a gradient; 0 on redundant rows."""
        z = np.zeros(self.shape[0])
        if self.rank:
            along = self.turn(gradient, transpose=True)[: self.rank]
            z[self.kept] = solve_triangular(self.triangle, along) / self.norms[self.kept]
        return z

    def turn(self, columns: Matrix | Vector, transpose: bool = False) -> Matrix:
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

    def reduced(self, hessian: Matrix) -> Matrix:
        """Z'MZ of a symmetric matrix M over all columns."""
        half = self.turn(hessian, transpose=True)[self.rank :]
        whole = self.turn(np.ascontiguousarray(half.T), transpose=True)[self.rank :]
        return np.asarray(0.5 * (whole + whole.T))
