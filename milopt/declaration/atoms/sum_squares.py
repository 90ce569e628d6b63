"""Squares: ||e||^2 of a whole expression or of a function of a kernel's space, and e^2 entry by entry."""

from __future__ import annotations

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.atoms.along_axis import runs_of
from milopt.declaration.atoms.atom import Notation, Radial, Weight
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.leaves import Function


class SumSquares(Radial):
    """||e||^2 of each run.

    Epigraph: ((1 + t)/2, (1 - t)/2, e) in the second-order cone. An objective keeps the quadratic.
    """

    word = "sum_squares"
    cones = frozenset({"second-order"})
    is_quadratic = True

    def describe(self) -> str:
        """Return the atom and its argument in words."""
        return f"norm_squared({self.function.name})" if self.function else super().describe()

    def profile(self, r: Vector) -> Vector:
        """Return r^2."""
        return r**2

    def profile_slope(self, r: Vector) -> Vector:
        """Return 2 r."""
        return 2.0 * r

    def profile_conjugate(self, s: Vector) -> tuple[Vector, Vector]:
        """Return any slope, with the conjugate s^2 / 4."""
        return s, s**2 / 4.0

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= ||e||^2 of each run."""
        return [second_order("cone", [0.5 + 0.5 * t, 0.5 - 0.5 * t], None if self.function else e, at)]

    def quadratic(self, weights: Vector) -> Weight:
        """Return the diagonal of the weights."""
        return np.asarray(weights[self.segments.of] if self.segments.total else weights[:0])

    @property
    def diagonal(self) -> Weight | None:
        """Ones, if the atom is a scalar."""
        return None if self.shape else np.ones(self.segments.total)

    def latex(self, index: str, write: Notation) -> str:
        """Return a sum of squares."""
        if self.function:
            return rf"\|{write.argument('')}\|^2"
        row = write.after(index)
        total = rf"\sum_{{{self.latex_run(index, row)}}} " if row else ""
        return rf"{total}\left({write.argument(row)}\right)^2"


class Square(SumSquares):
    """e^2, entry by entry."""

    word = "square"

    def latex(self, index: str, write: Notation) -> str:
        """Return a square."""
        return rf"\left({write.argument(index)}\right)^2"


def sum_squares(expression: Operand, axis: int | None = None) -> Expression:
    """Return the sum of the squares of all entries, a scalar, or one sum per run of entries along an axis.

    Parameters
    ----------
    expression : Expression
        The argument e.
    axis : int, optional
        The axis along which sums are taken: 1 for the sum of each row of a matrix. All entries by default.
    """
    return SumSquares(*runs_of(expression, axis, "sum_squares"))


def square(expression: Operand) -> Expression:
    """Return e^2, entry by entry."""
    argument = as_expression(expression)
    return Square(argument, Segments.singles(argument.size), argument.shape)


def norm_squared(function: Function) -> SumSquares:
    """Return ||f||^2 in the kernel's space, a scalar."""
    return SumSquares(function, Segments([0]), ())
