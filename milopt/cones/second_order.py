"""The second-order cone K = {(t, v): t >= ||v||}, t first. It is its own dual cone."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones.cone import CbfCone, Cone, factor_starts


class SecondOrder(Cone):
    """The second-order cone, with any number of rows per factor."""

    name, words = "second-order", "second-order cone"
    kind, integer_kind = "SOCP", "MISOCP"
    cbf = CbfCone("Q")
    is_polyhedral = False
    may_be_lazy = False
    row_size = None

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return ||v|| - t, by which t must be raised; the distance is less by a factor of sqrt(2) at most."""
        heads, lengths = _parts(s, sizes)
        return np.maximum(lengths - heads, 0.0)

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return the distance of z to K."""
        return self.distance(z, sizes)

    def inside(self, s: Vector, sizes: Index) -> Vector:
        """Return s with t raised to ||v||."""
        heads, lengths = _parts(s, sizes)
        result = s.copy()
        result[factor_starts(sizes)] = np.maximum(heads, lengths)
        return result

    def dual_inside(self, z: Vector, sizes: Index) -> Vector:
        """Return z with its first entry raised."""
        return self.inside(z, sizes)

    def dual_rows(self, size: int) -> sp.csr_array:
        """Return the identity."""
        return sp.csr_array(sp.eye_array(size))

    def interior(self, size: int) -> Vector:
        """Return (1, 0, ..., 0)."""
        return np.asarray(np.eye(1, size)[0])


def _parts(s: Vector, sizes: Index) -> tuple[Vector, Vector]:
    """Return (t, ||v||) of each factor."""
    starts = factor_starts(sizes)
    if not starts.size:
        return np.zeros(0), np.zeros(0)
    squares = s**2
    squares[starts] = 0.0
    return s[starts], np.sqrt(np.add.reduceat(squares, starts))
