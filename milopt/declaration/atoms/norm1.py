"""The 1-norm: the sum of absolute values."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative, zero
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand


class Norm1(Atom):
    """||e||_1 of each run.

    Epigraph: e = p - m with p, m >= 0 and t >= sum (p + m): fewer rows for the simplex method than |e| <= s has.
    """

    word = "norm1"
    cones = frozenset({"zero", "nonnegative"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return the sum of absolute values of each run."""
        return at.sum(np.abs(e))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return e = p - m and t >= sum (p + m)."""
        plus, minus = new("plus", at.total, lower=0.0), new("minus", at.total, lower=0.0)
        total = at.indicator @ (plus + minus)
        return [zero("split", e - plus + minus), non_negative("sum", t - total)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return the signs."""
        return np.sign(e)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes between -1 and 1, where the conjugate is 0."""
        return np.clip(g, -1.0, 1.0), np.zeros(at.count)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1 where the entry is non-negative, -1 where it is non-positive."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the sum of the smallest absolute values within the bounds."""
        return at.sum(np.maximum(0.0, np.maximum(low, -high)))

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the sum of the largest absolute values within the bounds."""
        return at.sum(np.maximum(np.abs(low), np.abs(high)))

    def latex(self, index: str, write: Notation) -> str:
        """Return a sum of absolute values."""
        row = write.after(index)
        total = rf"\sum_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}\left|{write.argument(row)}\right|"


def norm1(expression: Operand, axis: int | None = None) -> Expression:
    """Return the sum of the absolute values of all entries, a scalar, or one sum per run of entries along an axis.

    Parameters
    ----------
    expression : Expression
        The argument e.
    axis : int, optional
        The axis along which sums are taken: 1 for the sum of each row of a matrix. All entries by default.
    """
    return Norm1(*runs_of(expression, axis, "norm1"))
