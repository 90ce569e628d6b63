"""Absolute values: |e| entry by entry, and the largest absolute value of a whole expression."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import onto_norm1_ball
from milopt.declaration.atoms.scalar_arguments import with_entries
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class NormInf(Atom):
    """max |e| of each run.

    Epigraph: t_i >= e_j and t_i >= -e_j for every entry of run i, in rows that may be lazy.
    """

    word = "norm_inf"
    cones = frozenset({"nonnegative"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return the largest absolute value of each run."""
        return at.max(np.abs(e))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return two rows per entry of each run."""
        bound = t[at.of]
        return [non_negative("above", bound - e, lazy=True), non_negative("below", bound + e, lazy=True)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return the sign of the first entry of largest absolute value in each run, 0 elsewhere."""
        g = np.zeros(e.size)
        largest = at.argmax(np.abs(e))
        g[largest] = np.sign(e[largest])
        return g

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest slopes of 1-norm at most 1, where the conjugate is 0."""
        return onto_norm1_ball(g, at), np.zeros(at.count)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1 where the entry is non-negative, -1 where it is non-positive."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the largest of the smallest absolute values within the bounds."""
        return at.max(np.maximum(0.0, np.maximum(low, -high)))

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the largest absolute value within the bounds."""
        return at.max(np.maximum(np.abs(low), np.abs(high)))

    def latex(self, index: str, write: Notation) -> str:
        """Return a maximum of absolute values."""
        row = write.after(index)
        total = rf"\max_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}\left|{write.argument(row)}\right|"


class Absolute(NormInf):
    """|e|, entry by entry."""

    word = "absolute"

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return slopes between -1 and 1, where the conjugate is 0."""
        return np.clip(g, -1.0, 1.0), np.zeros(at.count)

    def latex(self, index: str, write: Notation) -> str:
        """Return an absolute value."""
        return rf"\left|{write.argument(index)}\right|"


def absolute(expression: Operand) -> Expression:
    """Return |e|, entry by entry; `abs(e)` is the same.

    Parameters
    ----------
    expression : Expression
        The argument e.
    """
    argument = as_expression(expression)
    return Absolute(argument, Segments.singles(argument.size), argument.shape)


def norm_inf(expression: Operand, axis: int | None = None) -> Expression:
    """Return the largest absolute value of all entries, a scalar, or one per run of entries along an axis.

    Parameters
    ----------
    expression : Expression
        The argument e, with at least one entry.
    axis : int, optional
        The axis along which maxima are taken: 1 for the maximum of each row of a matrix. All entries by default.
    """
    return NormInf(*runs_of(with_entries(expression, "norm_inf"), axis, "norm_inf"))
