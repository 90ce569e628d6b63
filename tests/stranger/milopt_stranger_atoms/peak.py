"""Atom of the largest absolute value of an expression."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import project_onto_norm1_ball
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf


class Peak(Atom):
    """Largest absolute value max_j |e_j|, with two epigraph rows per entry."""

    word = "peak"
    cones = frozenset({"nonnegative"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return the largest absolute value of each run."""
        return runs.max(np.abs(e))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraints t >= e_j and t >= -e_j."""
        return [non_negative("above", t[runs.run_of_entry] - e), non_negative("below", t[runs.run_of_entry] + e)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return the sign of the first entry of largest absolute value, and 0 for all other entries."""
        g, largest = np.zeros(e.size), runs.argmax(np.abs(e))
        g[largest] = np.sign(e[largest])
        return g

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return the projection of g onto the 1-norm ball, and the conjugate 0."""
        return project_onto_norm1_ball(g, runs), np.zeros(runs.count)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return the sign of each entry if the bounds determine it, otherwise 0."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a maximum of absolute values."""
        row = write.next_index(index)
        return rf"\operatorname{{peak}}_{{{row}}} \left|{write.argument(row)}\right|"


def peak(expression: Expression) -> Expression:
    """Return the largest absolute value max_j |e_j|, a scalar."""
    return Peak(expression, Segments([expression.size]), ())
