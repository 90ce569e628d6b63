"""Atom of the relative entropy sum_j x_j log(x_j / y_j), which is jointly convex in x and y."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.interleaving import broadcast_together, deinterleave, interleave
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape
from milopt.declaration.programs.expression_text import format_expression

MIN_POSITIVE = float(np.finfo(np.float64).tiny)
"""Smallest normal number: lower limit of y, because y = 0 is outside the domain, and of x / y in slopes."""
MAX_SLOPE_RATIO = 1e150
"""Upper limit of x / y in slopes; its square does not overflow."""
BISECTION_STEPS = 80
"""Number of bisection steps of the projection in `conjugate`."""


class RelativeEntropy(Atom):
    """Relative entropy sum_j x_j log(x_j / y_j), for x >= 0 and y > 0.

    The entries of x and y alternate in the argument of the atom.

    Epigraph: u_j >= x_j log(x_j / y_j), that is (-u_j, x_j, y_j) in the exponential cone, and t >= sum u.
    """

    word = "relative_entropy"
    cones = frozenset({"nonnegative", "exponential"})

    def __init__(self, parts: tuple[Expression, ...], shape: Shape) -> None:
        super().__init__(interleave(parts), Segments([2 * parts[0].size]), ())
        self.parts = parts
        """Expressions x and y."""
        self._part_shape = shape

    def with_argument(self, argument: Expression) -> Self:
        """Return a copy of the atom with another argument of the same size."""
        other = super().with_argument(argument)
        other.parts = deinterleave(argument, 2, self._part_shape)
        return other

    def argument_texts(self) -> list[str]:
        """Return the texts of x and y."""
        return [format_expression(part, self._part_shape) for part in self.parts]

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return sum_j x_j log(x_j / y_j), with x replaced by max(x, 0) and y by max(y, 2e-308)."""
        x, y = _split_pairs(self.nearest(e, runs))
        return _sum_pairs(np.asarray(xlogy(x, x) - xlogy(x, y), dtype=np.float64), runs)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints u_j >= x_j log(x_j / y_j) and t >= sum_j u_j, with auxiliary variables u."""
        pairs = Segments(runs.sizes // 2)
        u = new("u", pairs.entry_count)
        return [
            exponential("cone", -u, e[0::2], e[1::2], pairs.entry_count),
            non_negative("sum", t - pairs.indicator @ u),
        ]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return 1 + log(x / y) for x and -x / y for y, with x / y clipped to [2e-308, 1e150]."""
        x, y = _split_pairs(self.nearest(e, runs))
        with np.errstate(over="ignore"):
            ratio = np.clip(x / y, MIN_POSITIVE, MAX_SLOPE_RATIO)
        return _join_pairs(1.0 + np.log(ratio), -ratio)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return (h, 0), where h is nearest to g with b <= -exp(a - 1) for the slopes (a, b) of each pair (x_j, y_j).

        Entries of g are clipped to [-1e150, 1e150] first.
        """
        a, b = _split_pairs(np.clip(g, -MAX_SLOPE_RATIO, MAX_SLOPE_RATIO))
        with np.errstate(over="ignore"):
            is_allowed = b <= -np.exp(a - 1.0)
        near = _nearest_slope_of_x(a, b)
        slopes = _join_pairs(np.where(is_allowed, a, near), np.where(is_allowed, b, -np.exp(near - 1.0)))
        return slopes, np.zeros(runs.count)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return -1 for y; for x, +1 if the bounds imply x >= y/e, -1 if they imply x <= y/e, and 0 otherwise."""
        x_low, y_low = _split_pairs(low)
        x_high, y_high = _split_pairs(high)
        of_x = np.where(x_low >= y_high / np.e, 1, np.where(x_high <= y_low / np.e, -1, 0))
        return _join_pairs(of_x, np.full(of_x.size, -1)).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the largest y and the x nearest to y/e within its bounds; -inf if this x or y is inf."""
        (x_low, _), (x_high, y) = _split_pairs(np.maximum(low, 0.0)), _split_pairs(np.maximum(high, MIN_POSITIVE))
        x = np.clip(y / np.e, x_low, x_high)
        is_bounded = np.isfinite(x) & np.isfinite(y)
        x, y = np.where(is_bounded, x, 0.0), np.where(is_bounded, y, 1.0)
        return _sum_pairs(np.where(is_bounded, xlogy(x, x) - xlogy(x, y), -np.inf), runs)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return max(x, 0) and max(y, 2e-308)."""
        x, y = _split_pairs(e)
        return _join_pairs(np.maximum(x, 0.0), np.maximum(y, MIN_POSITIVE))

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if the lower bounds of x and y are above 2e-308."""
        return bool((low > MIN_POSITIVE).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a sum of x log(x / y)."""
        row = write.next_index(index) if self._part_shape else ""
        x, y = (write.part(part, row) for part in self.parts)
        total = rf"\sum_{{{row}}} " if row else ""
        return rf"{total}\left({x}\right) \log \frac{{{x}}}{{{y}}}"


def relative_entropy(x: Operand, y: Operand) -> Expression:
    """Return the relative entropy sum_j x_j log(x_j / y_j).

    The atom is jointly convex in x and y, and requires x >= 0 and y > 0. It is also called Kullback-Leibler divergence.

    Parameters
    ----------
    x, y : Expression
        Expressions or numbers, which are broadcast to one shape. Their entries need not add up to 1.

    Returns
    -------
    Expression
        Scalar expression.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("nearest distribution")
    >>> x = program.variable("x", 2, lower=[0.5, 0.0])
    >>> program.minimize(milopt.relative_entropy(x, [0.2, 0.8]))
    >>> program.subject_to(x.sum() == 1)
    sum(x) == 1
    >>> result = milopt.solve(program)
    >>> print(result.value(x).round(3))
    [0.5 0.5]
    """
    return RelativeEntropy(*broadcast_together((x, y), "relative_entropy"))


def _split_pairs(e: Vector) -> tuple[Vector, Vector]:
    """Return (x, y) from a vector in which their entries alternate."""
    return e[0::2], e[1::2]


def _join_pairs(x: Vector, y: Vector) -> Vector:
    """Return a vector in which the entries of x and y alternate: the inverse of `_split_pairs`."""
    return np.column_stack([x, y]).ravel()


def _sum_pairs(per_pair: Vector, runs: Segments) -> Vector:
    """Return, for each run, the sum of `per_pair`, which has one number per pair (x_j, y_j)."""
    return Segments(runs.sizes // 2).sum(per_pair)


def _nearest_slope_of_x(a: Vector, b: Vector) -> Vector:
    """Return the s for which (s, -exp(s - 1)) is nearest to (a, b), for b > -exp(a - 1)."""
    # With p = exp(s - 1), half the squared distance has the derivative s - a + p (p + b). The derivative increases for
    # s >= 1 + log(-b), or everywhere if b >= 0, and is at least 0 at s = a. It is also at least 0 if
    # p >= 1 + sqrt|a| + |b|.
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
