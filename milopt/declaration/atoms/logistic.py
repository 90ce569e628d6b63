"""Atom of the logistic function log(1 + exp e)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class Logistic(Atom):
    """Logistic function log(1 + exp e), entry by entry.

    Epigraph: exp(e - t) <= u and exp(-t) <= v with u + v <= 1, two exponential cones per entry.
    """

    word = "logistic"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return log(1 + exp e), without overflow."""
        return np.asarray(np.logaddexp(0.0, e))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints exp(e - t) <= u, exp(-t) <= v and u + v <= 1, with auxiliary variables u and v."""
        u, v = new("u", runs.entry_count, lower=0.0), new("v", runs.entry_count, lower=0.0)
        return [
            non_negative("sum", 1.0 - u - v),
            exponential("cone_e", e - t, 1.0, u, runs.entry_count),
            exponential("cone_0", -t, 1.0, v, runs.entry_count),
        ]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return the sigmoid 1 / (1 + exp(-e))."""
        return np.asarray(expit(e))

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return g clipped to [0, 1], and the conjugate g log g + (1 - g) log(1 - g) there."""
        allowed = np.clip(g, 0.0, 1.0)
        return allowed, np.asarray(xlogy(allowed, allowed) + xlogy(1.0 - allowed, 1.0 - allowed))

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for every entry: the atom is nondecreasing."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the lower bounds, where the atom is smallest."""
        return self.value(low, runs)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of log(1 + exp e)."""
        return rf"\log\left(1 + \exp\left({write.argument(index)}\right)\right)"


def logistic(expression: Operand) -> Expression:
    """Return the logistic function log(1 + exp e), entry by entry.

    The atom is convex and increasing. The logistic loss of a score f and a label y is ``logistic(-y * f)``.

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
    >>> program = milopt.Program("logistic regression")
    >>> b = program.variable("b")
    >>> program.minimize(3 * milopt.logistic(-b) + milopt.logistic(b))
    >>> result = milopt.solve(program)
    >>> print(f"{result.value(b):.3f}")
    1.099
    """
    argument = as_expression(expression)
    return Logistic(argument, Segments.singles(argument.size), argument.shape)
