"""A smooth positive part with a steepness: log(1 + exp(a e)) / a."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf


class Softplus(Atom):
    """log(1 + exp(a e)) / a, entry by entry: above the positive part by at most log(2) / a."""

    word = "softplus"
    cones = frozenset({"nonnegative", "exponential"})
    a: float = 1.0

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return log(1 + exp(a e)) / a, without overflow."""
        return np.asarray(np.logaddexp(0.0, self.a * e) / self.a)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return exp(a e - a t) + exp(-a t) <= 1."""
        u, v = new("u", at.total, lower=0.0), new("v", at.total, lower=0.0)
        return [
            non_negative("sum", 1.0 - u - v),
            exponential("cone_e", self.a * (e - t), 1.0, u, at.total),
            exponential("cone_0", -self.a * t, 1.0, v, at.total),
        ]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 1 / (1 + exp(-a e))."""
        return np.asarray(expit(self.a * e))

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes between 0 and 1, with the conjugate (g log g + (1 - g) log(1 - g)) / a."""
        g = np.clip(g, 0.0, 1.0)
        return g, np.asarray((xlogy(g, g) + xlogy(1.0 - g, 1.0 - g)) / self.a)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the lower bounds."""
        return self.value(low, at)

    def latex(self, index: str, write: Notation) -> str:
        """Return softplus with its steepness as an index."""
        return rf"\operatorname{{softplus}}_{{{write.number(self.a)}}}\left({write.argument(index)}\right)"


def softplus(expression: Expression, a: float = 1.0) -> Expression:
    """Return log(1 + exp(a e)) / a, entry by entry."""
    atom = Softplus(expression, Segments.singles(expression.size), expression.shape)
    atom.a = a
    return atom
