"""Two ways to factorise the system of a quadratic over a kernel (`kernel_closed_form`), and the signs that they meet.

With T the pointwise columns of R, t their entries and r the others,

    u = R z,    z_T = (u - R_r z_r) / t,    delta = d_T / t^2

turn the quadratic into  1/2 u'Ku + 1/2 (u - R_r z_r)' delta (u - R_r z_r) + 1/2 z_r'D_r z_r, in which each z_j of r has
the pivot  pi_j = d_j + R_j' delta R_j  of its own: eliminated, it leaves a rank-one block on its bag (Sherman and
Morrison), and one LDL' of size N + rows of F ends it. A pivot that is nearly 0 is kept as an unknown instead.

Where B = -(t K t + D_T) is positive definite and the others are few, its Cholesky factor and one small system over the
others cost less: in single precision where that leaves no doubt about the signs. The inertia of the whole follows from
the signs met on the way (Haynsworth).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dtrtrs, spotrf, strtrs

from milopt.compilation.evaluation_form import Index
from milopt.compilation.quadratic import Matrix, Vector
from milopt.outcome.inertia import Inertia
from milopt.solvers.symmetric import Symmetric

FEW = 0.25
"""Other columns in proportion to points, up to which the Cholesky factor of the pointwise part pays."""
NEARLY_ZERO = 1e-6
"""A pivot in proportion to the parts that it is the difference of."""
CLEARLY = 1e-3
"""An eigenvalue of the border, in proportion to its size, whose sign single precision does not change."""


@dataclass(frozen=True)
class KernelPattern:
    """R'KR + D on F z + g = 0; `pointwise` are the places of T in the order of the points, `others` those of r."""

    K: Matrix
    R: sp.csr_array
    d: Vector
    F: sp.csr_array
    pointwise: Index
    others: Index

    def times(self, z: Vector) -> Vector:
        """(R'KR + D) z."""
        return np.asarray(self.R.T @ (self.K @ (self.R @ z)) + self.d * z)


def first_system(pattern: KernelPattern) -> DefiniteSystem | IndefiniteSystem:
    """Single precision where it can tell the signs and the others are few; it takes half the time."""
    few = pattern.others.size <= FEW * pattern.pointwise.size
    if few and (pattern.d[pattern.others] > 0).all() and (pattern.d[pattern.pointwise] < 0).all():
        found = DefiniteSystem.of(pattern, np.float32)
        if found is not None and found.is_clear:
            return found
    return exact_system(pattern)


def exact_system(pattern: KernelPattern) -> DefiniteSystem | IndefiniteSystem:
    """In double precision."""
    few = pattern.others.size <= FEW * pattern.pointwise.size
    if few and (pattern.d[pattern.pointwise] < 0).all():
        found = DefiniteSystem.of(pattern, np.float64)
        if found is not None:
            return found
    return IndefiniteSystem(pattern)


