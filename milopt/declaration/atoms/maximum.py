"""Maxima: of each bag, and of several expressions entry by entry.

`bag_max` is the atom that multiple-instance learning is about. On its other side it needs a witness per bag.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Directions, Notation, Selecting
from milopt.declaration.atoms.bag_argument import bags_of
from milopt.declaration.atoms.interleaved import at_one_shape, interleaved, separated
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import onto_simplex
from milopt.declaration.atoms.scalar_arguments import with_entries
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape, as_expression
from milopt.errors import DeclarationError


class Max(Selecting, abstract=True):
    """max e of each run.

    Epigraph: t_i >= every entry of run i, in rows that may be lazy.
    """

    cones = frozenset({"nonnegative"})

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return the maximum of each run."""
        return at.max(e)

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return one row per entry of each run."""
        return [non_negative("epigraph", t[at.of] - e, lazy=True)]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 1 at the first maximum of each run, 0 elsewhere."""
        g = np.zeros(e.size)
        g[self.choice(e, at)] = 1.0
        return g

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the nearest convex combination of each run, where the conjugate is 0."""
        return onto_simplex(g, at), np.zeros(at.count)

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return +1."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return the largest lower bound of each run."""
        return at.max(low)


class BagMax(Max):
    """(max_{x in B_i} e_x)_i."""

    word = "bag_max"

    def __init__(self, argument: Expression, bags: Bags) -> None:
        super().__init__(argument, Segments(bags.sizes), (len(bags),))
        self.over = bags
        """The bags."""

    def latex(self, index: str, write: Notation) -> str:
        """Return the maximum over the instances of a bag."""
        return rf"\max_{{x \in B_{{{index}}}}} {write.bracketed(write.instance)}"


class Maximum(Max):
    """The largest of several numbers, entry by entry; their entries alternate in the argument."""

    word = "maximum"

    def __init__(self, parts: tuple[Expression, ...], shape: Shape) -> None:
        super().__init__(interleaved(parts), Segments(np.full(parts[0].size, len(parts))), shape)
        self.parts = parts
        """The expressions, each at the shape of the atom."""
        self.bags = next((part.bags for part in parts if part.bags is not None), None)

    def of(self, argument: Expression) -> Self:
        """Return the same atom of another argument of the same size."""
        other = super().of(argument)
        other.parts = separated(argument, len(self.parts), self.shape)
        return other

    def latex(self, index: str, write: Notation) -> str:
        """Return a maximum of as many terms as there are expressions."""
        return rf"\max\left\{{{', '.join(write.part(part, index) for part in self.parts)}\right\}}"


class Largest(Max):
    """The largest entry of each run."""

    word = "max"

    def latex(self, index: str, write: Notation) -> str:
        """Return the maximum over a run of entries."""
        row = write.after(index)
        group = self.latex_run(index, row)
        return rf"\max_{{{group}}} {write.bracketed(row)}" if row else write.argument("")


def largest(expression: Operand, axis: int | None = None) -> Expression:
    """Return the largest entry, a scalar, or the largest entries along an axis; `e.max()` is the same."""
    return Largest(*runs_of(with_entries(expression, "max"), axis, "max"))


def bag_max(expression: Expression, bags: Bags | None = None) -> Expression:
    """Return (max_{x in B_i} e_x)_i: one entry per bag, of an expression over the instances of the bags."""
    return BagMax(expression, bags_of(expression, bags, "bag_max"))


def maximum(*expressions: Operand) -> Expression:
    """Return the largest of several expressions or numbers, entry by entry."""
    if len(expressions) < 2:
        raise DeclarationError("maximum takes at least two expressions; write e.max() for the largest entry of one.")
    return Maximum(*at_one_shape(expressions, "maximum"))


def minimum(*expressions: Operand) -> Expression:
    """Return the smallest of several expressions or numbers, entry by entry; it is concave."""
    if len(expressions) < 2:
        raise DeclarationError("minimum takes at least two expressions; write e.min() for the smallest entry of one.")
    return -maximum(*(-as_expression(one) for one in expressions))


def positive_part(expression: Operand) -> Expression:
    """Return max(e, 0), entry by entry."""
    return maximum(expression, 0.0)
