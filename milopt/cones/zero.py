"""Zero cone K = {0}, for equations. Its dual cone is the whole space."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.cones.cone import CbfCone, Cone


class Zero(Cone):
    """Zero cone; each factor has one row."""

    name, display_name = "zero", "zero cone"
    kind, integer_kind = None, None
    cbf = CbfCone("L=")
    is_polyhedral = True
    may_be_lazy = False
    factor_size = 1

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return the distance |s|."""
        return np.abs(s)

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return 0 for each factor, because every z is in K*."""
        return np.zeros(z.size)

    def move_inside(self, s: Vector, sizes: Index) -> Vector:
        """Return zeros, the only point of K."""
        return np.zeros(s.size)

    def move_inside_dual(self, z: Vector, sizes: Index) -> Vector:
        """Return a copy of z, because every z is in K*."""
        return z.copy()

    def dual_membership_matrix(self, size: int) -> None:
        """Return None, because K* is the whole space."""

    def interior_point(self, size: int) -> None:
        """Return None, because the interior of K is empty."""