class DefiniteSystem:
    """B = -(tKt + D_T) = LL', and the system over the other columns and the multipliers -nu of the rows.

    With D_r > 0 too, the block of the others is  D_r + R_r'(K + K t B^-1 t K) R_r > 0, whatever rounding did to it: the
    signs then depend on the border alone, of as many eigenvalues as there are rows. `is_clear` where single precision,
    with a margin for what it rounds, leaves no doubt about B and about them.
    """

    def __init__(self, pattern: KernelPattern, factor: Matrix, t: Vector) -> None:
        T, r = pattern.pointwise, pattern.others
        self._T, self._r, self._factor, self._rows = T, r, factor, pattern.F.shape[0]
        self.is_single = factor.dtype == np.float32
        other = sp.csc_array(pattern.R)[:, r]
        sums = np.asarray((other.T @ pattern.K).T)
        border = pattern.F[:, r].toarray()
        small = np.block(
            [
                [np.asarray(other.T @ sums) + np.diag(pattern.d[r]), border.T],
                [border, np.zeros((self._rows, self._rows))],
            ]
        )
        sides = np.hstack([t[:, None] * sums, pattern.F[:, T].toarray().T])
        self._half = self._down(np.asfortranarray(sides, dtype=factor.dtype))
        inner = self._half.T @ self._half
        self._small = Symmetric(small + inner, definite=False, smallest=False)
        found = self._small.inertia
        self.signs = Inertia(found.positive, found.zero, found.negative + T.size)
        self.is_clear = self._is_clear(small + inner, float(np.abs(inner[r.size :, r.size :]).max(initial=0.0)))

    def _is_clear(self, system: Matrix, size: float) -> bool:
        count = self._r.size
        inside = Symmetric(system[:count, :count])
        if not inside.definite:
            return False
        solved = [inside.solve(column) for column in system[:count, count:].T]
        across = np.array(solved).reshape(self._rows, count) @ system[:count, count:]
        left = np.linalg.eigvalsh(system[count:, count:] - across)
        negative = int((left < 0).sum())
        clear = bool((np.abs(left) > CLEARLY * size).all())
        return clear and self.signs == Inertia(count + self._rows - negative, 0, negative + self._T.size)

    @classmethod
    def of(cls, pattern: KernelPattern, precision: type[np.floating[Any]]) -> DefiniteSystem | None:
        """The factors; None where B is not positive definite, in single precision with a margin."""
        T = pattern.pointwise
        t: Vector = np.asarray(pattern.R[:, T].sum(axis=0), dtype=np.float64).ravel()
        B = pattern.K.astype(precision)
        if (t == 1.0).all():
            np.negative(B, out=B)
        else:
            B *= np.outer(-t, t)
        single = precision is np.float32
        own = -(t**2 * pattern.K.diagonal() + pattern.d[T])
        B[np.diag_indices_from(B)] = own * (1.0 - (2 * T.size * 2.0**-24 if single else 0.0))
        # Of a symmetric matrix by rows the upper triangle is the lower one by columns, which LAPACK overwrites.
        factor, info = (spotrf if single else dpotrf)(B.T, lower=1, clean=0, overwrite_a=1)
        return cls(pattern, factor, t) if info == 0 else None

    def _down(self, right: Matrix, transposed: int = 0) -> Matrix:
        """L^-1 right, or L'^-1 right."""
        solve = strtrs if self.is_single else dtrtrs
        return np.asarray(solve(self._factor, right, lower=1, trans=transposed, overwrite_b=1)[0])

    def solve(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float]:
        """(z, multipliers of the rows, what is left in a null space)."""
        scale = max(float(np.abs(q).max(initial=0.0)), float(np.abs(g).max(initial=0.0)), 1e-300)
        inside = self._down((q[self._T] / scale).astype(self._factor.dtype))
        right = np.concatenate([-q[self._r], -g]) - scale * (self._half.T @ inside)
        found = self._small.solve(right)
        z = np.empty(q.size)
        z[self._r] = found[: self._r.size]
        lifted = self._half @ (found / scale).astype(self._factor.dtype) + inside
        z[self._T] = scale * self._down(lifted, 1)
        return z, -found[self._r.size :], self._small.leftover(right)


class IndefiniteSystem:
    """The system over u, the others that are kept and the multipliers -nu, after the elimination of the rest."""

    is_single = False

    def __init__(self, pattern: KernelPattern) -> None:
        T, r, rows = pattern.pointwise, pattern.others, pattern.F.shape[0]
        t: Vector = np.asarray(pattern.R[:, T].sum(axis=0), dtype=np.float64).ravel()
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
        matrix[:N, :N] = pattern.K
        matrix[np.arange(N), np.arange(N)] += delta
        kept = slice(N, N + self._kept.size)
        matrix[:N, kept] = -weighed[:, self._kept].toarray()
        matrix[kept, kept] = inner[self._kept][:, self._kept].toarray() + np.diag(d[self._kept])
        matrix[:N, kept.stop :] = self._F.T
        matrix[kept, kept.stop :] = self._border[:, self._kept].T
        matrix[N:, :N] = matrix[:N, N:].T
        matrix[kept.stop :, kept] = matrix[kept, kept.stop :].T
        less = sp.coo_array(self._couple @ sp.diags_array(1.0 / self._pivots) @ self._couple.T)
        np.subtract.at(matrix, (less.row, less.col), less.data)
        self._factors = Symmetric(matrix, definite=False, smallest=False)
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
