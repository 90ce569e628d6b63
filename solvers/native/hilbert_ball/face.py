"""The face on which the search for a minimum-norm point currently is; Wolfe's algorithm calls it the corral.

A face is a set of weights on a few instances of each bag B_r with weight d_r > 0. Each bag's hull is shifted to a base
instance, so that a point of c - sum_r d_r conv(B_r)  is

    w = s - sum_j nu_j D_j,   s = c - sum_r d_r x_base(r),   D_j = x_j - x_base(bag of j)

with nu >= 0 and sum_{j in r} nu_j <= d_r. The columns D_j do not depend on d or c. Their QR factorisation, Q
orthonormal and R triangular, is kept between solves and updated when columns are added or removed and when a bag
changes its base. The columns D_j and those of Q are stored as rows. In n dimensions, adding or removing one of p
columns costs O(np). Compiled by numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Index, Matrix, Vector
from milopt.jit import njit_inner

DEPENDENCE_TOLERANCE = 1e-12
"""A column is not added if its distance to the span of the other columns is at most this fraction of its norm."""


class Face(NamedTuple):
    """A face and its factorisation (symbols as in the module docstring).

    Of the arrays over columns, only the first `used[0]` entries, rows and columns are in use.
    """

    base: Index
    """Base instance of each bag; -1 if it has none yet."""
    share: Vector
    """Fraction of its bag's weight that an instance had when the bag weight became 0; 0 for all other instances."""
    last_bag_weight: Vector
    """Weight d_r of each bag at the last search, to which the column weights belong."""
    instance: Index
    """Instance of each column."""
    bag: Index
    """Bag of each column."""
    weight: Vector
    """Weight nu of each column."""
    D: Matrix
    Q: Matrix
    R: Matrix
    g: Vector
    """Vector Q s: the coefficients of the projection of s onto the span of the columns."""
    s: Vector
    """The vector s."""
    w: Vector
    """The current point w."""
    used: Index
    """Number of columns, as an array of length 1."""

    @classmethod
    def empty(cls, bags: int, instances: int, dimension: int) -> Face:
        """Return a face without base instances and columns, with space for `dimension` independent columns."""
        n = dimension
        return cls(
            np.full(bags, -1, dtype=np.intp),
            np.zeros(instances),
            np.zeros(bags),
            np.zeros(n, dtype=np.intp),
            np.zeros(n, dtype=np.intp),
            np.zeros(n),
            np.zeros((n, n)),
            np.zeros((n, n)),
            np.zeros((n, n)),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.zeros(1, dtype=np.intp),
        )

    def with_dimension(self, dimension: int) -> Face:
        """Return the same face in a space with more dimensions; the new coordinates are 0."""
        wide = Face.empty(self.base.size, self.share.size, dimension)
        n = self.w.size
        for old, new in zip(self, wide, strict=True):
            if old.ndim == 2:
                new[:n, :n] = old
            else:
                new[: old.size] = old
        return wide


@njit_inner
def dot(a: Vector, b: Vector, n: int) -> float:
    """Return a'b over the first n entries."""
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@njit_inner
def axpy(a: Vector, factor: float, b: Vector, n: int) -> None:
    """Add factor * b to a, over the first n entries."""
    for k in range(n):
        a[k] += factor * b[k]


@njit_inner
def add_column(f: Face, table: Matrix, n: int, instance: int, bag: int, weight: float) -> bool:
    """Add the column of an instance to the face; return False if it depends linearly on the other columns.

    The face is then unchanged. Also returns False if the arrays are full. `table` has one row of coordinates per
    instance, of which the first n are used.
    """
    p = f.used[0]
    if p == f.weight.size:
        return False
    D, q, x, b = f.D[p], f.Q[p], table[instance], table[f.base[bag]]
    for k in range(n):
        D[k] = x[k] - b[k]
        q[k] = D[k]
    for i in range(p + 1):
        f.R[i, p] = 0.0
    # Gram-Schmidt orthogonalisation is applied twice, which is sufficient.
    for _ in range(2):
        for i in range(p):
            h = dot(f.Q[i], q, n)
            axpy(q, -h, f.Q[i], n)
            f.R[i, p] += h
    length, rest = np.sqrt(dot(D, D, n)), np.sqrt(dot(q, q, n))
    if rest <= DEPENDENCE_TOLERANCE * length:
        return False
    for k in range(n):
        q[k] /= rest
    f.R[p, p] = rest
    f.instance[p], f.bag[p], f.weight[p] = instance, bag, weight
    f.g[p] = dot(q, f.s, n)
    f.used[0] = p + 1
    return True


