"""Atom of the reciprocal of positive numbers."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

MIN_ARGUMENT = 1e-100
"""Smallest argument; smaller ones are replaced by it. The slope there is -1e200, which is finite."""


class InvPos(Atom):
    """Reciprocal 1 / e, entry by entry, for e > 0; it decreases from infinity to 0.

    Epigraph: t e >= 1, that is ((t + e)/2, (t - e)/2, 1) in the second-order cone.
    """

    word = "inv_pos"
    cones = frozenset({"second-order"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return 1 / e; 1e100 for e <= 1e-100."""
        return np.asarray(1.0 / self.nearest(e, runs))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraint t e >= 1."""
        return [second_order("cone", [0.5 * (t + e), 0.5 * (t - e)], as_expression(np.ones(runs.entry_count)), runs)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return -1 / e^2; -1e200 for e <= 1e-100."""
        return -(self.value(e, runs) ** 2)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return min(g, 0), and the conjugate -2 sqrt(-g) there."""
        allowed = np.minimum(g, 0.0)
        return allowed, -2.0 * np.sqrt(-allowed)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return -1 for every entry: the atom is nonincreasing."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the upper bounds, where the atom is smallest."""
        return self.value(high, runs)

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the lower bounds, where the atom is largest; inf if a lower bound is not positive."""
        return np.where(low > 0, self.value(low, runs), np.inf)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return max(e, 1e-100)."""
        return np.maximum(e, MIN_ARGUMENT)

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if all lower bounds are above 1e-100, so that slopes are finite."""
        return bool((low > MIN_ARGUMENT).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the fraction 1 / e."""
        return rf"\frac{{1}}{{{write.argument(index)}}}"


def inv_pos(expression: Operand) -> Expression:
    """Return the reciprocal 1 / e, entry by entry.

    The atom is convex and decreasing, and requires e > 0. ``e ** -1`` returns the same expression.

    Parameters
    ----------
    expression : Expression
        The argument e, of any shape.

    Returns
    -------
    Expression
        Expression of the shape of e.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("reciprocal")
    >>> x = program.variable("x", lower=0)
    >>> program.minimize(x + 4 * milopt.inv_pos(x))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(x):.3f}")
    4.000 2.000
    """
    argument = as_expression(expression)
    return InvPos(argument, Segments.singles(argument.size), argument.shape)
