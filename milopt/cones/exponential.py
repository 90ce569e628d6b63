"""Exponential cone K = closure of {(x, y, z): y > 0, y exp(x/y) <= z}.

The closure adds the face {(x, 0, z): x <= 0, z >= 0}. The dual cone is

    K* = closure of {(u, v, w): u < 0, -u exp(v/u - 1) <= w},

whose closure adds the face {(0, v, w): v >= 0, w >= 0}. A point (u, v, w) is in K* if and only if (u - v, -u, w) is in
K.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Vector
from milopt.cones.cone import CbfCone, Cone

DUAL_TO_PRIMAL_MATRIX = np.array([[1.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Matrix M such that z is in K* if and only if M z is in K."""


class Exponential(Cone):
    """Exponential cone; each factor has three rows (x, y, z)."""

    name, display_name = "exponential", "exponential cone"
    kind, integer_kind = "exponential cone program", "mixed-integer exponential cone program"
    cbf = CbfCone("EXP", order=(2, 1, 0), version=2)
    is_polyhedral = False
    may_be_lazy = False
    factor_size = 3

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return the distance from (x, y, z) to the nearest of three points of K: z raised, x lowered, or y = 0."""
        points = s.reshape(-1, 3)
        return _smallest_distance(
            points, _nearest_on_face(points), _lower_x_into_cone(points), _raise_z_into_cone(points)
        )

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return the distance from (u, v, w) to the nearest of three points of K*: w raised, v raised, or u = 0."""
        return _smallest_distance(z.reshape(-1, 3), *_dual_candidates(z))

    def move_inside(self, s: Vector, sizes: Index) -> Vector:
        """Return the nearest to (x, y, z) of three points of K: with z raised, x lowered, or y = 0."""
        points = s.reshape(-1, 3)
        return _nearest_candidate(
            points, _nearest_on_face(points), _lower_x_into_cone(points), _raise_z_into_cone(points)
        ).ravel()

    def move_inside_dual(self, z: Vector, sizes: Index) -> Vector:
        """Return the nearest to (u, v, w) of three points of K*: with w raised, v raised, or u = 0."""
        return _nearest_candidate(z.reshape(-1, 3), *_dual_candidates(z)).ravel()

    def dual_membership_matrix(self, size: int) -> sp.csr_array:
        """Return the matrix M of the map (u, v, w) -> (u - v, -u, w), which maps K* onto K."""
        return sp.csr_array(DUAL_TO_PRIMAL_MATRIX)

    def interior_point(self, size: int) -> Vector:
        """Return the interior point (x, y, z) = (-1, 1, 1)."""
        return np.array([-1.0, 1.0, 1.0])


def _nearest_on_face(points: Matrix) -> Matrix:
    """Return, for each given point, the nearest point of the face y = 0 of K."""
    x, _, z = points.T
    return np.column_stack([np.minimum(x, 0.0), np.zeros(x.size), np.maximum(z, 0.0)])


def _lower_x_into_cone(points: Matrix) -> Matrix:
    """Return each point (x, y, z) with x lowered to y log(z/y) if x is larger; x becomes -inf if y <= 0 or z <= 0."""
    x, y, z = points.T
    possible = (y > 0.0) & (z > 0.0)
    top, bottom = np.where(possible, z, 1.0), np.where(possible, y, 1.0)
    # Use the difference of the logarithms, because the quotient z / y may overflow.
    highest = np.where(possible, bottom * (np.log(top) - np.log(bottom)), -np.inf)
    return np.column_stack([np.minimum(x, highest), y, z])


def _raise_z_into_cone(points: Matrix) -> Matrix:
    """Return each point (x, y, z) with z raised to y exp(x/y) if z is smaller; z becomes inf if y <= 0."""
    x, y, z = points.T
    bottom = np.where(y > 0.0, y, 1.0)
    with np.errstate(over="ignore"):
        lowest = np.where(y > 0.0, bottom * np.exp(x / bottom), np.inf)
    return np.column_stack([x, y, np.maximum(z, lowest)])


def _dual_candidates(z: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Return three points of K* per factor (u, v, w) of z: on the face u = 0, with v raised, and with w raised."""
    points = z.reshape(-1, 3)
    u, v, w = points.T
    face = np.column_stack([np.zeros(u.size), np.maximum(v, 0.0), np.maximum(w, 0.0)])
    primal = points @ DUAL_TO_PRIMAL_MATRIX.T
    # The first entry of the primal point is u - v, so lowering that entry by d raises v by d.
    lowered, raised = _lower_x_into_cone(primal), _raise_z_into_cone(primal)
    shifted_v = np.column_stack([u, np.where(lowered[:, 0] < primal[:, 0], u - lowered[:, 0], v), w])
    return face, shifted_v, np.column_stack([u, v, raised[:, 2]])


def _distances(points: Matrix, candidates: tuple[Matrix, ...]) -> Matrix:
    """Return the distances from the points to their candidates: one row per candidate, one column per point.

    `numpy.hypot` is used because squares may underflow or overflow.
    """
    differences = (np.asarray(candidates) - points).reshape(len(candidates), -1, 3)
    return np.asarray(np.hypot(np.hypot(differences[..., 0], differences[..., 1]), differences[..., 2]))


def _smallest_distance(points: Matrix, *candidates: Matrix) -> Vector:
    """Return the distance of each point to the nearest of its candidates."""
    return np.asarray(_distances(points, candidates).min(axis=0))


def _nearest_candidate(points: Matrix, *candidates: Matrix) -> Matrix:
    """Return, for each point, the nearest of its candidates."""
    chosen = _distances(points, candidates).argmin(axis=0)
    return np.asarray(np.stack(candidates)[chosen, np.arange(len(points))])
