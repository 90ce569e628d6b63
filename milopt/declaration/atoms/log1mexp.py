"""The logarithm of 1 - exp(-e): of the probability of at least one event, if e is minus the log of that of none."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

SMALLEST_ARGUMENT = 1e-100
"""The smallest argument: the value there is 230, and the slope -1e100, so that products of slopes are finite."""


class NegativeLog1mexp(Atom):
    """-log(1 - exp(-e)), entry by entry, for e > 0; it decreases from infinity to 0.

    Epigraph: exp(-t) <= u and exp(-e) <= v with u + v <= 1, by two exponential cones.
    """

    word, negated_word = "negative_log1mexp", "log1mexp"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return -log(1 - exp(-e)); 230 at 0."""
        return np.asarray(-np.log(-np.expm1(-self.nearest(e, at))))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return exp(-t) + exp(-e) <= 1."""
        u, v = new("u", at.total, lower=0.0), new("v", at.total, lower=0.0)
        return [
            non_negative("sum", 1.0 - u - v),
            exponential("cone_t", -t, 1.0, u, at.total),
            exponential("cone_e", -e, 1.0, v, at.total),
        ]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return -1 / (exp(e) - 1)."""
        with np.errstate(over="ignore"):
            return np.asarray(-1.0 / np.expm1(self.nearest(e, at)))

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes -h of at most 0, with the conjugate h log h - (1 + h) log(1 + h)."""
        h = np.maximum(-g, 0.0)
        # Written without the difference of two large numbers.
        return -h, -h * np.log1p(1.0 / np.maximum(h, SMALLEST_ARGUMENT)) - np.log1p(h)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return -1."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the upper bounds."""
        return self.value(high, at)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return the entries, raised to 1e-100."""
        return np.maximum(e, SMALLEST_ARGUMENT)

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if the entries are positive."""
        return bool((low > SMALLEST_ARGUMENT).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return minus a logarithm."""
        return rf"-\log\left(1 - \exp\left(-{write.bracketed(index)}\right)\right)"


def log1mexp(expression: Operand) -> Expression:
    """Return log(1 - exp(-e)), entry by entry; it is concave and increasing, and requires e > 0.

    In a noisy-or model, instances are positive independently with probabilities 1 / (1 + exp(-f)). A bag is negative
    with probability exp(-e), where e is the sum of log(1 + exp f), and positive with log-probability log1mexp(e).

    Parameters
    ----------
    expression : Expression
        The argument e, a scalar or a vector.
    """
    argument = as_expression(expression)
    return -NegativeLog1mexp(argument, Segments.singles(argument.size), argument.shape)
