"""A sum of squares divided by a positive number, jointly convex in both."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.scalar_arguments import with_entries
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.joined import concatenate
from milopt.errors import DeclarationError

SMALLEST = 1e-100
"""The smallest divisor: the slopes there are finite."""
BISECTION_STEPS = 100


class QuadOverLin(Atom):
    """||x||^2 / y of each run, for y > 0; a run has the entries of x, then y.

    Epigraph: t y >= ||x||^2, that is ((t + y)/2, (t - y)/2, x) in the second-order cone.
    """

    word = "quad_over_lin"
    cones = frozenset({"second-order"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return ||x||^2 / y."""
        x, y = _split(self.nearest(e, at), at)
        return np.asarray(at.sum(x**2) / y)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t y >= ||x||^2."""
        is_divisor = _is_divisor(at)
        x, y = e[np.flatnonzero(~is_divisor)], e[np.flatnonzero(is_divisor)]
        return [second_order("cone", [0.5 * (t + y), 0.5 * (t - y)], x, Segments(at.sizes - 1))]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 2 x / y for x, and -||x||^2 / y^2 for y."""
        x, y = _split(self.nearest(e, at), at)
        ratio = x / y[at.of]
        return _with_divisors(2.0 * ratio, -at.sum(ratio**2), at)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest slopes (a, b) with b <= -||a||^2 / 4 per run, where the conjugate is 0."""
        a, b = _split(g, at)
        length = np.sqrt(at.sum(a**2))
        allowed = _nearest_length(length, b)
        scale = np.where(length > 0, allowed / np.where(length > 0, length, 1.0), 1.0)
        return _with_divisors(a * scale[at.of], np.minimum(b, -(allowed**2) / 4.0), at), np.zeros(at.count)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1 where an entry of x is non-negative, -1 where it is non-positive; -1 for y."""
        of_x = np.where(low >= 0, 1, np.where(high <= 0, -1, 0))
        return np.where(_is_divisor(at), -1, of_x).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the shortest x and the largest y."""
        shortest = np.maximum(0.0, np.maximum(low, -high))
        return self.value(np.where(_is_divisor(at), high, shortest), at)

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the longest x and the smallest y; inf if y may be 0."""
        x, y = _split(np.where(_is_divisor(at), low, np.maximum(np.abs(low), np.abs(high))), at)
        return np.where(y > 0, at.sum(x**2) / np.where(y > 0, y, 1.0), np.inf)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return x as it is, and y of at least 1e-100."""
        return np.where(_is_divisor(at), np.maximum(e, SMALLEST), e)

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if the divisors are positive."""
        return bool((low[_is_divisor(at)] > SMALLEST).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return a fraction."""
        row, parts = write.after(index), self.argument
        x = rf"\sum_{{{row}}} \left({write.part(parts[:-1], row)}\right)^2"
        return rf"\frac{{{x}}}{{{write.part(parts[-1], '')}}}"


def quad_over_lin(x: Operand, y: Operand) -> Expression:
    """Return sum_j x_j^2 / y, a scalar; it is jointly convex, and requires y > 0.

    Parameters
    ----------
    x : Expression
        The entries whose squares are added up.
    y : Expression
        The divisor, a scalar.
    """
    above, below = with_entries(x, "quad_over_lin"), as_expression(y)
    if below.size != 1:
        raise DeclarationError(f"The divisor of quad_over_lin is a scalar, not of shape {below.shape}.")
    return QuadOverLin(concatenate([above.ravel(), below.ravel()]), Segments([above.size + 1]), ())


def _is_divisor(at: Segments) -> Index:
    """Return per entry whether it is the last one of its run."""
    found = np.zeros(at.total, dtype=bool)
    found[at.offsets[1:] - 1] = True
    return found


def _split(e: Vector, at: Segments) -> tuple[Vector, Vector]:
    """Return the entries with 0 in the place of y, and y of each run."""
    is_divisor = _is_divisor(at)
    return np.where(is_divisor, 0.0, e), e[is_divisor]


def _with_divisors(x: Vector, y: Vector, at: Segments) -> Vector:
    """Return entries with y in the last place of each run."""
    return np.where(_is_divisor(at), y[at.of], x)


def _nearest_length(r: Vector, b: Vector) -> Vector:
    """Return the s in [0, r] for which (s, min(b, -s^2 / 4)) is nearest to (r, b)."""
    # Half the squared distance has the derivative s^3 / 8 + (1 + b / 2) s - r, convex for s >= 0 and -r <= 0 at s = 0.
    is_allowed = b <= -(r**2) / 4.0
    low, high = np.zeros(r.size), np.where(is_allowed, 0.0, r)
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        is_above = middle**3 / 8.0 + (1.0 + b / 2.0) * middle >= r
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.where(is_allowed, r, 0.5 * (low + high))
