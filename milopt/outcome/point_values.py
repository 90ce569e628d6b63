"""Expressions of a program at a point, with function values that were computed already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.arguments import has_affine_argument
from milopt.compilation.compiled import Point
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant, tangent
from milopt.compilation.quadratic import weighted
from milopt.declaration.atoms.atom import Atom, Radial
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Function, Variable
from milopt.declaration.programs.sparse import row_vector
from milopt.errors import DeclarationError
from milopt.outcome.outcome import Outcome


class LeafValues:
    """Values of leaves at a point: every atom is evaluated as declared, never read from an auxiliary column."""

    def __init__(self, lowering: Lowering, point: Point, evaluations: Sequence[Vector]) -> None:
        self._lowering = lowering
        self._point = point
        self._evaluations = evaluations
        self._inner: dict[Atom, Vector] = {}
        """The arguments of atoms that were evaluated so far."""

    def value(self, expression: Expression) -> Vector:
        """Evaluate an expression, entry by entry."""
        return expression.evaluated(self.leaf)

    def objective(self) -> float:
        """Evaluate the declared objective, in its declared sense."""
        return float(self.value(self._lowering.program.objective)[0])

    def inner(self, atom: Atom) -> Vector:
        """Evaluate the argument of an atom."""
        known = self._inner.get(atom)
        if known is None:
            known = self._inner[atom] = self._evaluated(atom)
        return known

    def _evaluated(self, atom: Atom) -> Vector:
        if not has_affine_argument(atom):
            return self.value(atom.argument)
        rows = self._lowering.linear.inner(atom)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def leaf(self, leaf: Leaf) -> Vector:
        """Evaluate a leaf."""
        if isinstance(leaf, Atom):
            return self.atom(leaf)
        if leaf.is_parameter:
            return leaf.current()
        if isinstance(leaf, Variable):
            return self._point.x[self._lowering.linear.columns_of(leaf)]
        rows, _ = self._lowering.linear.split(leaf)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def atom(self, atom: Atom) -> Vector:
        """Evaluate an atom."""
        if atom.function is None:
            return atom.value(self.inner(atom), atom.segments)
        assert isinstance(atom, Radial)
        return atom.profile(np.sqrt(np.array([self._norm_squared(atom.function)])))

    def tangent(self, atom: Atom) -> Minorant:
        """Return the minorant that touches an atom at the point."""
        function = atom.function
        if function is None:
            return tangent(atom, self.inner(atom))
        assert isinstance(atom, Radial)
        place = self._lowering.linear.place_of(function)
        direction = self.function_values(function) if place is None else self._point.coefficients[place]
        radius = np.sqrt(np.array([self._norm_squared(function)]))
        slope, value = float(atom.profile_slope(radius)[0]), atom.profile(radius)
        return Minorant(row_vector(slope * direction / (radius[0] or 1.0)), value - slope * radius)

    def function_values(self, function: Function) -> Vector:
        """Evaluate what the slopes of a minorant of a function are multiplied with: its values at all its points."""
        place = self._lowering.linear.place_of(function)
        if place is not None:
            return self._evaluations[place]
        rows = self._lowering.linear.dictionary_rows(function)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def _norm_squared(self, function: Function) -> float:
        place = self._lowering.linear.place_of(function)
        if place is None:
            square = self._lowering.linear.dictionary_square(function, 1.0)
            a = square.rows.value(self._point.x[: square.rows.A.shape[1]], self._evaluations)
            return max(0.0, float(a @ weighted(square.weight, a)))
        return max(0.0, float(self._point.coefficients[place] @ self._evaluations[place]))


class PointValues(LeafValues):
    """Values of leaves at the point of an outcome."""

    def __init__(self, lowering: Lowering, outcome: Outcome) -> None:
        if outcome.point is None or outcome.worth is None:
            raise DeclarationError("There is no point to evaluate at.")
        super().__init__(lowering, outcome.point, outcome.worth.evaluations)
