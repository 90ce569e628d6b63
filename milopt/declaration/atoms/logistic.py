"""The logistic function log(1 + exp e)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class Logistic(Atom):
    """log(1 + exp e), entry by entry.

    Epigraph: exp(e - t) <= u and exp(-t) <= v with u + v <= 1, by two exponential cones.
    """

    word = "logistic"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return log(1 + exp e), without overflow."""
        return np.asarray(np.logaddexp(0.0, e))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return exp(e - t) + exp(-t) <= 1."""
        u, v = new("u", at.total, lower=0.0), new("v", at.total, lower=0.0)
        return [
            non_negative("sum", 1.0 - u - v),
            exponential("cone_e", e - t, 1.0, u, at.total),
            exponential("cone_0", -t, 1.0, v, at.total),
        ]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 1 / (1 + exp(-e))."""
        return np.asarray(expit(e))

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes between 0 and 1, with the conjugate g log g + (1 - g) log(1 - g)."""
        allowed = np.clip(g, 0.0, 1.0)
        return allowed, np.asarray(xlogy(allowed, allowed) + xlogy(1.0 - allowed, 1.0 - allowed))

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the lower bounds."""
        return self.value(low, at)

    def latex(self, index: str, write: Notation) -> str:
        """Return log(1 + exp e)."""
        return rf"\log\left(1 + \exp\left({write.argument(index)}\right)\right)"


def logistic(expression: Operand) -> Expression:
    """Return log(1 + exp e), entry by entry.

    Parameters
    ----------
    expression : Expression
        The argument e, a scalar or a vector.
    """
    argument = as_expression(expression)
    return Logistic(argument, Segments.singles(argument.size), argument.shape)
