"""Atom of the 1-norm, the sum of absolute values."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative, zero
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand


class Norm1(Atom):
    """1-norm sum_j |e_j| of each run.

    Epigraph: e = p - m with p, m >= 0 and t >= sum_j (p_j + m_j). For the simplex method this has fewer rows than
    s_j >= |e_j| with t >= sum_j s_j.
    """

    word = "norm1"
    cones = frozenset({"zero", "nonnegative"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return the sum of the absolute values of each run."""
        return runs.sum(np.abs(e))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints e = p - m and t >= sum_j (p_j + m_j), with auxiliary variables p, m >= 0."""
        plus, minus = new("plus", runs.entry_count, lower=0.0), new("minus", runs.entry_count, lower=0.0)
        total = runs.indicator @ (plus + minus)
        return [zero("split", e - plus + minus), non_negative("sum", t - total)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return the sign of each entry."""
        return np.sign(e)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return g clipped to [-1, 1], and the conjugate 0."""
        return np.clip(g, -1.0, 1.0), np.zeros(runs.count)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for entries with low >= 0, -1 for entries with high <= 0, and 0 for all others."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the sum of the smallest absolute values within the bounds."""
        return runs.sum(np.maximum(0.0, np.maximum(low, -high)))

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the sum of the largest absolute values within the bounds."""
        return runs.sum(np.maximum(np.abs(low), np.abs(high)))

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a sum of absolute values."""
        row = write.next_index(index)
        total = rf"\sum_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}\left|{write.argument(row)}\right|"


def norm1(expression: Operand, axis: int | None = None) -> Expression:
    """Return the 1-norm sum_j |e_j| of all entries, or one norm per slice along an axis.

    Parameters
    ----------
    expression : Expression
        The argument e.
    axis : int, default=None
        Axis along which the sum is taken; 1 gives one norm per row of a matrix. None uses all entries.

    Returns
    -------
    Expression
        Scalar expression, or an expression with the shape of e without `axis`.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("smallest 1-norm")
    >>> x = program.variable("x", 2)
    >>> program.minimize(milopt.norm1(x))
    >>> program.subject_to(x[0] + 2 * x[1] == 4)
    x[0] + 2*x[1] == 4
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    2.000
    """
    return Norm1(*runs_along_axis(expression, axis, "norm1"))
