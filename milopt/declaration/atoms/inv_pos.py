"""The reciprocal of positive numbers."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

SMALLEST = 1e-100
"""The smallest argument: the slope there is -1e200, which is finite."""


class InvPos(Atom):
    """1 / e, entry by entry, for e > 0; it decreases from infinity to 0.

    Epigraph: t e >= 1, that is ((t + e)/2, (t - e)/2, 1) in the second-order cone.
    """

    word = "inv_pos"
    cones = frozenset({"second-order"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return 1 / e; 1e100 at 0."""
        return np.asarray(1.0 / self.nearest(e, at))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t e >= 1."""
        return [second_order("cone", [0.5 * (t + e), 0.5 * (t - e)], as_expression(np.ones(at.total)), at)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return -1 / e^2."""
        return -(self.value(e, at) ** 2)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes of at most 0, with the conjugate -2 sqrt(-g)."""
        allowed = np.minimum(g, 0.0)
        return allowed, -2.0 * np.sqrt(-allowed)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return -1."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the upper bounds."""
        return self.value(high, at)

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the lower bounds; inf if these are not positive."""
        return np.where(low > 0, self.value(low, at), np.inf)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return the entries, raised to 1e-100."""
        return np.maximum(e, SMALLEST)

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if the entries are positive."""
        return bool((low > SMALLEST).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return a fraction."""
        return rf"\frac{{1}}{{{write.argument(index)}}}"


def inv_pos(expression: Operand) -> Expression:
    """Return 1 / e, entry by entry; it is convex and decreasing, and requires e > 0.

    Parameters
    ----------
    expression : Expression
        The argument e, of any shape. `e ** -1` is the same.
    """
    argument = as_expression(expression)
    return InvPos(argument, Segments.singles(argument.size), argument.shape)
