"""Atom of the square root, which is concave."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

MIN_SLOPE_ARGUMENT = 1e-100
"""Smallest argument at which slopes are computed, since the slope at 0 is infinite.

The same number limits the slopes of minorants: they are at most -MIN_SLOPE_ARGUMENT.
"""


class NegativeSqrt(Atom):
    """Negative square root -sqrt(e), entry by entry, for e >= 0.

    Epigraph: t >= -u and u^2 <= e, that is ((1 + e)/2, (1 - e)/2, u) in the second-order cone.
    """

    word, negated_word = "negative_sqrt", "sqrt"
    cones = frozenset({"nonnegative", "second-order"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return -sqrt(e); 0 for e < 0."""
        return -np.sqrt(self.nearest(e, runs))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints t + u >= 0 and u^2 <= e, with auxiliary variables u."""
        u = new("u", runs.entry_count)
        return [non_negative("root", t + u), second_order("cone", [0.5 + 0.5 * e, 0.5 - 0.5 * e], u, runs)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return -1 / (2 sqrt(e)); -5e49 for e <= 1e-100, because the slope at 0 is infinite."""
        return np.asarray(-0.5 / np.sqrt(np.maximum(e, MIN_SLOPE_ARGUMENT)))

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return min(g, -1e-100), and the conjugate -1 / (4 g) there."""
        allowed = np.minimum(g, -MIN_SLOPE_ARGUMENT)
        return allowed, -0.25 / allowed

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return -1 for every entry: the atom is nonincreasing."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the upper bounds, where the atom is smallest."""
        return self.value(high, runs)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return max(e, 0)."""
        return np.maximum(e, 0.0)

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if all lower bounds are above 1e-100, so that slopes are finite."""
        return bool((low > MIN_SLOPE_ARGUMENT).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of -sqrt(e)."""
        return rf"-\sqrt{{{write.argument(index)}}}"


def sqrt(expression: Operand) -> Expression:
    """Return the square root of e, entry by entry.

    The square root is concave and increasing, and requires e >= 0. ``e ** 0.5`` returns the same expression.

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
    >>> program = milopt.Program("square root")
    >>> x = program.variable("x", lower=0)
    >>> program.maximize(milopt.sqrt(x) - 0.25 * x)
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    1.000
    """
    argument = as_expression(expression)
    return -NegativeSqrt(argument, Segments.singles(argument.size), argument.shape)
