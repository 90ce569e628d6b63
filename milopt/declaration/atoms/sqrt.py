"""The square root, which is concave."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

SMALLEST = 1e-100
"""Slopes at 0, where the root has none, are taken there; slopes of minorants are at most minus this number."""


class NegativeSqrt(Atom):
    """-sqrt(e), entry by entry, for e >= 0.

    Epigraph: t >= -u and u^2 <= e, that is ((1 + e)/2, (1 - e)/2, u) in the second-order cone.
    """

    word, negated_word = "negative_sqrt", "sqrt"
    cones = frozenset({"nonnegative", "second-order"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return -sqrt(e)."""
        return -np.sqrt(self.nearest(e, at))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t + u >= 0 and u^2 <= e."""
        u = new("u", at.total)
        return [non_negative("root", t + u), second_order("cone", [0.5 + 0.5 * e, 0.5 - 0.5 * e], u, at)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return -1 / (2 sqrt(e)); -5e49 at 0, where no slope is steep enough."""
        return np.asarray(-0.5 / np.sqrt(np.maximum(e, SMALLEST)))

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes below 0, with the conjugate -1 / (4 g)."""
        allowed = np.minimum(g, -SMALLEST)
        return allowed, -0.25 / allowed

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return -1."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the upper bounds."""
        return self.value(high, at)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return the non-negative part."""
        return np.maximum(e, 0.0)

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if the entries are positive."""
        return bool((low > SMALLEST).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return minus a root."""
        return rf"-\sqrt{{{write.argument(index)}}}"


def sqrt(expression: Operand) -> Expression:
    """Return the square root of e, entry by entry; it is concave and increasing, and requires e >= 0.

    Parameters
    ----------
    expression : Expression
        The argument e, of any shape. `e ** 0.5` is the same.
    """
    argument = as_expression(expression)
    return -NegativeSqrt(argument, Segments.singles(argument.size), argument.shape)
