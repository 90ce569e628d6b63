"""Non-negative cone K = {s: s >= 0}, for inequalities. K is its own dual cone."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones.cone import CbfCone, Cone


class Nonnegative(Cone):
    """Non-negative cone; each factor has one row."""

    name, display_name = "nonnegative", "non-negative cone"
    kind, integer_kind = None, None
    cbf = CbfCone("L+")
    is_polyhedral = True
    may_be_lazy = True
    factor_size = 1

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return the distance max(-s, 0)."""
        return np.maximum(-s, 0.0)

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return the distance max(-z, 0)."""
        return self.distance(z, sizes)

    def move_inside(self, s: Vector, sizes: Index) -> Vector:
        """Return max(s, 0), the nearest point of K."""
        return np.maximum(s, 0.0)

    def move_inside_dual(self, z: Vector, sizes: Index) -> Vector:
        """Return max(z, 0), the nearest point of K*."""
        return self.move_inside(z, sizes)

    def dual_membership_matrix(self, size: int) -> sp.csr_array:
        """Return the identity matrix, because K* = K."""
        return sp.csr_array(sp.eye_array(size))

    def interior_point(self, size: int) -> Vector:
        """Return the interior point (1, ..., 1)."""
        return np.ones(size)
