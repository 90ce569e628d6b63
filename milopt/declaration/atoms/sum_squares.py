"""Atoms of squares: ||e||^2 of an expression or of a function of a kernel's space, and e^2 entry by entry."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector, Weight
from milopt.declaration.atoms.along_axis import runs_along_axis
from milopt.declaration.atoms.atom import Notation, RadialAtom
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.leaves import Function


class SumSquares(RadialAtom):
    """Sum of squares ||e||^2 of each run.

    Epigraph: ((1 + t)/2, (1 - t)/2, e) in the second-order cone. In an objective, the term stays quadratic instead.
    """

    word = "sum_squares"
    cones = frozenset({"second-order"})
    is_quadratic = True

    def describe(self) -> str:
        """Return the atom with its argument as text, such as "sum_squares(x)" or "norm_squared(f)"."""
        return f"norm_squared({self.function.name})" if self.function else super().describe()

    def profile(self, r: Vector) -> Vector:
        """Return the profile r^2."""
        return r**2

    def profile_slope(self, r: Vector) -> Vector:
        """Return the derivative 2 r of the profile."""
        return 2.0 * r

    def profile_conjugate(self, s: Vector) -> tuple[Vector, Vector]:
        """Return s, and the conjugate s^2 / 4 of the profile."""
        return s, s**2 / 4.0

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraint t >= ||e||^2 for each run."""
        return [second_order("cone", [0.5 + 0.5 * t, 0.5 - 0.5 * t], None if self.function else e, runs)]

    def quadratic(self, weights: Vector) -> Weight:
        """Return the diagonal of W: the weight of the run of each entry; empty for the norm of a function."""
        return np.asarray(weights[self.segments.run_of_entry] if self.segments.entry_count else weights[:0])

    @property
    def diagonal(self) -> Weight | None:
        """Diagonal of W, a one per argument entry, if the atom is a scalar; otherwise None."""
        return None if self.shape else np.ones(self.segments.entry_count)

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a sum of squares."""
        if self.function:
            return rf"\|{write.argument('')}\|^2"
        row = write.next_index(index)
        total = rf"\sum_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}\left({write.argument(row)}\right)^2"


class Square(SumSquares):
    """Square e^2, entry by entry."""

    word = "square"

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a square."""
        return rf"\left({write.argument(index)}\right)^2"


def sum_squares(expression: Operand, axis: int | None = None) -> Expression:
    """Return the sum of squares sum_j e_j^2 of all entries, or one sum per slice along an axis.

    Parameters
    ----------
    expression : Expression
        The argument e.
    axis : int, default=None
        Axis along which the sum is taken; 1 gives one sum per row of a matrix. None uses all entries.

    Returns
    -------
    Expression
        Scalar expression, or an expression with the shape of e without `axis`.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("least squares")
    >>> x = program.variable("x")
    >>> program.minimize(milopt.sum_squares(x - [1.0, 2.0, 6.0]))
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f} {result.value(x):.3f}")
    14.000 3.000
    """
    return SumSquares(*runs_along_axis(expression, axis, "sum_squares"))


def square(expression: Operand) -> Expression:
    """Return the square e^2, entry by entry.

    The atom is convex. ``e ** 2`` returns the same expression.

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
    >>> program = milopt.Program("weighted squares")
    >>> x = program.variable("x")
    >>> program.minimize([1.0, 3.0] @ milopt.square(x - [0.0, 4.0]))
    >>> result = milopt.solve(program)
    >>> print(f"{result.value(x):.3f}")
    3.000
    """
    argument = as_expression(expression)
    return Square(argument, Segments.singles(argument.size), argument.shape)


def norm_squared(function: Function) -> SumSquares:
    """Return the squared norm ||f||^2 of a function in its kernel's space, a scalar."""
    return SumSquares(function, Segments([0]), ())
