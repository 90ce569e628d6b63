"""Expressions of a program at the point of an outcome, with function values that were computed already."""

from __future__ import annotations

import numpy as np

from milopt.compilation.lowering import Lowering
from milopt.compilation.quadratic import Vector, weighted
from milopt.declaration.expression import Expression, Leaf
from milopt.declaration.leaves import (
    BagMax,
    FunctionNorm,
    FunctionNormSquared,
    InnerAtom,
    Norm1,
    QuadForm,
    Variable,
)
from milopt.errors import DeclarationError
from milopt.outcome.outcome import Outcome


class PointValues:
    """Leaf values at an outcome's point; every atom taken as declared, maxima recomputed."""

    def __init__(self, lowering: Lowering, outcome: Outcome) -> None:
        if outcome.point is None or outcome.worth is None:
            raise DeclarationError("There is no point to evaluate at.")
        self._lowering = lowering
        self._point = outcome.point
        self._evaluations = outcome.worth.evaluations

    def value(self, expression: Expression) -> Vector:
        """An expression's entries."""
        return expression.evaluated(self.leaf)

    def objective(self) -> float:
        """The declared objective, in its declared sense."""
        return float(self.value(self._lowering.program.objective)[0])

    def inner(self, atom: BagMax | InnerAtom) -> Vector:
        """What is inside an atom."""
        rows = self._lowering.linear.inner(atom)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def leaf(self, leaf: Leaf) -> Vector:
        """What a leaf is worth."""
        if isinstance(leaf, BagMax):
            return leaf.over.max(self.inner(leaf))
        if isinstance(leaf, InnerAtom):
            e = self.inner(leaf)
            if isinstance(leaf, QuadForm):
                return np.array([e @ weighted(leaf.weight, e)])
            return np.array([np.linalg.norm(e, 1 if isinstance(leaf, Norm1) else 2)])
        if isinstance(leaf, (FunctionNorm, FunctionNormSquared)):
            squared = self._norm_squared(leaf)
            return np.array([squared if isinstance(leaf, FunctionNormSquared) else np.sqrt(squared)])
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
