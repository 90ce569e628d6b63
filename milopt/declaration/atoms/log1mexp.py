"""Atom of log(1 - exp(-e)): the log-probability of at least one event, if exp(-e) is the probability of none."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression

MIN_ARGUMENT = 1e-100
"""Smallest argument; smaller ones are replaced by it.

The atom is 230 there and its slope -1e100, so that products of slopes are finite.
"""


class NegativeLog1mexp(Atom):
    """Negative log-probability -log(1 - exp(-e)), entry by entry, for e > 0; it decreases from infinity to 0.

    Epigraph: exp(-t) <= u and exp(-e) <= v with u + v <= 1, two exponential cones per entry.
    """

    word, negated_word = "negative_log1mexp", "log1mexp"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return -log(1 - exp(-e)); about 230 for e <= 1e-100."""
        return np.asarray(-np.log(-np.expm1(-self.nearest(e, runs))))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints exp(-t) <= u, exp(-e) <= v and u + v <= 1, with auxiliary variables u and v."""
        u, v = new("u", runs.entry_count, lower=0.0), new("v", runs.entry_count, lower=0.0)
        return [
            non_negative("sum", 1.0 - u - v),
            exponential("cone_t", -t, 1.0, u, runs.entry_count),
            exponential("cone_e", -e, 1.0, v, runs.entry_count),
        ]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return -1 / (exp(e) - 1); -1e100 for e <= 1e-100."""
        with np.errstate(over="ignore"):
            return np.asarray(-1.0 / np.expm1(self.nearest(e, runs)))

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return -h = min(g, 0), and the conjugate h log h - (1 + h) log(1 + h) there."""
        h = np.maximum(-g, 0.0)
        # This form of the conjugate has no difference of two large numbers.
        return -h, -h * np.log1p(1.0 / np.maximum(h, MIN_ARGUMENT)) - np.log1p(h)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return -1 for every entry: the atom is nonincreasing."""
        return np.full(low.size, -1, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the upper bounds, where the atom is smallest."""
        return self.value(high, runs)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return max(e, 1e-100)."""
        return np.maximum(e, MIN_ARGUMENT)

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if all lower bounds are above 1e-100, so that slopes are finite."""
        return bool((low > MIN_ARGUMENT).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of -log(1 - exp(-e))."""
        return rf"-\log\left(1 - \exp\left(-{write.bracketed(index)}\right)\right)"


def log1mexp(expression: Operand) -> Expression:
    """Return log(1 - exp(-e)), entry by entry.

    The function is concave and increasing, and requires e > 0.

    In a noisy-or model, instances are positive independently with probabilities 1 / (1 + exp(-f)). A bag is negative
    with probability exp(-e), where e is the sum of log(1 + exp f) over its instances, and positive with log-probability
    log1mexp(e).

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
    >>> program = milopt.Program("log-probability")
    >>> e = program.variable("e", lower=0)
    >>> program.maximize(milopt.log1mexp(e) - e)
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(e):.3f}")
    -1.386 0.693
    """
    argument = as_expression(expression)
    return -NegativeLog1mexp(argument, Segments.singles(argument.size), argument.shape)
