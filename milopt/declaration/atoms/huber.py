"""The Huber function: quadratic near 0, linear beyond."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative, second_order
from milopt.declaration.atoms.scalar_arguments import positive_number
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class Huber(Atom):
    """e^2 / 2 if |e| <= M, M |e| - M^2 / 2 otherwise; entry by entry.

    Epigraph: e = s + a rest, t >= s^2 / 2 + M r and r >= |rest|. With w = 2 (t - M r), the quadratic is
    ((1 + w)/2, (1 - w)/2, s) in the second-order cone.
    """

    word = "huber"
    cones = frozenset({"nonnegative", "second-order"})

    def __init__(self, argument: Expression, M: float) -> None:
        super().__init__(argument, Segments.singles(argument.size), argument.shape)
        self.M = M

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return the function at each entry."""
        size = np.abs(e)
        inner = np.minimum(size, self.M)
        # (2 |e| - inner) inner / 2 is e^2 / 2 if inner = |e|, and M |e| - M^2 / 2 if inner = M.
        return np.asarray((size - 0.5 * inner) * inner)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= s^2 / 2 + M r, r >= e - s and r >= s - e."""
        s, r = new("middle", at.total), new("rest", at.total, lower=0.0)
        half = t - self.M * r
        return [
            second_order("cone", [0.5 + half, 0.5 - half], s, at),
            non_negative("above", r - e + s),
            non_negative("below", r + e - s),
        ]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return e, clipped at -M and M."""
        return np.clip(e, -self.M, self.M)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes between -M and M, with the conjugate g^2 / 2."""
        allowed = np.clip(g, -self.M, self.M)
        return allowed, 0.5 * allowed**2

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1 where the entry is non-negative, -1 where it is non-positive."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the smallest absolute value within the bounds."""
        return self.value(np.maximum(0.0, np.maximum(low, -high)), at)

    def latex(self, index: str, write: Notation) -> str:
        """Return the function by its name."""
        return rf"\mathrm{{huber}}_{{{write.number(self.M)}}}\left({write.argument(index)}\right)"


def huber(expression: Operand, M: float = 1.0) -> Expression:
    """Return e^2 / 2 where |e| <= M and M |e| - M^2 / 2 elsewhere, entry by entry.

    This is the usual definition; the function `huber` of cvxpy is twice as large.

    Parameters
    ----------
    expression : Expression
        The argument e.
    M : float, default=1.0
        Where the quadratic ends, and the largest slope; positive.
    """
    return Huber(as_expression(expression), positive_number(M, "M", "huber"))
