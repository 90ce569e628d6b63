"""The zero cone K = {0}: equations. Its dual cone is the whole space."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.cones.cone import CbfCone, Cone


class Zero(Cone):
    """The zero cone, with one row per factor."""

    name, words = "zero", "zero cone"
    kind, integer_kind = None, None
    cbf = CbfCone("L=")
    is_polyhedral = True
    may_be_lazy = False
    row_size = 1

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return |s|."""
        return np.abs(s)

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return 0: every z is in K*."""
        return np.zeros(z.size)

    def inside(self, s: Vector, sizes: Index) -> Vector:
        """Return 0."""
        return np.zeros(s.size)

    def dual_inside(self, z: Vector, sizes: Index) -> Vector:
        """Return z."""
        return z.copy()

    def dual_rows(self, size: int) -> None:
        """Return None: K* is the whole space."""

    def interior(self, size: int) -> None:
        """Return None: the interior is empty."""
