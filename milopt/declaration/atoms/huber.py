"""Atom of the Huber function, which is quadratic near 0 and linear for large arguments."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.argument_checks import check_positive_number
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class Huber(Atom):
    """Huber function, entry by entry: e^2 / 2 if |e| <= M, otherwise M |e| - M^2 / 2.

    Epigraph: t >= s^2 / 2 + M r and r >= |e - s|. With w = 2 (t - M r), the quadratic part is ((1 + w)/2, (1 - w)/2, s)
    in the second-order cone.
    """

    word = "huber"
    cones = frozenset({"nonnegative", "second-order"})

    def __init__(self, argument: Expression, M: float) -> None:
        super().__init__(argument, Segments.singles(argument.size), argument.shape)
        self.M = M

    def argument_texts(self) -> list[str]:
        """Return the texts of the expression and of M unless it is 1."""
        return [*super().argument_texts(), *([] if self.M == 1.0 else [f"M={self.M:g}"])]

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return the Huber function of each entry."""
        size = np.abs(e)
        inner = np.minimum(size, self.M)
        # (2 |e| - inner) inner / 2 is e^2 / 2 if inner = |e|, and M |e| - M^2 / 2 if inner = M.
        return np.asarray((size - 0.5 * inner) * inner)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= s^2 / 2 + M r, r >= e - s and r >= s - e, with auxiliary variables s and r >= 0."""
        s, r = new("middle", runs.entry_count), new("rest", runs.entry_count, lower=0.0)
        half = t - self.M * r
        return [
            second_order("cone", [0.5 + half, 0.5 - half], s, runs),
            non_negative("above", r - e + s),
            non_negative("below", r + e - s),
        ]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return e clipped to [-M, M]."""
        return np.clip(e, -self.M, self.M)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return g clipped to [-M, M], and the conjugate g^2 / 2 there."""
        allowed = np.clip(g, -self.M, self.M)
        return allowed, 0.5 * allowed**2

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for entries with low >= 0, -1 for entries with high <= 0, and 0 for all others."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the smallest absolute value within the bounds."""
        return self.value(np.maximum(0.0, np.maximum(low, -high)), runs)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text huber_M(e)."""
        return rf"\mathrm{{huber}}_{{{write.number(self.M)}}}\left({write.argument(index)}\right)"


def huber(expression: Operand, M: float = 1.0) -> Expression:
    """Return the Huber function, entry by entry: e^2 / 2 if |e| <= M, otherwise M |e| - M^2 / 2.

    The atom is convex. The function `huber` of cvxpy is twice as large.

    Parameters
    ----------
    expression : Expression
        The argument e, of any shape.
    M : float, default=1.0
        Threshold between the quadratic and the linear part, and the largest slope. Must be positive.

    Returns
    -------
    Expression
        Expression of the shape of e.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("robust mean")
    >>> x = program.variable("x")
    >>> program.minimize(milopt.huber(x - [1.0, 2.0, 30.0]).sum())
    >>> result = milopt.solve(program)
    >>> print(f"{result.value(x):.3f}")
    2.000
    """
    return Huber(as_expression(expression), check_positive_number(M, "M", "huber"))
