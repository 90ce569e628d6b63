"""Systems over the free columns of a box QP:  (diag(d) + N)_FF x = b, for one set F of columns after another.

The first set is factorised by Cholesky,  L L' = (diag(d) + N)_00. A later set that lacks a few of those columns (R) and
has a few others (A) is solved with the same L, with  x_R = 0  asked for by multipliers:

    [ LL'   N_0A  E_R ] [ x_0 ]   [ b_0 ]
    [ N_A0  M_AA   0  ] [ x_A ] = [ b_A ]        V = L^-1 [N_0A, E_R],  S = [[M_AA, 0], [0, 0]] - V'V
    [ E_R'   0     0  ] [ mu  ]   [  0  ]

which costs k triangular solves, k = |A| + |R|, instead of a factorisation. What comes out is checked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from milopt.arrays import Mask, Matrix, Vector
from milopt.solvers.native.box_qp.split import Split

LARGE = 256
"""Columns from which a factorisation costs more than what surrounds it."""
FEW = 10
"""A set may differ from the factorised one in a tenth of its columns: a triangular solve is a third as quick a flop."""
EXACT = 1e-11
"""What a corrected solution may leave of its right side; above it, the set is factorised after all."""


@dataclass
class Factor:
    """The last Cholesky factor and what it is of; the same free columns again cost only a triangular solve."""

    free: Mask | None = None
    diagonal: Vector | None = None
    lower: Matrix | None = None
    count: int = 0
    """Factorisations done."""

    def solve(self, parts: Split, diagonal: Vector, free: Mask, right: Vector) -> Vector | None:
        """The solution on the free columns, or None when the matrix is not positive definite in floating point."""
        if self.lower is not None and self.free is not None and diagonal is self.diagonal:
            changed = int(np.count_nonzero(free != self.free))
            if changed == 0:
                return np.asarray(dpotrs(self.lower, right, lower=1)[0])
            if len(self.lower) >= max(LARGE, FEW * changed):
                found = self._corrected(parts, diagonal, self.free, self.lower, free, right)
                if found is not None:
                    return found
        index = np.flatnonzero(free)
        block = parts.block(index)
        block.flat[:: index.size + 1] += diagonal[index]
        # The block is symmetric, so its transpose is the Fortran order that LAPACK factorises in place.
        self.lower, info = dpotrf(block.T, lower=1, clean=0, overwrite_a=1)
        self.count += 1
        if info != 0:
            self.lower = None
            return None
        self.free, self.diagonal = free, diagonal
        return np.asarray(dpotrs(self.lower, right, lower=1)[0])

    @staticmethod
    def _corrected(
        parts: Split, diagonal: Vector, factorised: Mask, lower: Matrix, free: Mask, right: Vector
    ) -> Vector | None:
        """The solution on other free columns than those of the factor; None where it is not accurate."""
        old, new = np.flatnonzero(factorised), np.flatnonzero(free & ~factorised)
        gone = np.flatnonzero(~free[old])
        border = np.zeros((old.size, new.size + gone.size), order="F")
        border[:, : new.size] = parts.between(old, new)
        border[gone, new.size + np.arange(gone.size)] = 1.0
        border = dtrtrs(lower, border, lower=1, overwrite_b=1)[0]
        corner = -border.T @ border
        corner[: new.size, : new.size] += parts.between(new, new) + np.diag(diagonal[new])
        wanted = np.zeros(free.size)
        wanted[free] = right
        first = dtrtrs(lower, wanted[old], lower=1)[0]
        try:
            rest = np.linalg.solve(corner, np.append(wanted[new], np.zeros(gone.size)) - border.T @ first)
        except np.linalg.LinAlgError:
            return None
        x = np.zeros(free.size)
        x[old] = dtrtrs(lower, first - border @ rest, lower=1, trans=1)[0]
        x[new] = rest[: new.size]
        x[~free] = 0.0
        left = np.abs((parts.inner(x) + diagonal * x)[free] - right).max()
        return np.asarray(x[free]) if left <= EXACT * np.abs(right).max() else None
