"""The largest absolute value of an expression."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import onto_norm1_ball
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf


class Peak(Atom):
    """max |e|, with two rows per entry as epigraph."""

    word = "peak"
    cones = frozenset({"nonnegative"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return the largest absolute value of each run."""
        return at.max(np.abs(e))

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= e and t >= -e."""
        return [non_negative("above", t[at.of] - e), non_negative("below", t[at.of] + e)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return the sign of the first entry of largest absolute value."""
        g, largest = np.zeros(e.size), at.argmax(np.abs(e))
        g[largest] = np.sign(e[largest])
        return g

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest slopes of 1-norm at most 1, where the conjugate is 0."""
        return onto_norm1_ball(g, at), np.zeros(at.count)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return the sign of each entry, where it is known."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def latex(self, index: str, write: Notation) -> str:
        """Return a maximum of absolute values."""
        row = write.after(index)
        return rf"\operatorname{{peak}}_{{{row}}} \left|{write.argument(row)}\right|"


def peak(expression: Expression) -> Expression:
    """Return max_j |e_j|, a scalar."""
    return Peak(expression, Segments([expression.size]), ())
