"""Atom of the entropy -sum_j x_j log x_j, which is concave."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand

MIN_SLOPE_ARGUMENT = float(np.finfo(np.float64).tiny)
"""Smallest normal number. The slope at 0 is infinite, so the slope at this point is used at 0 instead.

The resulting minorant exceeds x log x by at most 2.3e-308.
"""
MAX_SLOPE = 700.0
"""Largest slope of a minorant; exp(MAX_SLOPE) does not overflow."""
X_LOG_X_MINIMISER = float(np.exp(-1.0))
"""Point 1/e at which x log x is smallest."""


class NegativeEntropy(Atom):
    """Negative entropy sum_j x_j log x_j of each run, for x >= 0, with 0 log 0 = 0.

    Epigraph: u_j >= x_j log x_j, that is (-u_j, x_j, 1) in the exponential cone, and t >= sum u.
    """

    word, negated_word = "negative_entropy", "entropy"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return sum_j x_j log x_j for each run of x = e; negative entries count as 0."""
        x = self.nearest(e, runs)
        return runs.sum(np.asarray(xlogy(x, x), dtype=np.float64))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints u_j >= x_j log x_j and t >= sum_j u_j, with x = e and auxiliary variables u."""
        u = new("u", runs.entry_count)
        return [exponential("cone", -u, e, 1.0, runs.entry_count), non_negative("sum", t - runs.indicator @ u)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return 1 + log x for each entry x of e; -707.4 for x <= 0, where the slope would be infinite."""
        return 1.0 + np.log(np.maximum(e, MIN_SLOPE_ARGUMENT))

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return min(g, 700), and the conjugate sum_j exp(g_j - 1) there, which does not overflow."""
        allowed = np.minimum(g, MAX_SLOPE)
        return allowed, runs.sum(np.exp(allowed - 1.0))

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for entries with low >= 1/e, -1 for entries with high <= 1/e, and 0 for all others."""
        return np.where(low >= X_LOG_X_MINIMISER, 1, np.where(high <= X_LOG_X_MINIMISER, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the value at the point within the bounds whose entries are nearest to 1/e."""
        return self.value(np.clip(X_LOG_X_MINIMISER, low, high), runs)

    def nearest(self, e: Vector, runs: Segments) -> Vector:
        """Return max(e, 0)."""
        return np.maximum(e, 0.0)

    def has_finite_slopes(self, low: Vector, high: Vector, runs: Segments) -> bool:
        """Return True if all lower bounds are positive."""
        return bool((low > 0).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a sum of x log x."""
        row = write.next_index(index)
        inner = write.bracketed(row)
        total = rf"\sum_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}{inner} \log {inner}"


def entropy(expression: Operand, axis: int | None = None) -> Expression:
    """Return the entropy -sum_j x_j log x_j of all entries, or one entropy per slice along an axis.

    The entropy is concave and requires x >= 0, with 0 log 0 = 0.

    Parameters
    ----------
    expression : Expression
        The argument x. Its entries need not add up to 1.
    axis : int, default=None
        Axis along which the sum is taken; 1 gives one entropy per row of a matrix. None uses all entries.

    Returns
    -------
    Expression
        Scalar expression, or an expression with the shape of x without `axis`.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("maximum entropy")
    >>> x = program.variable("x", 4, lower=0)
    >>> program.maximize(milopt.entropy(x))
    >>> program.subject_to(x.sum() == 1)
    sum(x) == 1
    >>> result = milopt.solve(program)
    >>> print(result.value(x).round(3))
    [0.25 0.25 0.25 0.25]
    """
    return -NegativeEntropy(*runs_along_axis(expression, axis, "entropy"))
