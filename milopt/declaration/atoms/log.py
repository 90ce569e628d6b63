"""The logarithm, which is concave."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

SMALLEST = 1e-100
"""The smallest argument: the value there is 230, and the slope -1e100, so that products of slopes are finite."""


class NegativeLog(Atom):
    """-log e, entry by entry, for e > 0; it decreases from infinity.

    Epigraph: exp(-t) <= e, that is (-t, 1, e) in the exponential cone.
    """

    word, negated_word = "negative_log", "log"
    cones = frozenset({"exponential"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return -log e; 230 at 0."""
        return np.asarray(-np.log(self.nearest(e, at)))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return exp(-t) <= e."""
        return [exponential("cone", -t, 1.0, e, at.total)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return -1 / e."""
        return np.asarray(-1.0 / self.nearest(e, at))

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes below 0, with the conjugate -1 - log(-g)."""
        allowed = np.minimum(g, -SMALLEST)
        return allowed, -1.0 - np.log(-allowed)

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
        """Return minus a logarithm."""
        return rf"-\log {write.bracketed(index)}"


def log(expression: Operand) -> Expression:
    """Return the natural logarithm log e, entry by entry; it is concave and increasing, and requires e > 0.

    Parameters
    ----------
    expression : Expression
        The argument e, of any shape.
    """
    argument = as_expression(expression)
    return -NegativeLog(argument, Segments.singles(argument.size), argument.shape)
