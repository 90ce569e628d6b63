"""The relative entropy sum x log(x / y), jointly convex in x and y."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.interleaved import at_one_shape, interleaved, separated
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape

SMALLEST = float(np.finfo(np.float64).tiny)
"""The smallest normal number: the least y, as y = 0 is not in the domain, and the least x / y of a slope."""
LARGEST_RATIO = 1e150
"""The largest x / y of a slope; its square is finite."""
BISECTION_STEPS = 80


class RelativeEntropy(Atom):
    """sum_j x_j log(x_j / y_j), for x >= 0 and y > 0; x and y alternate in the argument.

    Epigraph: u_j >= x_j log(x_j / y_j), that is (-u_j, x_j, y_j) in the exponential cone, and t >= sum u.
    """

    word = "relative_entropy"
    cones = frozenset({"nonnegative", "exponential"})

    def __init__(self, parts: tuple[Expression, ...], shape: Shape) -> None:
        super().__init__(interleaved(parts), Segments([2 * parts[0].size]), ())
        self.parts = parts
        """x and y."""
        self._part_shape = shape

    def of(self, argument: Expression) -> Self:
        """Return the same atom of another argument of the same size."""
        other = super().of(argument)
        other.parts = separated(argument, 2, self._part_shape)
        return other

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return sum x log(x / y)."""
        x, y = _pairs(self.nearest(e, at))
        return _sums(np.asarray(xlogy(x, x) - xlogy(x, y), dtype=np.float64), at)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return u_j >= x_j log(x_j / y_j) and t >= sum u."""
        pairs = Segments(at.sizes // 2)
        u = new("u", pairs.total)
        return [
            exponential("cone", -u, e[0::2], e[1::2], pairs.total),
            non_negative("sum", t - pairs.indicator @ u),
        ]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 1 + log(x / y) for x and -x / y for y, with x / y between 2e-308 and 1e150."""
        x, y = _pairs(self.nearest(e, at))
        with np.errstate(over="ignore"):
            ratio = np.clip(x / y, SMALLEST, LARGEST_RATIO)
        return _alternating(1.0 + np.log(ratio), -ratio)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest slopes (a, b) with b <= -exp(a - 1) per pair, where the conjugate is 0."""
        a, b = _pairs(np.clip(g, -LARGEST_RATIO, LARGEST_RATIO))
        with np.errstate(over="ignore"):
            is_allowed = b <= -np.exp(a - 1.0)
        near = _nearest_first_slope(a, b)
        return _alternating(np.where(is_allowed, a, near), np.where(is_allowed, b, -np.exp(near - 1.0))), np.zeros(
            at.count
        )

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return -1 for y; for x, +1 where x >= y/e, -1 where x <= y/e, 0 if neither is known."""
        x_low, y_low = _pairs(low)
        x_high, y_high = _pairs(high)
        of_x = np.where(x_low >= y_high / np.e, 1, np.where(x_high <= y_low / np.e, -1, 0))
        return _alternating(of_x, np.full(of_x.size, -1)).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the sum over the largest y, with the x nearest to y/e."""
        (x_low, _), (x_high, y) = _pairs(np.maximum(low, 0.0)), _pairs(np.maximum(high, SMALLEST))
        x = np.clip(y / np.e, x_low, x_high)
        is_bounded = np.isfinite(x) & np.isfinite(y)
        x, y = np.where(is_bounded, x, 0.0), np.where(is_bounded, y, 1.0)
        return _sums(np.where(is_bounded, xlogy(x, x) - xlogy(x, y), -np.inf), at)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return x of at least 0 and y of at least 2e-308."""
        x, y = _pairs(e)
        return _alternating(np.maximum(x, 0.0), np.maximum(y, SMALLEST))

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if x and y are above 2e-308."""
        return bool((low > SMALLEST).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return a sum of x log(x / y)."""
        row = write.after(index) if self._part_shape else ""
        x, y = (write.part(part, row) for part in self.parts)
        total = rf"\sum_{{{row}}} " if row else ""
        return rf"{total}\left({x}\right) \log \frac{{{x}}}{{{y}}}"


def relative_entropy(x: Operand, y: Operand) -> Expression:
    """Return sum_j x_j log(x_j / y_j), a scalar; it is jointly convex, and requires x >= 0 and y > 0.

    Parameters
    ----------
    x, y : Expression
        Expressions or numbers, which are broadcast to one shape. Their entries need not add up to 1.
    """
    return RelativeEntropy(*at_one_shape((x, y), "relative_entropy"))


def _pairs(e: Vector) -> tuple[Vector, Vector]:
    """Return the entries of x and of y."""
    return e[0::2], e[1::2]


def _alternating(x: Vector, y: Vector) -> Vector:
    """Return the entries of x and y in turn."""
    return np.column_stack([x, y]).ravel()


def _sums(per_pair: Vector, at: Segments) -> Vector:
    """Return the sum over the pairs of each run."""
    return Segments(at.sizes // 2).sum(per_pair)


def _nearest_first_slope(a: Vector, b: Vector) -> Vector:
    """Return the s for which (s, -exp(s - 1)) is nearest to (a, b), for b > -exp(a - 1)."""
    # With p = exp(s - 1), the derivative s - a + p (p + b) increases from s = 1 + log(-b), or everywhere if b >= 0,
    # and is at least 0 at s = a. It is also at least 0 if p >= 1 + sqrt|a| + |b|.
    high = np.minimum(a, 1.0 + np.log1p(np.sqrt(np.abs(a)) + np.abs(b)))
    p = np.exp(high - 1.0)
    with np.errstate(divide="ignore"):
        start = np.where(b < 0, 1.0 + np.log(np.maximum(-b, 0.0)), -np.inf)
    low = np.minimum(high, np.maximum(start, a - p * (p + np.maximum(b, 0.0))))
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        p = np.exp(middle - 1.0)
        is_above = middle - a + p * (p + b) >= 0
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.asarray(0.5 * (low + high))
