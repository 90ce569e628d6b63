"""Two methods for the linear system of a quadratic over a kernel (`kernel_closed_form`), both with its inertia.

The quadratic is  Q = R'KR + D  with D = diag(d), on rows F. Let T be the pointwise columns of R (for each of the N
points, one column whose only entry is at that point), t their entries, and r the other columns.

`IndefiniteSystem`, for D with entries of any sign. In the variables  u = R z,  z_T = (u - R_r z_r) / t,  the quadratic
is 1/2 u'Ku + 1/2 (u - R_r z_r)' delta (u - R_r z_r) + 1/2 z_r'D_r z_r  with  delta = d_T / t^2. Each z_j of r has its
own pivot  pi_j = d_j + R_j' delta R_j.  Its elimination leaves a rank-one block on its bag (Sherman-Morrison), and one
LDL' factorisation of size N + rows of F remains. Unknowns whose pivot is nearly 0 are not eliminated.

`DiagonallyDominantSystem`, if B = -(t K t + D_T) is diagonally dominant, hence positive definite, and D_r > 0. Then the
system provably has N negative eigenvalues and as many positive ones as other columns, regardless of rounding. With
Gamma = R D^-1 R',  the system Q z = h becomes  (I + Gamma K) u = R D^-1 h,  z = D^-1 (h - R'Ku).  It is solved by
conjugate gradients in the inner product a'Kb, which need few products with K. The preconditioner is the same system
without the pointwise part, with as many unknowns as other columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.inertia import Inertia
from milopt.declaration.kernels.gram import cache_sized_slices
from milopt.solvers.native.closed_form.symmetric import SymmetricFactors

MAX_OTHER_COLUMN_FRACTION = 0.25
"""Largest ratio of other columns r to points at which the preconditioner is cheap relative to products with K."""
PIVOT_TOLERANCE = 1e-6
"""Pivots below this value, relative to the terms whose difference they are, are not eliminated."""
BORDER_TOLERANCE = 1e-8
"""Smallest absolute eigenvalue of F Q^-1 F', relative to sum_ij F_ij^2 / |d_j|, whose sign is taken as reliable.

