"""The face on which the search for a minimum-norm point stands: weights on a few instances of each bag.

The bags' hulls are shifted to a base instance each, so that a point of  c - sum_r d_r conv(B_r)  is

    w = s - sum_j nu_j D_j,   s = c - sum_r d_r x_base(r),   D_j = x_j - x_base(bag of j)

with nu >= 0 and sum_{j in r} nu_j <= d_r. The columns D_j do not depend on d or c: their factorisation, of which Q is
orthonormal and R triangular, is kept from one solve to the next, while columns enter and leave and bags change their
base. Columns D_j and those of Q are held as rows. Compiled by numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from milopt.arrays import Index, Matrix, Vector
from milopt.compiled import njit_inner

DEPENDENT = 1e-12
"""A column this close, relative to its length, to the span of the others does not enter."""


class Corral(NamedTuple):
    """A face and its factorisation; the first `used[0]` entries, rows and columns are in use."""

    base: Index
    """Per bag, its base instance; -1 while it has none."""
    share: Vector
    """Per instance of a bag that weighs nothing now, the fraction of the bag's weight that it had before."""
    last: Vector
    """Per bag, the weight d_r that the columns' weights belong to."""
    instance: Index
    bag: Index
    weight: Vector
    D: Matrix
    Q: Matrix
    R: Matrix
    g: Vector
    """Q s."""
    s: Vector
    w: Vector
    used: Index

    @classmethod
    def empty(cls, bags: int, instances: int, dimension: int) -> Corral:
        """No bases and no columns; at most `dimension` columns can be independent."""
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

    def widened(self, dimension: int) -> Corral:
        """The same face in a space of more dimensions, the new coordinates 0."""
        wide = Corral.empty(self.base.size, self.share.size, dimension)
        n = self.w.size
        for old, new in zip(self, wide, strict=True):
            if old.ndim == 2:
                new[:n, :n] = old
            else:
                new[: old.size] = old
        return wide


@njit_inner
def dot(a: Vector, b: Vector, n: int) -> float:
    """a'b over the first n entries."""
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@njit_inner
def add(a: Vector, factor: float, b: Vector, n: int) -> None:
    """a += factor b over the first n entries."""
    for k in range(n):
        a[k] += factor * b[k]


@njit_inner
def enter(f: Corral, table: Matrix, n: int, instance: int, bag: int, weight: float) -> bool:
    """Let an instance enter; False, and nothing changed, where its column depends on the others."""
    p = f.used[0]
    if p == f.weight.size:
        return False
    D, q, x, b = f.D[p], f.Q[p], table[instance], table[f.base[bag]]
    for k in range(n):
        D[k] = x[k] - b[k]
        q[k] = D[k]
    for i in range(p + 1):
        f.R[i, p] = 0.0
    # Orthogonalised twice, which is enough.
    for _ in range(2):
        for i in range(p):
            h = dot(f.Q[i], q, n)
            add(q, -h, f.Q[i], n)
            f.R[i, p] += h
    length, rest = np.sqrt(dot(D, D, n)), np.sqrt(dot(q, q, n))
    if rest <= DEPENDENT * length:
        return False
    for k in range(n):
        q[k] /= rest
    f.R[p, p] = rest
    f.instance[p], f.bag[p], f.weight[p] = instance, bag, weight
    f.g[p] = dot(q, f.s, n)
    f.used[0] = p + 1
    return True


@njit_inner
def leave(f: Corral, n: int, j: int) -> None:
    """Take a column out; the rows of Q and R below it are rotated until R is triangular again."""
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
def rebase(f: Corral, n: int, bag: int, demand: float) -> None:
    """The base has lost its weight: the bag's first column becomes the base, and the later ones start from there."""
    p = f.used[0]
    first = 0
    while f.bag[first] != bag:
        first += 1
    for j in range(first + 1, p):
        if f.bag[j] == bag:
            add(f.D[j], -1.0, f.D[first], n)
            for i in range(first + 1):
                f.R[i, j] -= f.R[i, first]
    add(f.s, -demand, f.D[first], n)
    f.base[bag] = f.instance[first]
    leave(f, n, first)
    project(f, n)


@njit_inner
def project(f: Corral, n: int) -> None:
    """g = Q s, anew."""
    for i in range(f.used[0]):
        f.g[i] = dot(f.Q[i], f.s, n)


@njit_inner
def descend(f: Corral, n: int, demand: Vector, z: Vector, held: Vector, moved: Vector) -> None:
    """Go to the least-squares point of the face, or, where a weight would turn negative, to that of a smaller one.

    `z`, and per bag `held` and `moved`, are room to work in; the last two are 0 before and after.
    """
    while f.used[0]:
        p = f.used[0]
        for i in range(p - 1, -1, -1):
            total = f.g[i]
            for k in range(i + 1, p):
                total -= f.R[i, k] * z[k]
            z[i] = total / f.R[i, i]
        for j in range(p):
            held[f.bag[j]] += f.weight[j]
            moved[f.bag[j]] += z[j] - f.weight[j]
        step, blocked, whose = 1.0, p, demand.size
        for j in range(p):
            bag, change = f.bag[j], z[j] - f.weight[j]
            if change < 0.0 and -f.weight[j] > step * change:
                step, blocked, whose = f.weight[j] / -change, j, demand.size
            room = max(0.0, demand[bag] - held[bag])
            if moved[bag] > 0.0 and room < step * moved[bag]:
                step, blocked, whose = room / moved[bag], p, bag
        for j in range(p):
            held[f.bag[j]] = 0.0
            moved[f.bag[j]] = 0.0
        for j in range(p):
            f.weight[j] += step * (z[j] - f.weight[j])
        if whose < demand.size:
            rebase(f, n, whose, demand[whose])
        elif blocked < p:
            leave(f, n, blocked)
        else:
            return


@njit_inner
def stand(f: Corral, n: int) -> None:
    """w = s - Q'g, the point of the face nearest to 0."""
    for k in range(n):
        f.w[k] = f.s[k]
    for i in range(f.used[0]):
        add(f.w, -f.g[i], f.Q[i], n)
