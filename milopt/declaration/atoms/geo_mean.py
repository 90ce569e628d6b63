"""The geometric mean, which is concave."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.scalar_arguments import with_entries
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand

SMALLEST = 1e-100
"""Slopes at 0, where the mean has none, are taken there."""
BISECTION_STEPS = 100


class NegativeGeoMean(Atom):
    """-(x_1 ... x_n)^(1/n) of each run, for x >= 0.

    Epigraph: t >= -s with s >= 0, (u_j, s, x_j) in the exponential cone, that is u_j <= s log(x_j / s), and sum u >= 0.
    """

    word, negated_word = "negative_geo_mean", "geo_mean"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return minus the geometric mean of each run."""
        with np.errstate(divide="ignore"):
            return -np.exp(at.sum(np.log(self.nearest(e, at))) / at.sizes)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t + s >= 0, s exp(u_j / s) <= x_j and sum u >= 0."""
        s, u = new("s", at.count, lower=0.0), new("u", at.total)
        return [
            non_negative("mean", t + s),
            exponential("cone", u, s[at.of], e, at.total),
            non_negative("sum", at.indicator @ u),
        ]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return minus the mean, divided by n x_j."""
        x = np.maximum(e, SMALLEST)
        return np.asarray((self.value(x, at) / at.sizes)[at.of] / x)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest slopes -h with h > 0 and a geometric mean of h of at least 1 / n; the conjugate is 0."""
        return -_with_mean(-g, at), np.zeros(at.count)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return -1."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the upper bounds; -inf if one is infinite."""
        is_finite = at.sum(np.where(np.isinf(high), 1.0, 0.0)) == 0
        return np.where(is_finite, self.value(np.where(np.isinf(high), 0.0, high), at), -np.inf)

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the lower bounds."""
        return self.value(np.where(np.isinf(low), 0.0, low), at)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return the non-negative part."""
        return np.maximum(e, 0.0)

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if the entries are positive."""
        return bool((low > SMALLEST).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return minus a root of a product."""
        row = write.after(index)
        if not row:
            return rf"-{write.bracketed('')}"
        group = self.latex_run(index, row)
        return rf"-\left(\prod_{{{group}}} {write.bracketed(row)}\right)^{{1/n}}"


def geo_mean(expression: Operand, axis: int | None = None) -> Expression:
    """Return the geometric mean (x_1 ... x_n)^(1/n), a scalar, or the means along an axis.

    It is concave and increasing, and requires x >= 0.

    Parameters
    ----------
    expression : Expression
        The argument x, with at least one entry.
    axis : int, optional
        The axis along which the mean is taken; all entries by default.
    """
    return -NegativeGeoMean(*runs_of(with_entries(expression, "geo_mean"), axis, "geo_mean"))


def _with_mean(a: Vector, at: Segments) -> Vector:
    """Return the nearest h > 0 per run with a geometric mean of at least 1 / n."""
    # h solves h_j (h_j - a_j) = m with the smallest m >= 0 for which sum log h_j >= -n log n.
    least = -at.sizes * np.log(at.sizes)
    scale = 1.0 + at.max(np.abs(a))
    low, high = np.full(at.count, -700.0), 2.0 * np.log(scale) + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(BISECTION_STEPS):
            middle = 0.5 * (low + high)
            is_enough = at.sum(np.log(_root(a, np.exp(middle)[at.of]))) >= least
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        is_allowed = (at.sum(np.where(a > 0, 0.0, 1.0)) == 0) & (at.sum(np.log(np.where(a > 0, a, 1.0))) >= least)
    return np.where(is_allowed[at.of], a, _root(a, np.exp(high)[at.of]))


def _root(a: Vector, m: Vector) -> Vector:
    """Return the positive root h of h (h - a) = m, without cancellation."""
    root = np.sqrt(a**2 + 4.0 * m)
    return np.where(a >= 0, 0.5 * (a + root), 2.0 * m / np.where(a >= 0, 1.0, root - a))
