"""Atom of the exponential function."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class Exp(Atom):
    """Exponential exp(e), entry by entry; it overflows to inf for e > 709.7.

    Epigraph: (e, 1, t) in the exponential cone.
    """

    word = "exp"
    cones = frozenset({"exponential"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return exp(e)."""
        with np.errstate(over="ignore"):
            return np.exp(e)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraint exp(e) <= t."""
        return [exponential("cone", e, 1.0, t, runs.entry_count)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return exp(e)."""
        return self.value(e, runs)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return max(g, 0), and the conjugate g log g - g there."""
        allowed = np.maximum(g, 0.0)
        return allowed, np.asarray(xlogy(allowed, allowed) - allowed)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for every entry: the atom is nondecreasing."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the lower bounds, where the atom is smallest."""
        return self.value(low, runs)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of exp(e)."""
        return rf"\exp\left({write.argument(index)}\right)"


def exp(expression: Operand) -> Expression:
    """Return the exponential exp(e), entry by entry.

    The atom is convex and increasing.

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
    >>> program = milopt.Program("exponential loss")
    >>> x = program.variable("x")
    >>> program.minimize(milopt.exp(x) + 3 * milopt.exp(-x))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    3.464
    """
    argument = as_expression(expression)
    return Exp(argument, Segments.singles(argument.size), argument.shape)