Conjugate gradients compute F Q^-1 F' with errors.
"""
MAX_CG_STEPS, CG_TOLERANCE = 60, 1e-14
"""Conjugate gradients: maximum number of steps, and residual, relative to the largest so far, at which they stop."""


class UnreliableSystemError(Exception):
    """Raised if `DiagonallyDominantSystem` is not reliable, for instance if conjugate gradients do not converge."""


@dataclass(frozen=True)
class KernelPattern:
    """The quadratic R'KR + diag(d) on F z + g = 0 (symbols as in the module docstring).

    `pointwise` are the indices of the columns T of R, in the order of the points. `others` are the indices of the
    other columns r.
    """

    K: Matrix
    R: sp.csr_array
    d: Vector
    F: sp.csr_array
    pointwise: Index
    others: Index

    @property
    def pointwise_entries(self) -> Vector:
        """The entries t of the pointwise columns: column `pointwise[i]` of R has the single entry t_i, in row i."""
        return np.asarray(self.R[:, self.pointwise].sum(axis=0), dtype=np.float64).ravel()

    def times(self, z: Vector) -> Vector:
        """Return (R'KR + diag(d)) z."""
        return np.asarray(self.R.T @ (self.K @ (self.R @ z)) + self.d * z)


def choose_system(pattern: KernelPattern) -> DiagonallyDominantSystem | IndefiniteSystem:
    """Return a `DiagonallyDominantSystem` if it applies, is cheap and is reliable, else an `IndefiniteSystem`.

    It applies if `is_diagonally_dominant` returns True, and is cheap if there are few other columns r
    (MAX_OTHER_COLUMN_FRACTION).
    """
    if pattern.others.size <= MAX_OTHER_COLUMN_FRACTION * pattern.pointwise.size and is_diagonally_dominant(pattern):
        try:
            return DiagonallyDominantSystem(pattern)
        except UnreliableSystemError:
            pass
    return IndefiniteSystem(pattern)


def is_diagonally_dominant(pattern: KernelPattern) -> bool:
    """Return True if d_T < 0, d_r > 0 and  B = -(t K t + D_T)  is diagonally dominant, beyond rounding errors."""
    d, t = pattern.d[pattern.pointwise], pattern.pointwise_entries
    if (d >= 0).any() or (pattern.d[pattern.others] <= 0).any():
        return False
    size, own_entries = np.abs(t), t**2 * pattern.K.diagonal()
    return all(
        bool(
            (
                -(own_entries + d)[part]
                > (size[part] * (np.abs(pattern.K[part]) @ size) - np.abs(own_entries[part])) * (1 + 1e-9)
            ).all()
        )
        for part in cache_sized_slices(pattern.K)
    )


class DiagonallyDominantSystem:
    """Linear system that is solved by preconditioned conjugate gradients (see the module docstring).

    Raises `UnreliableSystemError` if the solution is not reliable. `bordered_inertia` is the inertia of Q bordered by
    F.
    """

    def __init__(self, pattern: KernelPattern) -> None:
        r, rows = pattern.others, pattern.F.shape[0]
        self._pattern = pattern
        self._other = sp.csc_array(pattern.R)[:, r]
        self._gamma = sp.csr_array(pattern.R @ sp.diags_array(1.0 / pattern.d) @ pattern.R.T)
        self._sums = np.asarray((self._other.T @ pattern.K).T)
        self._factor, info = dpotrf(np.asarray(self._other.T @ self._sums) + np.diag(pattern.d[r]), lower=1, clean=0)
        if info:
            raise UnreliableSystemError
        self._border = np.array([self._apply_inverse(row) for row in pattern.F.toarray()]).reshape(rows, pattern.d.size)
        schur = np.asarray(pattern.F @ self._border.T)
        self._schur = (schur + schur.T) / 2
        values = np.linalg.eigvalsh(self._schur)
        size = float(np.linalg.norm(pattern.F.toarray() / np.sqrt(np.abs(pattern.d))) ** 2)
        if rows and np.abs(values).min() <= BORDER_TOLERANCE * size:
            raise UnreliableSystemError
        # The border contributes the eigenvalues of -F Q^-1 F'.
        positive = int((values < 0).sum())
        self.bordered_inertia = Inertia(r.size + positive, 0, pattern.pointwise.size + rows - positive)

    def solve(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float]:
        """Return (z, multipliers of the rows, 0). The 0 is the null-space component, as the system is nonsingular."""
        unconstrained = self._apply_inverse(q)
        multipliers = np.linalg.solve(self._schur, self._pattern.F @ unconstrained - g) if g.size else np.zeros(0)
        return self._border.T @ multipliers - unconstrained, multipliers, 0.0

    def _apply_inverse(self, h: Vector) -> Vector:
        """Return Q^-1 h, where Q = R'KR + D."""
        pattern = self._pattern
        right = np.asarray(pattern.R @ (h / pattern.d))
        K_u = self._conjugate_gradients(right, pattern.K @ right)
        return np.asarray((h - pattern.R.T @ K_u) / pattern.d)

    def _solve_preconditioner_system(self, right: Vector) -> Vector:
        """Solve  (R_r'K R_r + D_r) x = right,  the preconditioner's system. LAPACK does not support size 0."""
        return dpotrs(self._factor, right, lower=1)[0].ravel() if right.size else right

    def _conjugate_gradients(self, residual: Vector, residual_K: Vector) -> Vector:
        """Return K u for  (I + Gamma K) u = residual,  given `residual_K` = K residual.

        Variables whose names end in _K are vectors multiplied by K. Raises `UnreliableSystemError` after MAX_CG_STEPS
        steps.
        """
        u_K = np.zeros(residual.size)
        p = p_K = u_K
        last_product, first = 1.0, 0.0
        for step in range(MAX_CG_STEPS):
            others_part = self._solve_preconditioner_system(self._other.T @ residual_K)
            z, z_K = residual - self._other @ others_part, residual_K - self._sums @ others_part
            product = float(residual @ z_K)
            first = max(first, product)
            if product <= CG_TOLERANCE**2 * first:
                return u_K
            p, p_K = (z, z_K) if step == 0 else (z + product / last_product * p, z_K + product / last_product * p_K)
            gamma_p = np.asarray(self._gamma @ p_K)
            gamma_p_K = self._pattern.K @ gamma_p
            length = product / float(p_K @ (p + gamma_p))
            u_K = u_K + length * p_K
            residual, residual_K = residual - length * (p + gamma_p), residual_K - length * (p_K + gamma_p_K)
            last_product = product
        raise UnreliableSystemError


class IndefiniteSystem:
    """Linear system with an LDL' factorisation (see the module docstring).

    Its unknowns are u = R z, the entries of z_r that are not eliminated, and the negative multipliers of the rows.
    `bordered_inertia` is the inertia of Q bordered by F.
    """

    def __init__(self, pattern: KernelPattern) -> None:
        T, r, rows = pattern.pointwise, pattern.others, pattern.F.shape[0]
        t = pattern.pointwise_entries
        self._T, self._r, self._t = T, r, t
        self._other = sp.csc_array(pattern.R)[:, r]
        delta, d = pattern.d[T] / t**2, pattern.d[r]
        weighted = sp.csc_array(sp.diags_array(delta) @ self._other)
        inner = sp.csr_array(self._other.T @ weighted)
        pivots = d + inner.diagonal()
        parts = np.abs(d) + np.asarray(self._other.multiply(self._other).T @ np.abs(delta)).ravel()
        disjoint = int(np.diff(sp.csr_array(self._other).indptr).max(initial=0)) <= 1
        is_eliminated = (np.abs(pivots) > PIVOT_TOLERANCE * parts) if disjoint else np.zeros(r.size, dtype=bool)
        self._eliminated, self._retained = np.flatnonzero(is_eliminated), np.flatnonzero(~is_eliminated)
        self._pivots = pivots[self._eliminated]
        self._F = np.asarray(pattern.F[:, T].toarray()) / t
        self._border = pattern.F[:, r].toarray() - np.asarray((self._other.T @ self._F.T).T)
        # Coupling of the eliminated unknowns to (u, retained, -multipliers).
        no_coupling = sp.csc_array((self._retained.size, self._eliminated.size))
        self._couple = sp.csc_array(
            sp.vstack(
                [-weighted[:, self._eliminated], no_coupling, sp.csc_array(self._border[:, self._eliminated])],
                format="csc",
            )
        )
        size, N = T.size + self._retained.size + rows, T.size
        matrix = np.zeros((size, size), order="F")
        matrix[:N, :N] = pattern.K.T
        matrix[np.arange(N), np.arange(N)] += delta
        retained = slice(N, N + self._retained.size)
        matrix[:N, retained] = -weighted[:, self._retained].toarray()
        matrix[retained, retained] = inner[self._retained][:, self._retained].toarray() + np.diag(d[self._retained])
        matrix[:N, retained.stop :] = self._F.T
        matrix[retained, retained.stop :] = self._border[:, self._retained].T
        matrix[N:, :N] = matrix[:N, N:].T
        matrix[retained.stop :, retained] = matrix[retained, retained.stop :].T
        correction = sp.coo_array(self._couple @ sp.diags_array(1.0 / self._pivots) @ self._couple.T)
        matrix[correction.row, correction.col] -= correction.data
        self._factors = SymmetricFactors(matrix, try_cholesky=False, with_smallest=False, overwrite=True)
        inertia, positive_pivots = self._factors.inertia, int((self._pivots > 0).sum())
        self.bordered_inertia = Inertia(
            inertia.positive + positive_pivots, inertia.zero, inertia.negative + self._pivots.size - positive_pivots
        )

    def solve(self, q: Vector, g: Vector) -> tuple[Vector, Vector, float]:
        """Return (z, multipliers of the rows, null-space component of the right-hand side).

        The null-space component is the largest component of the right-hand side that no z can produce. It is 0 if the
        system is nonsingular.
        """
        N, k = self._T.size, self._retained.size
        q_u = q[self._T] / self._t
        q_r = q[self._r] - self._other.T @ q_u
        right = np.concatenate([-q_u, -q_r[self._retained], -g]) + self._couple @ (q_r[self._eliminated] / self._pivots)
        solution = self._factors.solve(right)
        others = np.empty(self._r.size)
        others[self._retained] = solution[N : N + k]
        others[self._eliminated] = (-q_r[self._eliminated] - self._couple.T @ solution) / self._pivots
        z = np.empty(q.size)
        z[self._r] = others
        z[self._T] = (solution[:N] - self._other @ others) / self._t
        return z, -solution[N + k :], self._factors.null_space_component(right)
