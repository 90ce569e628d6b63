"""Atom of quadratic forms e'We with a symmetric matrix W, which need not be positive semidefinite.

An objective may contain an indefinite form: the program is convex if the sum of all quadratic terms is convex.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Directions, Vector, Weight
from milopt.declaration.atoms.atom import Atom, Notation
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.constants import as_real_array
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.number_text import format_array
from milopt.declaration.programs.semidefinite import is_semidefinite, symmetric_root
from milopt.errors import DeclarationError


class QuadForm(Atom):
    """Quadratic form e'We, with W a symmetric matrix, or a vector for a diagonal matrix.

    In an objective, the term stays quadratic, whether W is positive semidefinite or not. Epigraph, for W = B'B:
    ((1 + t)/2, (1 - t)/2, Be) in the second-order cone.
    """

    word = "quad_form"
    cones = frozenset({"second-order"})
    is_quadratic = True

    def __init__(self, argument: Expression, weight: Weight) -> None:
        super().__init__(argument, Segments([argument.size]), ())
        self.weight = weight
        """Matrix W, or its diagonal as a vector."""

    def argument_texts(self) -> list[str]:
        """Return the texts of the expression and of the size of W, or of its diagonal."""
        return [*super().argument_texts(), format_array(self.weight.ravel(), self.weight.shape)]

    @cached_property
    def root(self) -> Weight:
        """Matrix B with B'B = W; an error is raised if W has a negative eigenvalue."""
        return symmetric_root(self.weight, self.describe())

    @cached_property
    def is_convex(self) -> bool:  # type: ignore[override]  # computed once, when it is asked for
        """Whether W is positive semidefinite."""
        return is_semidefinite(self.weight)

    def value(self, e: Vector, runs: Segments) -> Vector:
        """Return e'We."""
        return np.array([e @ self._multiply_by_weight(e)])

    def epigraph(self, t: Leaf, e: Leaf, runs: Segments, new: NewVariables) -> list[Membership]:
        """Return the constraint t >= ||Be||^2, with B'B = W; raise `ConvexityError` if there is no such B."""
        rows = self.root @ e
        return [second_order("cone", [0.5 + 0.5 * t, 0.5 - 0.5 * t], rows, Segments([rows.size]))]

    def slopes(self, e: Vector, runs: Segments) -> Vector:
        """Return 2 W e."""
        return 2.0 * self._multiply_by_weight(e)

    def conjugate(self, g: Vector, runs: Segments) -> tuple[Vector, Vector]:
        """Return the projection of g onto the range of W, and the conjugate g'W^+ g / 4 there.

        W must be positive semidefinite; W^+ is its pseudo-inverse.
        """
        # u is the least-squares solution of B'u = g of smallest norm. The conjugate of ||Be||^2 at g is ||u||^2 / 4.
        u = np.linalg.lstsq(self.root.T, g, rcond=None)[0]
        return np.asarray(self.root.T @ u), np.array([u @ u / 4.0])

    def monotone(self, low: Vector, high: Vector, runs: Segments) -> Directions:
        """Return, for each entry j, the sign of w_j e_j if W is a vector w and the bounds fix the sign of e_j, else 0.

        A zero weight counts as positive.
        """
        if self.weight.ndim == 2:
            return np.zeros(low.size, dtype=np.int8)
        side = np.where(low >= 0, 1, np.where(high <= 0, -1, 0))
        return (side * np.where(self.weight < 0, -1, 1)).astype(np.int8)

    def least(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return 0 if W is positive semidefinite, -inf otherwise."""
        return np.array([0.0 if self.is_convex else -np.inf])

    def greatest(self, low: Vector, high: Vector, runs: Segments) -> Vector:
        """Return sum_jk |W_jk| s_j s_k with s_j the largest |e_j| within the bounds; inf if a bound is infinite."""
        size = np.maximum(np.abs(low), np.abs(high))
        if np.isinf(size).any():
            return np.array([np.inf])
        return np.array([size @ (np.abs(self.weight) * size if self.weight.ndim == 1 else np.abs(self.weight) @ size)])

    def quadratic(self, weights: Vector) -> Weight:
        """Return `weights[0]` times W, as a matrix or its diagonal."""
        return np.asarray(float(weights[0]) * self.weight)

    @property
    def diagonal(self) -> Weight | None:
        """Diagonal of W if it was given as a vector; None if W was given as a matrix."""
        return self.weight if self.weight.ndim == 1 else None

    def latex(self, index: str, write: Notation) -> str:
        """Return the LaTeX text of a weighted sum of squares, or of a double sum if W was given as a matrix."""
        row = write.next_index(index)
        inner = write.argument(row)
        if self.weight.ndim == 2:
            other = write.next_index(row)
            W = write.matrix(self.weight, "W", row, other)
            return rf"\sum_{{{row},{other}}} {W} \left({inner}\right) \left({write.argument(other)}\right)"
        total = rf"\sum_{{{row}}} " if row else ""
        factor = write.numbers(self.weight, "w", row)
        return (
            f"{total}{factor} ".lstrip() + rf"\left({inner}\right)^2" if factor else rf"{total}\left({inner}\right)^2"
        )

    def _multiply_by_weight(self, e: Vector) -> Vector:
        """Return the product W e."""
        return np.asarray(self.weight * e if self.weight.ndim == 1 else self.weight @ e)


def quad_form(expression: Operand, weight: npt.ArrayLike | sp.sparray) -> Expression:
    """Return the quadratic form e'We for a symmetric matrix W, or e'diag(w)e for a vector w.

    W need not be positive semidefinite. In an objective, only the sum of all quadratic terms must be convex. In a
    constraint, and inside other atoms, W must be positive or negative semidefinite. If W is negative semidefinite, the
    result is written as -e'(-W)e, which is concave.

    Parameters
    ----------
    expression : Expression
        The argument e, a scalar or a vector with n entries.
    weight : array-like or sparse array of shape (n, n) or (n,)
        Symmetric matrix W, or the diagonal w of a diagonal matrix. A sparse matrix is converted to a dense one.

    Returns
    -------
    Expression
        Scalar expression.

    Raises
    ------
    DeclarationError
        If the expression is a matrix, or the weight has another shape, is not symmetric or is not finite.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("quadratic form")
    >>> x = program.variable("x", 2)
    >>> program.minimize(milopt.quad_form(x, [[2.0, 1.0], [1.0, 2.0]]))
    >>> program.subject_to(x.sum() == 2)
    sum(x) == 2
    >>> result = milopt.solve(program)
    >>> print(f"{result.objective:.3f}")
    6.000
    """
    argument = as_expression(expression)
    if argument.ndim > 1:
        raise DeclarationError(f"quad_form needs a vector, not shape {argument.shape}; write quad_form(e.ravel(), W).")
    matrix = as_real_array(weight.toarray() if sp.issparse(weight) else weight, "The weight of quad_form")
    if matrix.shape not in ((argument.size,), (argument.size, argument.size)):
        raise DeclarationError(
            f"quad_form of an expression with {argument.size} entries needs {argument.size} weights or a "
            f"{argument.size} x {argument.size} matrix, not shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise DeclarationError("quad_form got a weight that is NaN or infinite.")
    if matrix.ndim == 2 and abs(matrix - matrix.T).max(initial=0.0) > 1e-10 * abs(matrix).max(initial=0.0):
        raise DeclarationError("quad_form needs a symmetric matrix; give (W + W') / 2.")
    if (matrix < 0).any() and is_semidefinite(-matrix):
        return -QuadForm(argument, -matrix)
    return QuadForm(argument, matrix)
