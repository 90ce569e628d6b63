"""Linear systems over the free columns of a box QP:  M_FF x = b,  M = diag(d) + N,  for a sequence of column sets F.

N is S'WS + G of `split`. The first set (index 0) is factorised by Cholesky,  L L' = M_00. A later set that lacks a few
of those columns (R) and has a few additional columns (A) is solved with the same L. Multipliers mu enforce  x_R = 0,
and E_R are the unit vectors of R:

    [ LL'   N_0A  E_R ] [ x_0 ]   [ b_0 ]
    [ N_A0  M_AA   0  ] [ x_A ] = [ b_A ]        V = L^-1 [N_0A, E_R],  S = [[M_AA, 0], [0, 0]] - V'V
    [ E_R'   0     0  ] [ mu  ]   [  0  ]

This costs k triangular solves, k = |A| + |R|, instead of a factorisation. The residual of the result is checked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from milopt.arrays import Mask, Matrix, Vector
from milopt.solvers.native.box_qp.split import QuadraticSplit

MIN_UPDATE_COLUMNS = 256
"""Smallest number of factorised columns for which the update is used; below it, a factorisation is cheap."""
MIN_FACTORISED_PER_CHANGED_COLUMN = 10
"""The update is used if the number of factorised columns is at least this multiple of the number of changed columns.

A flop of a triangular solve takes about three times as long as a flop of a factorisation.
"""
UPDATE_RESIDUAL_TOLERANCE = 1e-11
"""Largest relative residual of an updated solution. Above it, the set is factorised."""


@dataclass
class CholeskyFactor:
    """Last Cholesky factor `lower` of (diag(d) + N)_FF, with its set F of free columns and its diagonal d.

    A system with the same free columns and the same diagonal array costs only two triangular solves.
    """

    free: Mask | None = None
    diagonal: Vector | None = None
    lower: Matrix | None = None
    count: int = 0
    """Number of factorisations so far."""

    def solve(self, parts: QuadraticSplit, diagonal: Vector, free: Mask, right: Vector) -> Vector | None:
        """Return x_F with  (diag(d) + N)_FF x_F = right,  or None if the matrix is numerically not positive definite.

        `free` is the mask of F, `diagonal` is d, and `parts` contains N. After None, `lower` is None too.
        """
        if self.lower is not None and self.free is not None and diagonal is self.diagonal:
            changed = int(np.count_nonzero(free != self.free))
            if changed == 0:
                return np.asarray(dpotrs(self.lower, right, lower=1)[0])
            if len(self.lower) >= max(MIN_UPDATE_COLUMNS, MIN_FACTORISED_PER_CHANGED_COLUMN * changed):
                solution = self._solve_by_update(parts, diagonal, self.free, self.lower, free, right)
                if solution is not None:
                    return solution
        index = np.flatnonzero(free)
        block = parts.principal_block(index)
        block.flat[:: index.size + 1] += diagonal[index]
        # The block is symmetric: its transpose is the same matrix in Fortran order, which LAPACK factorises in place.
        self.lower, info = dpotrf(block.T, lower=1, clean=0, overwrite_a=1)
        self.count += 1
        if info != 0:
            self.lower = None
            return None
        self.free, self.diagonal = free, diagonal
        return np.asarray(dpotrs(self.lower, right, lower=1)[0])

    @staticmethod
    def _solve_by_update(
        parts: QuadraticSplit, diagonal: Vector, factorised: Mask, lower: Matrix, free: Mask, right: Vector
    ) -> Vector | None:
        """Return x_F for a set F that differs from the factorised one, or None if x_F is inaccurate or not unique."""
        factorised_columns, added = np.flatnonzero(factorised), np.flatnonzero(free & ~factorised)
        removed = np.flatnonzero(~free[factorised_columns])
        border = np.zeros((factorised_columns.size, added.size + removed.size), order="F")
        border[:, : added.size] = parts.block(factorised_columns, added)
        border[removed, added.size + np.arange(removed.size)] = 1.0
        border = dtrtrs(lower, border, lower=1, overwrite_b=1)[0]
        schur = -border.T @ border
        schur[: added.size, : added.size] += parts.block(added, added) + np.diag(diagonal[added])
        full_right = np.zeros(free.size)
        full_right[free] = right
        first = dtrtrs(lower, full_right[factorised_columns], lower=1)[0]
        try:
            rest = np.linalg.solve(schur, np.append(full_right[added], np.zeros(removed.size)) - border.T @ first)
        except np.linalg.LinAlgError:
            return None
        x = np.zeros(free.size)
        x[factorised_columns] = dtrtrs(lower, first - border @ rest, lower=1, trans=1)[0]
        x[added] = rest[: added.size]
        x[~free] = 0.0
        residual = np.abs((parts.times_without_diagonal(x) + diagonal * x)[free] - right).max()
        return np.asarray(x[free]) if residual <= UPDATE_RESIDUAL_TOLERANCE * np.abs(right).max() else None
