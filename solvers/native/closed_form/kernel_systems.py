"""Two ways to solve the system of a quadratic over a kernel (`kernel_closed_form`), and the signs that they prove.

With T the pointwise columns of R, t their entries and r the others:

`IndefiniteSystem`, whatever the signs. In  u = R z,  z_T = (u - R_r z_r) / t  the quadratic is
1/2 u'Ku + 1/2 (u - R_r z_r)' delta (u - R_r z_r) + 1/2 z_r'D_r z_r,  delta = d_T / t^2, in which each z_j of r has the
pivot  pi_j = d_j + R_j' delta R_j  of its own: eliminated, it leaves a rank-one block on its bag (Sherman, Morrison),
and one LDL' of size N + rows of F ends it. A pivot that is nearly 0 is kept as an unknown instead.

`DominantSystem`, where B = -(t K t + D_T) is diagonally dominant, hence positive definite, and D_r > 0: then the whole
has N negative and as many positive eigenvalues as others, by proof and not by rounding. With  Gamma = R D^-1 R',
Q z = h  is  (I + Gamma K) u = R D^-1 h,  z = D^-1 (h - R'Ku), which conjugate gradients in the inner product a'Kb solve
in a few products with K, preconditioned by the same without the pointwise part: as many unknowns as others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.inertia import Inertia
from milopt.declaration.kernels.gram import pieces
from milopt.solvers.native.closed_form.symmetric import Symmetric

FEW = 0.25
"""Other columns in proportion to points, up to which their own system costs little beside products with K."""
NEARLY_ZERO = 1e-6
"""A pivot in proportion to the parts that it is the difference of."""
CLEARLY = 1e-8
"""An eigenvalue of the border, in proportion to its size, that conjugate gradients tell from 0."""
STEPS, ACCURACY = 60, 1e-14
"""Conjugate gradients: products with K at most, and the residual in proportion to the first."""


class SlowError(Exception):
    """Conjugate gradients did not come to their end."""


@dataclass(frozen=True)
class KernelPattern:
    """R'KR + D on F z + g = 0; `pointwise` are the places of T in the order of the points, `others` those of r."""

    K: Matrix
    R: sp.csr_array
    d: Vector
    F: sp.csr_array
    pointwise: Index
    others: Index

    @property
    def entries(self) -> Vector:
        """t."""
        return np.asarray(self.R[:, self.pointwise].sum(axis=0), dtype=np.float64).ravel()

    def times(self, z: Vector) -> Vector:
        """(R'KR + D) z."""
        return np.asarray(self.R.T @ (self.K @ (self.R @ z)) + self.d * z)


def system_of(pattern: KernelPattern) -> DominantSystem | IndefiniteSystem:
    """The faster one that the signs allow."""
    if pattern.others.size <= FEW * pattern.pointwise.size and is_dominant(pattern):
        try:
            return DominantSystem(pattern)
        except SlowError:
            pass
    return IndefiniteSystem(pattern)


def is_dominant(pattern: KernelPattern) -> bool:
    """Whether every diagonal entry of B exceeds the others of its row, beyond rounding, and D_r > 0."""
    d, t = pattern.d[pattern.pointwise], pattern.entries
    if (d >= 0).any() or (pattern.d[pattern.others] <= 0).any():
        return False
    size, own = np.abs(t), t**2 * pattern.K.diagonal()
    return all(
        bool(
            (-(own + d)[part] > (size[part] * (np.abs(pattern.K[part]) @ size) - np.abs(own[part])) * (1 + 1e-9)).all()
        )
        for part in pieces(pattern.K)
    )


