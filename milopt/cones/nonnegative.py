"""The non-negative cone K = {s: s >= 0}: inequalities. It is its own dual cone."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones.cone import CbfCone, Cone


class Nonnegative(Cone):
    """The non-negative cone, with one row per factor."""

    name, words = "nonnegative", "non-negative cone"
    kind, integer_kind = None, None
    cbf = CbfCone("L+")
    is_polyhedral = True
    may_be_lazy = True
    row_size = 1

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return the negative part of s."""
        return np.maximum(-s, 0.0)

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return the negative part of z."""
        return self.distance(z, sizes)

    def inside(self, s: Vector, sizes: Index) -> Vector:
        """Return the positive part of s."""
        return np.maximum(s, 0.0)

    def dual_inside(self, z: Vector, sizes: Index) -> Vector:
        """Return the positive part of z."""
        return self.inside(z, sizes)

    def dual_rows(self, size: int) -> sp.csr_array:
        """Return the identity."""
        return sp.csr_array(sp.eye_array(size))

    def interior(self, size: int) -> Vector:
        """Return (1, ..., 1)."""
        return np.ones(size)