@njit_inner
def remove_column(f: Face, n: int, j: int) -> None:
    """Remove the j-th column from the face, and make R triangular again by Givens rotations of the rows of Q and R."""
    p = f.used[0] - 1
    for k in range(j, p):
        f.instance[k], f.bag[k], f.weight[k] = f.instance[k + 1], f.bag[k + 1], f.weight[k + 1]
        here, there = f.D[k], f.D[k + 1]
        for i in range(n):
            here[i] = there[i]
    R = f.R
    for i in range(p + 1):
        for k in range(max(j, i - 1), p):
            R[i, k] = R[i, k + 1]
    for i in range(j, p):
        length = np.hypot(R[i, i], R[i + 1, i])
        cos, sin = R[i, i] / length, R[i + 1, i] / length
        for k in range(i, p):
            above, below = R[i, k], R[i + 1, k]
            R[i, k] = cos * above + sin * below
            R[i + 1, k] = cos * below - sin * above
        upper, lower = f.Q[i], f.Q[i + 1]
        for k in range(n):
            above, below = upper[k], lower[k]
            upper[k] = cos * above + sin * below
            lower[k] = cos * below - sin * above
        above, below = f.g[i], f.g[i + 1]
        f.g[i] = cos * above + sin * below
        f.g[i + 1] = cos * below - sin * above
    f.used[0] = p


@njit_inner
def change_base_instance(f: Face, n: int, bag: int, bag_weight: float) -> None:
    """Make the instance of the bag's first column the base of the bag, and express the other columns by the new base.

    Called when the weight of the old base has become 0. `bag_weight` is the weight d_r of this one bag.
    """
    p = f.used[0]
    first = 0
    while f.bag[first] != bag:
        first += 1
    for j in range(first + 1, p):
        if f.bag[j] == bag:
            axpy(f.D[j], -1.0, f.D[first], n)
            for i in range(first + 1):
                f.R[i, j] -= f.R[i, first]
    axpy(f.s, -bag_weight, f.D[first], n)
    f.base[bag] = f.instance[first]
    remove_column(f, n, first)
    update_projection(f, n)


@njit_inner
def update_projection(f: Face, n: int) -> None:
    """Compute g = Q s in place."""
    for i in range(f.used[0]):
        f.g[i] = dot(f.Q[i], f.s, n)


@njit_inner
def minimise_on_face(f: Face, n: int, bag_weights: Vector, z: Vector, bag_sums: Vector, bag_changes: Vector) -> None:
    """Set the weights to those of the minimum-norm point of the face's affine hull.

    If a weight would become negative on the way, its column is removed (if it is the weight of a base, the bag's base
    changes), and the search continues on the smaller face. The point w is not updated (see `update_point`). `z` and,
    per bag, `bag_sums` and `bag_changes` are workspace. The last two must be 0, and are 0 again afterwards.
    """
    while f.used[0]:
        p = f.used[0]
        for i in range(p - 1, -1, -1):
            total = f.g[i]
            for k in range(i + 1, p):
                total -= f.R[i, k] * z[k]
            z[i] = total / f.R[i, i]
        for j in range(p):
            bag_sums[f.bag[j]] += f.weight[j]
            bag_changes[f.bag[j]] += z[j] - f.weight[j]
        step, blocking_column, blocking_bag = 1.0, p, bag_weights.size
        for j in range(p):
            bag, change = f.bag[j], z[j] - f.weight[j]
            if change < 0.0 and -f.weight[j] > step * change:
                step, blocking_column, blocking_bag = f.weight[j] / -change, j, bag_weights.size
            slack = max(0.0, bag_weights[bag] - bag_sums[bag])
            if bag_changes[bag] > 0.0 and slack < step * bag_changes[bag]:
                step, blocking_column, blocking_bag = slack / bag_changes[bag], p, bag
        for j in range(p):
            bag_sums[f.bag[j]] = 0.0
            bag_changes[f.bag[j]] = 0.0
        for j in range(p):
            f.weight[j] += step * (z[j] - f.weight[j])
        if blocking_bag < bag_weights.size:
            change_base_instance(f, n, blocking_bag, bag_weights[blocking_bag])
        elif blocking_column < p:
            remove_column(f, n, blocking_column)
        else:
            return


@njit_inner
def update_point(f: Face, n: int) -> None:
    """Compute the point  w = s - Q'g  in place: the point of the affine hull of the face that is nearest to 0."""
    for k in range(n):
        f.w[k] = f.s[k]
    for i in range(f.used[0]):
        axpy(f.w, -f.g[i], f.Q[i], n)
