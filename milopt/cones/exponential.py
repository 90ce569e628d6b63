"""The exponential cone K = closure of {(x, y, z): y > 0, y exp(x/y) <= z}.

The closure adds the face {(x, 0, z): x <= 0, z >= 0}. The dual cone is

    K* = closure of {(u, v, w): u < 0, -u exp(v/u - 1) <= w},    that is,    (u - v, -u, w) in K,

and its closure adds the face {(0, v, w): v >= 0, w >= 0}.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones.cone import CbfCone, Cone

Rows = npt.NDArray[np.float64]
"""One row of three numbers per factor."""
TO_PRIMAL = np.array([[1.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""M such that z is in K* if and only if M z is in K."""


class Exponential(Cone):
    """The exponential cone, with the three rows (x, y, z) per factor."""

    name, words = "exponential", "exponential cone"
    kind, integer_kind = "exponential cone program", "mixed-integer exponential cone program"
    cbf = CbfCone("EXP", order=(2, 1, 0), version=2)
    is_polyhedral = False
    may_be_lazy = False
    row_size = 3

    def distance(self, s: Vector, sizes: Index) -> Vector:
        """Return the least of three distances: z raised, x lowered, or the distance to the face y = 0."""
        points = s.reshape(-1, 3)
        return _least_distance(points, _on_face(points), _shifted_x(points), _shifted_z(points))

    def dual_distance(self, z: Vector, sizes: Index) -> Vector:
        """Return the least of three distances: w raised, v raised, or the distance to the face u = 0."""
        return _least_distance(z.reshape(-1, 3), *_dual_candidates(z))

    def inside(self, s: Vector, sizes: Index) -> Vector:
        """Return the nearest of the three points of `distance`."""
        points = s.reshape(-1, 3)
        return _nearest(points, _on_face(points), _shifted_x(points), _shifted_z(points)).ravel()

    def dual_inside(self, z: Vector, sizes: Index) -> Vector:
        """Return the nearest of the three points of `dual_distance`."""
        return _nearest(z.reshape(-1, 3), *_dual_candidates(z)).ravel()

    def dual_rows(self, size: int) -> sp.csr_array:
        """Return the matrix of (u, v, w) -> (u - v, -u, w)."""
        return sp.csr_array(TO_PRIMAL)

    def interior(self, size: int) -> Vector:
        """Return (-1, 1, 1)."""
        return np.array([-1.0, 1.0, 1.0])


def _on_face(points: Rows) -> Rows:
    """Return the nearest points with y = 0."""
    x, _, z = points.T
    return np.column_stack([np.minimum(x, 0.0), np.zeros(x.size), np.maximum(z, 0.0)])


def _shifted_x(points: Rows) -> Rows:
    """Return the points with x lowered to y log(z/y); -inf if there is no such x."""
    x, y, z = points.T
    possible = (y > 0.0) & (z > 0.0)
    top, bottom = np.where(possible, z, 1.0), np.where(possible, y, 1.0)
    # A difference of logarithms: the quotient may overflow.
    most = np.where(possible, bottom * (np.log(top) - np.log(bottom)), -np.inf)
    return np.column_stack([np.minimum(x, most), y, z])


def _shifted_z(points: Rows) -> Rows:
    """Return the points with z raised to y exp(x/y); inf if there is no such z."""
    x, y, z = points.T
    bottom = np.where(y > 0.0, y, 1.0)
    with np.errstate(over="ignore"):
        least = np.where(y > 0.0, bottom * np.exp(x / bottom), np.inf)
    return np.column_stack([x, y, np.maximum(z, least)])


def _dual_candidates(z: Vector) -> tuple[Rows, Rows, Rows]:
    """Return points of K*: on the face u = 0, with v raised, and with w raised."""
    points = z.reshape(-1, 3)
    u, v, w = points.T
    face = np.column_stack([np.zeros(u.size), np.maximum(v, 0.0), np.maximum(w, 0.0)])
    primal = points @ TO_PRIMAL.T
    # The first entry of the primal point is u - v, so v rises by as much as that entry falls.
    lowered, raised = _shifted_x(primal), _shifted_z(primal)
    shifted_v = np.column_stack([u, np.where(lowered[:, 0] < primal[:, 0], u - lowered[:, 0], v), w])
    return face, shifted_v, np.column_stack([u, v, raised[:, 2]])


def _distances(points: Rows, candidates: tuple[Rows, ...]) -> Rows:
    """Return the distance of each point to each candidate, one row per candidate.

    `hypot`, because squares may under- or overflow.
    """
    apart = (np.asarray(candidates) - points).reshape(len(candidates), -1, 3)
    return np.asarray(np.hypot(np.hypot(apart[..., 0], apart[..., 1]), apart[..., 2]))


def _least_distance(points: Rows, *candidates: Rows) -> Vector:
    return np.asarray(_distances(points, candidates).min(axis=0))


def _nearest(points: Rows, *candidates: Rows) -> Rows:
    chosen = _distances(points, candidates).argmin(axis=0)
    return np.asarray(np.stack(candidates)[chosen, np.arange(len(points))])
