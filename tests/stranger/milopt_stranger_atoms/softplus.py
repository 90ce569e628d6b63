"""Atom of a smooth positive part with steepness a, log(1 + exp(a e)) / a."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf


class SteepSoftplus(Atom):
    """Smooth positive part log(1 + exp(a e)) / a, entry by entry; it exceeds max(e, 0) by at most log(2) / a."""

    word = "softplus"
    cones = frozenset({"nonnegative", "exponential"})
    a: float = 1.0
    """Steepness."""

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return log(1 + exp(a e)) / a, without overflow."""
        return np.asarray(np.logaddexp(0.0, self.a * e) / self.a)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints exp(a (e - t)) <= u, exp(-a t) <= v and u + v <= 1."""
        u, v = new("u", runs.entry_count, lower=0.0), new("v", runs.entry_count, lower=0.0)
        return [
            non_negative("sum", 1.0 - u - v),
            exponential("cone_e", self.a * (e - t), 1.0, u, runs.entry_count),
            exponential("cone_0", -self.a * t, 1.0, v, runs.entry_count),
        ]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return 1 / (1 + exp(-a e))."""
        return np.asarray(expit(self.a * e))

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return g clipped to [0, 1], and the conjugate (g log g + (1 - g) log(1 - g)) / a there."""
        g = np.clip(g, 0.0, 1.0)
        return g, np.asarray((xlogy(g, g) + xlogy(1.0 - g, 1.0 - g)) / self.a)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for every entry: the atom is nondecreasing."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the lower bounds, where the atom is smallest."""
        return self.value(low, runs)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of softplus with its steepness as an index."""
        return rf"\operatorname{{softplus}}_{{{write.number(self.a)}}}\left({write.argument(index)}\right)"


def softplus(expression: Expression, a: float = 1.0) -> Expression:
    """Return the smooth positive part log(1 + exp(a e)) / a, entry by entry."""
    atom = SteepSoftplus(expression, Segments.singles(expression.size), expression.shape)
    atom.a = a
    return atom
