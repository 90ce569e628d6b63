"""The entropy -sum x log x."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from milopt.arrays import Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, exponential, non_negative
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand

SMALLEST_SLOPE_POINT = float(np.finfo(np.float64).tiny)
"""The smallest normal number. Slopes at 0, where x log x has none, are taken there: the minorant is 1e-308 too high."""
LARGEST_SLOPE = 700.0
"""Limit of the slopes of minorants: exp(LARGEST_SLOPE) is finite."""
X_LOG_X_MINIMISER = float(np.exp(-1.0))
"""Where x log x is least."""


class NegativeEntropy(Atom):
    """sum x log x of each run, for x >= 0, with 0 log 0 = 0.

    Epigraph: u_j >= x_j log x_j, that is (-u_j, x_j, 1) in the exponential cone, and t >= sum u.
    """

    word, negated_word = "negative_entropy", "entropy"
    cones = frozenset({"nonnegative", "exponential"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return sum x log x of each run."""
        x = self.nearest(e, at)
        return at.sum(np.asarray(xlogy(x, x), dtype=np.float64))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return u_j >= x_j log x_j and t >= sum u."""
        u = new("u", at.total)
        return [exponential("cone", -u, e, 1.0, at.total), non_negative("sum", t - at.indicator @ u)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 1 + log x; -707.4 at x = 0, where no slope is steep enough."""
        return 1.0 + np.log(np.maximum(e, SMALLEST_SLOPE_POINT))

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return any slopes, with the conjugate sum exp(g - 1); slopes are at most 700, so that it is finite."""
        allowed = np.minimum(g, LARGEST_SLOPE)
        return allowed, at.sum(np.exp(allowed - 1.0))

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1 above 1/e, -1 below."""
        return np.where(low >= X_LOG_X_MINIMISER, 1, np.where(high <= X_LOG_X_MINIMISER, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the value at the points nearest to 1/e."""
        return self.value(np.clip(X_LOG_X_MINIMISER, low, high), at)

    def nearest(self, e: Vector, at: Segments) -> Vector:
        """Return the non-negative part."""
        return np.maximum(e, 0.0)

    def has_finite_slopes(self, low: Vector, high: Vector, at: Segments) -> bool:
        """Return True if the entries are positive."""
        return bool((low > 0).all())

    def latex(self, index: str, write: Notation) -> str:
        """Return a sum of x log x."""
        row = write.after(index)
        inner = write.bracketed(row)
        total = rf"\sum_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}{inner} \log {inner}"


def entropy(expression: Operand, axis: int | None = None) -> Expression:
    """Return -sum_j x_j log x_j, a scalar; it is concave, and requires x >= 0.

    Parameters
    ----------
    expression : Expression
        The argument x. Its entries need not add up to 1.
    axis : int, optional
        The axis along which sums are taken: 1 for the entropy of each row of a matrix. All entries by default.
    """
    return -NegativeEntropy(*runs_of(expression, axis, "entropy"))