class DominantSystem:
    """See the module."""

    def __init__(self, pattern: KernelPattern) -> None:
        r, rows = pattern.others, pattern.F.shape[0]
        self._pattern = pattern
        self._other = sp.csc_array(pattern.R)[:, r]
        self._gamma = sp.csr_array(pattern.R @ sp.diags_array(1.0 / pattern.d) @ pattern.R.T)
        self._sums = np.asarray((self._other.T @ pattern.K).T)
        self._factor, info = dpotrf(np.asarray(self._other.T @ self._sums) + np.diag(pattern.d[r]), lower=1, clean=0)
        if info:
            raise SlowError
        self._border = np.array([self._inverse(row) for row in pattern.F.toarray()]).reshape(rows, pattern.d.size)
        across = np.asarray(pattern.F @ self._border.T)
        self._corner = (across + across.T) / 2
        values = np.linalg.eigvalsh(self._corner)
        size = float(np.linalg.norm(pattern.F.toarray() / np.sqrt(np.abs(pattern.d))) ** 2)
        if rows and np.abs(values).min() <= CLEARLY * size:
            raise SlowError
        # The border's own eigenvalues are those of -F Q^-1 F'.
        positive = int((values < 0).sum())
        self.signs = Inertia(r.size + positive, 0, pattern.pointwise.size + rows - positive)

    def solve(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float]:
        """(z, multipliers of the rows, what is left in a null space)."""
        free = self._inverse(q)
        multipliers = np.linalg.solve(self._corner, self._pattern.F @ free - g) if g.size else np.zeros(0)
        return self._border.T @ multipliers - free, multipliers, 0.0

    def _inverse(self, h: Vector) -> Vector:
        """Q^-1 h."""
        some = self._pattern
        right = np.asarray(some.R @ (h / some.d))
        lifted = self._solved(right, some.K @ right)
        return np.asarray((h - some.R.T @ lifted) / some.d)

    def _inside(self, right: Vector) -> Vector:
        """The system of the others alone; LAPACK takes none of size 0."""
        return dpotrs(self._factor, right, lower=1)[0].ravel() if right.size else right

    def _solved(self, rest: Vector, rest_K: Vector) -> Vector:
        """K u for (I + Gamma K) u = rest; what ends in _K is a vector times K."""
        u_K = np.zeros(rest.size)
        p = p_K = u_K
        before, first = 1.0, 0.0
        for step in range(STEPS):
            inside = self._inside(self._other.T @ rest_K)
            z, z_K = rest - self._other @ inside, rest_K - self._sums @ inside
            now = float(rest @ z_K)
            first = max(first, now)
            if now <= ACCURACY**2 * first:
                return u_K
            p, p_K = (z, z_K) if step == 0 else (z + now / before * p, z_K + now / before * p_K)
            bent = np.asarray(self._gamma @ p_K)
            bent_K = self._pattern.K @ bent
            length = now / float(p_K @ (p + bent))
            u_K = u_K + length * p_K
            rest, rest_K = rest - length * (p + bent), rest_K - length * (p_K + bent_K)
            before = now
        raise SlowError


class IndefiniteSystem:
    """The system over u, the others that are kept and the multipliers -nu, after the elimination of the rest."""

    def __init__(self, pattern: KernelPattern) -> None:
        T, r, rows = pattern.pointwise, pattern.others, pattern.F.shape[0]
        t = pattern.entries
        self._T, self._r, self._t = T, r, t
        self._other = sp.csc_array(pattern.R)[:, r]
        delta, d = pattern.d[T] / t**2, pattern.d[r]
        weighed = sp.csc_array(sp.diags_array(delta) @ self._other)
        inner = sp.csr_array(self._other.T @ weighed)
        pivots = d + inner.diagonal()
        parts = np.abs(d) + np.asarray(self._other.multiply(self._other).T @ np.abs(delta)).ravel()
        disjoint = int(np.diff(sp.csr_array(self._other).indptr).max(initial=0)) <= 1
        out = (np.abs(pivots) > NEARLY_ZERO * parts) if disjoint else np.zeros(r.size, dtype=bool)
        self._out, self._kept = np.flatnonzero(out), np.flatnonzero(~out)
        self._pivots = pivots[self._out]
        self._F = np.asarray(pattern.F[:, T].toarray()) / t
        self._border = pattern.F[:, r].toarray() - np.asarray((self._other.T @ self._F.T).T)
        # What couples the eliminated unknowns to (u, kept, -nu).
        empty = sp.csc_array((self._kept.size, self._out.size))
        self._couple = sp.csc_array(
            sp.vstack([-weighed[:, self._out], empty, sp.csc_array(self._border[:, self._out])], format="csc")
        )
        size, N = T.size + self._kept.size + rows, T.size
        matrix = np.zeros((size, size), order="F")
        matrix[:N, :N] = pattern.K.T
        matrix[np.arange(N), np.arange(N)] += delta
        kept = slice(N, N + self._kept.size)
        matrix[:N, kept] = -weighed[:, self._kept].toarray()
        matrix[kept, kept] = inner[self._kept][:, self._kept].toarray() + np.diag(d[self._kept])
        matrix[:N, kept.stop :] = self._F.T
        matrix[kept, kept.stop :] = self._border[:, self._kept].T
        matrix[N:, :N] = matrix[:N, N:].T
        matrix[kept.stop :, kept] = matrix[kept, kept.stop :].T
        less = sp.coo_array(self._couple @ sp.diags_array(1.0 / self._pivots) @ self._couple.T)
        matrix[less.row, less.col] -= less.data
        self._factors = Symmetric(matrix, definite=False, smallest=False, disposable=True)
        found, gone = self._factors.inertia, int((self._pivots > 0).sum())
        self.signs = Inertia(found.positive + gone, found.zero, found.negative + self._pivots.size - gone)

    def solve(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float]:
        """(z, multipliers of the rows, what is left in a null space)."""
        N, k = self._T.size, self._kept.size
        q_u = q[self._T] / self._t
        q_r = q[self._r] - self._other.T @ q_u
        right = np.concatenate([-q_u, -q_r[self._kept], -g]) + self._couple @ (q_r[self._out] / self._pivots)
        found = self._factors.solve(right)
        others = np.empty(self._r.size)
        others[self._kept] = found[N : N + k]
        others[self._out] = (-q_r[self._out] - self._couple.T @ found) / self._pivots
        z = np.empty(q.size)
        z[self._r] = others
        z[self._T] = (found[:N] - self._other @ others) / self._t
        return z, -found[N + k :], self._factors.leftover(right)
