"""Atoms of maxima: over each bag, over the entries of one expression, and over several expressions entry by entry.

`bag_max` is the central atom of multiple-instance learning. If the program needs a lower bound on the maximum of a bag,
the maximum is replaced by the value at one instance of the bag, its witness.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.argument_checks import check_not_empty
from milopt.declaration.atoms.atom import Notation, SelectionAtom
from milopt.declaration.atoms.axis_text import bag_texts
from milopt.declaration.atoms.bag_argument import resolve_bags
from milopt.declaration.atoms.interleaving import broadcast_together, deinterleave, interleave
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import project_onto_simplex
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression, Leaf, Operand, Shape, as_expression
from milopt.declaration.programs.expression_text import format_expression
from milopt.errors import DeclarationError


class Max(SelectionAtom, abstract=True):
    """Base class of atoms that are the maximum max_j e_j of each run.

    Epigraph: t_i >= e_j for every entry j of run i. These rows may be generated lazily.
    """

    cones = frozenset({"nonnegative"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return the maximum of each run."""
        return runs.max(e)

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return t_i - e_j >= 0 for every entry j of run i."""
        return [non_negative("epigraph", t[runs.run_of_entry] - e, lazy=True)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return 1 at the first maximum of each run, and 0 for all other entries."""
        g = np.zeros(e.size)
        g[self.witnesses(e, runs)] = 1.0
        return g

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return the projection of each run of g onto the simplex {h >= 0, sum h = 1}, and the conjugate 0."""
        return project_onto_simplex(g, runs), np.zeros(runs.count)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for every entry: the atom is nondecreasing."""
        return np.ones(low.size, dtype=np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the largest of the lower bounds of each run."""
        return runs.max(low)


class BagMax(Max):
    """Maximum max_{x in B_i} e_x of each bag."""

    word = "bag_max"

    def __init__(self, argument: Expression, bags: Bags) -> None:
        super().__init__(argument, Segments(bags.sizes), (len(bags),))
        self.argument_bags = bags
        """Bags to whose instances the entries of the argument belong."""

    def argument_texts(self) -> list[str]:
        """Return the texts of the expression and, if they do not follow from it, of the bags."""
        return bag_texts(self.argument, self.argument_bags)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the maximum over the instances of a bag."""
        return rf"\max_{{x \in B_{{{index}}}}} {write.bracketed(write.instance)}"


class EntrywiseMaximum(Max):
    """Maximum of several expressions a, b, ..., entry by entry.

    The entries of a, b, ... alternate in the argument of the atom.
    """

    word = "maximum"

    def __init__(self, parts: tuple[Expression, ...], shape: Shape) -> None:
        super().__init__(interleave(parts), Segments(np.full(parts[0].size, len(parts))), shape)
        self.parts = parts
        """Expressions a, b, ..., broadcast to the shape of the atom."""
        self.bags = next((part.bags for part in parts if part.bags is not None), None)

    def with_argument(self, argument: Expression) -> Self:
        """Return a copy of the atom with another argument of the same size."""
        other = super().with_argument(argument)
        other.parts = deinterleave(argument, len(self.parts), self.shape)
        return other

    def argument_texts(self) -> list[str]:
        """Return the texts of the expressions."""
        return [format_expression(part, self.shape) for part in self.parts]

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a maximum with one term per expression."""
        return rf"\max\left\{{{', '.join(write.part(part, index) for part in self.parts)}\right\}}"


class NegativeMinimum(EntrywiseMaximum):
    """Maximum of -a, -b, ..., which is the negative of the minimum of a, b, ..."""

    negated_word = "minimum"

    def argument_texts(self) -> list[str]:
        """Return the texts of a, b, ...."""
        return [format_expression(-part, self.shape) for part in self.parts]


class LargestEntry(Max):
    """Largest entry of each run of an expression."""

    word = "max"

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of the maximum over a run of entries."""
        row = write.next_index(index)
        group = self.latex_run(index, row)
        return rf"\max_{{{group}}} {write.bracketed(row)}" if row else write.argument("")


class NegativeSmallestEntry(LargestEntry):
    """Largest entry of each run of -e, which is the negative of the smallest entry of e."""

    negated_word = "min"

    def argument_texts(self) -> list[str]:
        """Return the texts of e and of the axis, if there is one."""
        return LargestEntry(-self.argument, self.segments, self.shape).argument_texts()


def largest_entry(expression: Operand, axis: int | None = None) -> Expression:
    """Return the largest entry of an expression, or one per slice along an axis; `e.max(axis)` calls this function."""
    return LargestEntry(*runs_along_axis(check_not_empty(expression, "max"), axis, "max"))


def smallest_entry(expression: Operand, axis: int | None = None) -> Expression:
    """Return the smallest entry of an expression, or one per slice along an axis; `e.min(axis)` calls this function."""
    argument = check_not_empty(expression, "min")
    return -NegativeSmallestEntry(*runs_along_axis(-argument, axis, "min"))


def bag_max(expression: Expression, bags: Bags | None = None) -> Expression:
    """Return the maximum max_{x in B_i} e_x of an expression over the instances of each bag.

    The atom is convex and nondecreasing. If the program needs a lower bound on the maximum of a bag, the program is not
    convex; a scheme such as the convex-concave procedure then selects one instance per bag, the witness.

    Parameters
    ----------
    expression : Expression
        Vector e with one entry per instance, such as f(bags).
    bags : Bags, default=None
        Bags that group the instances. None uses the bags at which the expression was evaluated.

    Returns
    -------
    Expression
        Vector with one entry per bag.

    Examples
    --------
    >>> import milopt
    >>> bags = milopt.as_bags([[[1.0], [2.0]], [[3.0]]])
    >>> program = milopt.Program("bag maxima")
    >>> x = program.variable("x", 3, lower=[1.0, 2.0, 3.0])
    >>> program.minimize(milopt.bag_max(x, bags).sum())
    >>> result = milopt.solve(program)
    >>> print(result.value(milopt.bag_max(x, bags)).round(3))
    [2. 3.]
    """
    return BagMax(expression, resolve_bags(expression, bags, "bag_max"))


def maximum(*expressions: Operand) -> Expression:
    """Return the maximum of several expressions or numbers, entry by entry.

    The atom is convex and nondecreasing. ``e.max()`` is the largest entry of a single expression.

    Parameters
    ----------
    *expressions : Expression
        At least two expressions or numbers, which are broadcast to one shape.

    Returns
    -------
    Expression
        Expression of the common shape.

    Raises
    ------
    DeclarationError
        If there are fewer than two expressions, or their shapes cannot be broadcast.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("piecewise linear")
    >>> x = program.variable("x")
    >>> program.minimize(milopt.maximum(x, 3 - 2 * x, 0.5))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(x):.3f}")
    1.000 1.000
    """
    if len(expressions) < 2:
        raise DeclarationError("maximum needs at least two expressions; write e.max() for the largest entry of one.")
    return EntrywiseMaximum(*broadcast_together(expressions, "maximum"))


def minimum(*expressions: Operand) -> Expression:
    """Return the minimum of several expressions or numbers, entry by entry.

    The minimum is concave and increasing. ``e.min()`` is the smallest entry of a single expression.

    Parameters
    ----------
    *expressions : Expression
        At least two expressions or numbers, which are broadcast to one shape.

    Returns
    -------
    Expression
        Expression of the common shape.

    Raises
    ------
    DeclarationError
        If there are fewer than two expressions, or their shapes cannot be broadcast.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("largest minimum")
    >>> x = program.variable("x")
    >>> program.maximize(milopt.minimum(x, 3 - 2 * x))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(x):.3f}")
    1.000 1.000
    """
    if len(expressions) < 2:
        raise DeclarationError("minimum needs at least two expressions; write e.min() for the smallest entry of one.")
    negated = [-as_expression(operand) for operand in expressions]
    return -NegativeMinimum(*broadcast_together(negated, "minimum"))


def positive_part(expression: Operand) -> Expression:
    """Return the positive part max(e, 0), entry by entry.

    The atom is convex and nondecreasing. The hinge loss of a score f and a label y is ``positive_part(1 - y * f)``.

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
    >>> program = milopt.Program("hinge loss")
    >>> w = program.variable("w")
    >>> program.minimize(0.5 * w ** 2 + milopt.positive_part(1 - [2.0, 0.5] * w).sum())
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(w):.3f}")
    0.875 0.500
    """
    return maximum(expression, 0.0)
