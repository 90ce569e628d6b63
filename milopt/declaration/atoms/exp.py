"""The exponential function."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class Exp(Atom):
    """exp e, entry by entry; infinite above e = 709.7.

    Epigraph: (e, 1, t) in the exponential cone.
    """

    word = "exp"
    cones = frozenset({"exponential"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return exp e."""
        with np.errstate(over="ignore"):
            return np.exp(e)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return exp e <= t."""
        return [exponential("cone", e, 1.0, t, at.total)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return exp e."""
        return self.value(e, at)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes of at least 0, with the conjugate g log g - g."""
        allowed = np.maximum(g, 0.0)
        return allowed, np.asarray(xlogy(allowed, allowed) - allowed)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the lower bounds."""
        return self.value(low, at)

    def latex(self, index: str, write: Notation) -> str:
        """Return exp e."""
        return rf"\exp\left({write.argument(index)}\right)"


def exp(expression: Operand) -> Expression:
    """Return exp e, entry by entry.

    Parameters
    ----------
    expression : Expression
        The argument e, a scalar or a vector.
    """
    argument = as_expression(expression)
    return Exp(argument, Segments.singles(argument.size), argument.shape)
