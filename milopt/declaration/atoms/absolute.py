"""Atoms of absolute values: the absolute value |e| of each entry, and the infinity norm max_j |e_j|."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.argument_checks import check_not_empty
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, non_negative
from milopt.declaration.atoms.projections import project_onto_norm1_ball
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression


class NormInf(Atom):
    """Largest absolute value max_j |e_j| of each run.

    Epigraph: t_i >= e_j and t_i >= -e_j for every entry j of run i. These rows may be generated lazily.
    """

    word = "norm_inf"
    cones = frozenset({"nonnegative"})

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return the largest absolute value of each run."""
        return runs.max(np.abs(e))

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return t_i - e_j >= 0 and t_i + e_j >= 0 for every entry j of run i."""
        bound = t[runs.run_of_entry]
        return [non_negative("above", bound - e, lazy=True), non_negative("below", bound + e, lazy=True)]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return the sign of the first entry of largest absolute value of each run, and 0 for all other entries."""
        g = np.zeros(e.size)
        largest = runs.argmax(np.abs(e))
        g[largest] = np.sign(e[largest])
        return g

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return the projection of g onto the 1-norm ball of each run, and the conjugate 0."""
        return project_onto_norm1_ball(g, runs), np.zeros(runs.count)

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return +1 for entries with low >= 0, -1 for entries with high <= 0, and 0 for all others."""
        return np.where(low >= 0, 1, np.where(high <= 0, -1, 0)).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return, for each run, the maximum over its entries of the smallest |e_j| with low_j <= e_j <= high_j."""
        return runs.max(np.maximum(0.0, np.maximum(low, -high)))

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return the largest absolute value of each run within the bounds."""
        return runs.max(np.maximum(np.abs(low), np.abs(high)))

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a maximum of absolute values."""
        row = write.next_index(index)
        total = rf"\max_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}\left|{write.argument(row)}\right|"


class Absolute(NormInf):
    """Absolute value |e|, entry by entry."""

    word = "absolute"

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return g clipped to [-1, 1], and the conjugate 0."""
        return np.clip(g, -1.0, 1.0), np.zeros(runs.count)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of an absolute value."""
        return rf"\left|{write.argument(index)}\right|"


def absolute(expression: Operand) -> Expression:
    """Return the absolute value |e|, entry by entry.

    The atom is convex. ``abs(e)`` and ``numpy.abs(e)`` return the same expression.

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
    >>> program = milopt.Program("median")
    >>> x = program.variable("x")
    >>> program.minimize(milopt.absolute(x - [1.0, 2.0, 6.0]).sum())
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(x):.3f}")
    5.000 2.000
    """
    argument = as_expression(expression)
    return Absolute(argument, Segments.singles(argument.size), argument.shape)


def norm_inf(expression: Operand, axis: int | None = None) -> Expression:
    """Return the infinity norm max_j |e_j| of all entries, or one norm per slice along an axis.

    Parameters
    ----------
    expression : Expression
        The argument e, with at least one entry.
    axis : int, default=None
        Axis along which the maximum is taken; 1 gives one norm per row of a matrix. None uses all entries.

    Returns
    -------
    Expression
        Scalar expression, or an expression with the shape of e without `axis`.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("midrange")
    >>> x = program.variable("x")
    >>> program.minimize(milopt.norm_inf(x - [1.0, 2.0, 6.0]))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(x):.3f}")
    2.500 3.500
    """
    return NormInf(*runs_along_axis(check_not_empty(expression, "norm_inf"), axis, "norm_inf"))
