"""Expressions of a program at a point, with function values that were computed already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.compilation.compiled import Point
from milopt.compilation.lowering import Lowering
from milopt.compilation.quadratic import Vector, weighted
from milopt.declaration.expression import Expression, Leaf
from milopt.declaration.leaves import (
    Atom,
    BagMax,
    FunctionNorm,
    FunctionNormSquared,
    InnerAtom,
    Norm,
    Norm1,
    QuadForm,
    Variable,
    unknown_atom,
)
from milopt.errors import DeclarationError
from milopt.outcome.outcome import Outcome


class LeafValues:
    """Values of leaves at a point: every atom is evaluated as declared, never read from an auxiliary column."""

    def __init__(self, lowering: Lowering, point: Point, evaluations: Sequence[Vector]) -> None:
        self._lowering = lowering
        self._point = point
        self._evaluations = evaluations

    def value(self, expression: Expression) -> Vector:
        """Evaluate an expression, entry by entry."""
        return expression.evaluated(self.leaf)

    def objective(self) -> float:
        """Evaluate the declared objective, in its declared sense."""
        return float(self.value(self._lowering.program.objective)[0])

    def inner(self, atom: BagMax | InnerAtom) -> Vector:
        """Evaluate the argument of an atom."""
        rows = self._lowering.linear.inner(atom)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def leaf(self, leaf: Leaf) -> Vector:
        """Evaluate a leaf."""
        if isinstance(leaf, BagMax):
            return leaf.over.max(self.inner(leaf))
        if isinstance(leaf, QuadForm):
            e = self.inner(leaf)
            return np.array([e @ weighted(leaf.weight, e)])
        if isinstance(leaf, (Norm, Norm1)):
            return np.array([np.linalg.norm(self.inner(leaf), 1 if isinstance(leaf, Norm1) else 2)])
        if isinstance(leaf, (FunctionNorm, FunctionNormSquared)):
            squared = self._norm_squared(leaf)
            return np.array([squared if isinstance(leaf, FunctionNormSquared) else np.sqrt(squared)])
        if isinstance(leaf, Atom):
            raise unknown_atom(leaf, "evaluate")
        if leaf.is_parameter:
            return leaf.current()
        if isinstance(leaf, Variable):
            return self._point.x[self._lowering.linear.columns_of(leaf)]
        rows, _ = self._lowering.linear.split(leaf)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def _norm_squared(self, leaf: FunctionNorm | FunctionNormSquared) -> float:
        place = self._lowering.linear.place_of(leaf.function)
        if place is None:
            square = self._lowering.linear.dictionary_square(leaf.function, 1.0)
            a = square.rows.value(self._point.x[: square.rows.A.shape[1]], self._evaluations)
            return max(0.0, float(a @ weighted(square.weight, a)))
        return max(0.0, float(self._point.coefficients[place] @ self._evaluations[place]))


class PointValues(LeafValues):
    """Values of leaves at the point of an outcome."""

    def __init__(self, lowering: Lowering, outcome: Outcome) -> None:
        if outcome.point is None or outcome.worth is None:
            raise DeclarationError("There is no point to evaluate at.")
        super().__init__(lowering, outcome.point, outcome.worth.evaluations)
