"""Second-order cone K = {(t, v): t >= ||v||}, with t in the first row. It is its own dual cone."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones.cone import CbfCone, Cone, factor_starts


class SecondOrder(Cone):
    """Second-order cone; a factor may have any number of rows."""

    name, display_name = "second-order", "second-order cone"
    kind, integer_kind = "SOCP", "MISOCP"
    cbf = CbfCone("Q")
    is_polyhedral = False
    may_be_lazy = False
    factor_size = None

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return max(||v|| - t, 0) for s = (t, v): the amount by which t must be raised.

        This bound is at most sqrt(2) times the Euclidean distance from s to K.
        """
        heads, lengths = _heads_and_tail_norms(s, sizes)
        return np.maximum(lengths - heads, 0.0)

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return max(||v|| - t, 0) for z = (t, v)."""
        return self.distance(z, sizes)

    def move_inside(self, s: Vector, sizes: Index) -> Vector:
        """Return s = (t, v) with t replaced by ||v|| if t < ||v||."""
        heads, lengths = _heads_and_tail_norms(s, sizes)
        result = s.copy()
        result[factor_starts(sizes)] = np.maximum(heads, lengths)
        return result

    def move_inside_dual(self, z: Vector, sizes: Index) -> Vector:
        """Return z = (t, v) with t replaced by ||v|| if t < ||v||."""
        return self.move_inside(z, sizes)

    def dual_membership_matrix(self, size: int) -> sp.csr_array:
        """Return the identity matrix, because K* = K."""
        return sp.csr_array(sp.eye_array(size))

    def interior_point(self, size: int) -> Vector:
        """Return the interior point (1, 0, ..., 0)."""
        return np.asarray(np.eye(1, size)[0])


def _heads_and_tail_norms(s: Vector, sizes: Index) -> tuple[Vector, Vector]:
    """Return (heads, lengths): t and ||v|| of each factor (t, v)."""
    starts = factor_starts(sizes)
    if not starts.size:
        return np.zeros(0), np.zeros(0)
    squares = s**2
    squares[starts] = 0.0
    return s[starts], np.sqrt(np.add.reduceat(squares, starts))
