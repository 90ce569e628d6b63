"""Atom of the natural logarithm, which is concave."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

MIN_ARGUMENT = 1e-100
"""Smallest argument; smaller ones are replaced by it.

The atom -log e is 230 there and its slope -1e100, so that products of slopes are finite.
"""


class NegativeLog(Atom):
    """Negative logarithm -log e, entry by entry, for e > 0; it decreases from infinity to -infinity.

    Epigraph: exp(-t) <= e, that is (-t, 1, e) in the exponential cone.
    """

    word, negated_word = "negative_log", "log"
    cones = frozenset({"exponential"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return -log e; about 230 for e <= 1e-100."""
        return np.asarray(-np.log(self.nearest(e, runs)))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraint exp(-t) <= e."""
        return [exponential("cone", -t, 1.0, e, runs.entry_count)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return -1 / e; -1e100 for e <= 1e-100."""
        return np.asarray(-1.0 / self.nearest(e, runs))

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return min(g, -1e-100), and the conjugate -1 - log(-g) there."""
        allowed = np.minimum(g, -MIN_ARGUMENT)
        return allowed, -1.0 - np.log(-allowed)

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
        """Return the LaTeX text of -log e."""
        return rf"-\log {write.bracketed(index)}"


def log(expression: Operand) -> Expression:
    """Return the natural logarithm log e, entry by entry.

    The logarithm is concave and increasing, and requires e > 0.

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
    >>> program = milopt.Program("maximum likelihood")
    >>> p = program.variable("p", 2, lower=0)
    >>> program.maximize([3.0, 1.0] @ milopt.log(p))
    >>> program.subject_to(p.sum() == 1)
    sum(p) == 1
    >>> result = milopt.solve(program)
    >>> print(result.value(p).round(3))
    [0.75 0.25]
    """
    argument = as_expression(expression)
    return -NegativeLog(argument, Segments.singles(argument.size), argument.shape)
