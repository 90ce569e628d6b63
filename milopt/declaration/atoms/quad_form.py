"""Quadratic forms e'We with a weight of any sign: in an objective, the curvature of the whole sum decides."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Directions, Notation, Weight
from milopt.declaration.atoms.membership import Membership, NewVariables, second_order
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.constants import real
from milopt.declaration.programs.expression import Expression, Leaf, Operand, as_expression
from milopt.declaration.programs.leaves import FeatureWeight
from milopt.declaration.programs.semidefinite import symmetric_root
from milopt.errors import ConvexityError, DeclarationError


class QuadForm(Atom):
    """e'We, with W a symmetric matrix or, as a vector, a diagonal one.

    An objective keeps the quadratic, whatever its sign. Epigraph, for a positive semidefinite W = B'B:
    ((1 + t)/2, (1 - t)/2, Be) in the second-order cone.
    """

    word = "quad_form"
    cones = frozenset({"second-order"})
    is_quadratic = True

    def __init__(self, argument: Expression, weight: Weight | FeatureWeight) -> None:
        super().__init__(argument, Segments([argument.size]), ())
        self.given = weight

    @cached_property
    def weight(self) -> Weight:
        """W, or its diagonal."""
        return np.asarray(self.given, dtype=np.float64)

    @cached_property
    def root(self) -> Weight:
        """B with B'B = W; an error if W has a negative eigenvalue."""
        return symmetric_root(self.weight, self.describe())

    @cached_property
    def _is_convex(self) -> bool:
        if self.weight.ndim == 1:
            return bool((self.weight >= 0).all())
        try:
            return self.root.size >= 0
        except ConvexityError:
            return False

    def value(self, e: Vector, at: Segments) -> Vector:
        """Return e'We."""
        return np.array([e @ self._times(e)])

    def epigraph(self, t: Leaf, e: Leaf, at: Segments, new: NewVariables) -> list[Membership]:
        """Return t >= ||Be||^2."""
        rows = self.root @ e
        return [second_order("cone", [0.5 + 0.5 * t, 0.5 - 0.5 * t], rows, Segments([rows.size]))]

    def slopes(self, e: Vector, at: Segments) -> Vector:
        """Return 2We."""
        return 2.0 * self._times(e)

    def conjugate(self, g: Vector, at: Segments) -> tuple[Vector, Vector]:
        """Return the part of g in the range of W, and g'W^+ g / 4 there."""
        # g = B'u with the smallest u, and the conjugate of ||Be||^2 at u is ||u||^2 / 4.
        u = np.linalg.lstsq(self.root.T, g, rcond=None)[0]
        return np.asarray(self.root.T @ u), np.array([u @ u / 4.0])

    def monotone(self, low: Vector, high: Vector, at: Segments) -> Directions:
        """Return the sign of the slope where W is diagonal and the sign of the entry is known, 0 elsewhere."""
        if self.weight.ndim == 2:
            return np.zeros(low.size, dtype=np.int8)
        side = np.where(low >= 0, 1, np.where(high <= 0, -1, 0))
        return (side * np.where(self.weight < 0, -1, 1)).astype(np.int8)

    def least(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return 0 if W is positive semidefinite, -inf otherwise."""
        return np.array([0.0 if self._is_convex else -np.inf])

    def greatest(self, low: Vector, high: Vector, at: Segments) -> Vector:
        """Return sum |W_jk| s_j s_k with the largest absolute values s within the bounds."""
        size = np.maximum(np.abs(low), np.abs(high))
        if np.isinf(size).any():
            return np.array([np.inf])
        return np.array([size @ (np.abs(self.weight) * size if self.weight.ndim == 1 else np.abs(self.weight) @ size)])

    def quadratic(self, weights: Vector) -> Weight:
        """Return W times the weight."""
        return np.asarray(float(weights[0]) * self.weight)

    @property
    def diagonal(self) -> Weight | FeatureWeight | None:
        """The diagonal of W if W is diagonal."""
        return self.given if isinstance(self.given, FeatureWeight) or self.given.ndim == 1 else None

    def latex(self, index: str, write: Notation) -> str:
        """Return a weighted sum of squares, or a double sum."""
        row = write.after(index)
        inner = write.argument(row)
        if self.weight.ndim == 2:
            other = write.after(row)
            W = write.matrix(self.weight, "W", row, other)
            return rf"\sum_{{{row},{other}}} {W} \left({inner}\right) \left({write.argument(other)}\right)"
        total = rf"\sum_{{{row}}} " if row else ""
        factor = write.numbers(self.weight, "w", row)
        return (
            f"{total}{factor} ".lstrip() + rf"\left({inner}\right)^2" if factor else rf"{total}\left({inner}\right)^2"
        )

    def _times(self, e: Vector) -> Vector:
        return np.asarray(self.weight * e if self.weight.ndim == 1 else self.weight @ e)


def quad_form(expression: Operand, weight: npt.ArrayLike | sp.sparray | FeatureWeight) -> Expression:
    """Return e'We for a symmetric matrix W, or e'diag(w)e for a vector w; any sign, the program's curvature decides.

    A sparse W becomes a dense matrix.
    """
    argument = as_expression(expression)
    if argument.ndim > 1:
        raise DeclarationError(f"quad_form takes a vector, not shape {argument.shape}; write quad_form(e.ravel(), W).")
    if isinstance(weight, FeatureWeight) and weight.size == argument.size:
        return QuadForm(argument, weight)
    matrix = real(weight.toarray() if sp.issparse(weight) else weight, "The weight of quad_form")
    if matrix.shape not in ((argument.size,), (argument.size, argument.size)):
        raise DeclarationError(
            f"quad_form of an expression with {argument.size} entries needs {argument.size} weights or a "
            f"{argument.size} x {argument.size} matrix, not shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise DeclarationError("quad_form got a weight that is NaN or infinite.")
    if matrix.ndim == 2 and abs(matrix - matrix.T).max(initial=0.0) > 1e-10 * abs(matrix).max(initial=0.0):
        raise DeclarationError("quad_form needs a symmetric matrix; give (W + W') / 2.")
    return QuadForm(argument, matrix)
