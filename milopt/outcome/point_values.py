"""Values of a program's expressions at a point, from function values that are already computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.arguments import has_affine_argument
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant, tangent
from milopt.compilation.quadratic import apply_weight
from milopt.declaration.atoms.atom import Atom, RadialAtom
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Function, Variable
from milopt.declaration.programs.sparse import row_vector
from milopt.errors import DeclarationError
from milopt.outcome.outcome import Outcome


class LeafValues:
    """Values of leaves (variables, parameters, function evaluations and atoms) at a point.

    Every atom is evaluated as declared, never read from an auxiliary column.
    """

    def __init__(
        self,
        lowering: Lowering,
        point: PrimalDualPoint,
        evaluations: Sequence[Vector],
        spaces: Sequence[KernelSpace],
    ) -> None:
        self._lowering = lowering
        self._spaces = spaces
        self._point = point
        self._evaluations = evaluations
        self._inner: dict[Atom, Vector] = {}
        """Cached arguments of atoms."""

    def value(self, expression: Expression) -> Vector:
        """Evaluate an expression."""
        return expression.evaluate(self.leaf_values)

    def objective(self) -> float:
        """Evaluate the declared objective, in its declared sense."""
        return float(self.value(self._lowering.program.objective)[0])

    def argument_values(self, atom: Atom) -> Vector:
        """Evaluate the argument of an atom, and cache it."""
        known = self._inner.get(atom)
        if known is None:
            known = self._inner[atom] = self._compute_argument(atom)
        return known

    def _compute_argument(self, atom: Atom) -> Vector:
        """Evaluate the argument of an atom."""
        if not has_affine_argument(atom):
            return self.value(atom.argument)
        rows = self._lowering.affine.affine_argument(atom)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def leaf_values(self, leaf: Leaf) -> Vector:
        """Return the values of a leaf: a variable, a parameter, an evaluation of a function, or an atom."""
        if isinstance(leaf, Atom):
            return self.atom_values(leaf)
        if leaf.is_parameter:
            return leaf.current_value()
        if isinstance(leaf, Variable):
            return self._point.x[self._lowering.affine.columns_of(leaf)]
        rows, _ = self._lowering.affine.separate_atoms(leaf)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def atom_values(self, atom: Atom) -> Vector:
        """Evaluate an atom."""
        if atom.function is None:
            return atom.value(self.argument_values(atom), atom.segments)
        assert isinstance(atom, RadialAtom)
        return atom.profile(np.sqrt(np.array([self._norm_squared(atom.function)])))

    def tangent(self, atom: Atom) -> Minorant:
        """Return the minorant that touches an atom at the point."""
        function = atom.function
        if function is None:
            return tangent(atom, self.argument_values(atom))
        assert isinstance(atom, RadialAtom)
        place = self._lowering.affine.free_function_index(function)
        direction = (
            self.norm_vector(function)
            if place is None
            else self._spaces[place].to_points(self._point.coefficients[place])
        )
        radius = np.sqrt(np.array([self._norm_squared(function)]))
        slope, value = float(atom.profile_slope(radius)[0]), atom.profile(radius)
        return Minorant(row_vector(slope * direction / (radius[0] or 1.0)), value - slope * radius)

    def norm_vector(self, function: Function) -> Vector:
        """Return the vector by which the slopes of a minorant of ||f|| are multiplied.

        For a function f without a dictionary, the vector consists of the values of f at all its points. For a function
        with a dictionary and coefficients a, it is B a, where B is a matrix with ||B a|| = ||f||.
        """
        place = self._lowering.affine.free_function_index(function)
        if place is not None:
            return self._evaluations[place]
        rows = self._lowering.affine.dictionary_rows(function)
        return rows.value(self._point.x[: rows.A.shape[1]], self._evaluations)

    def _norm_squared(self, function: Function) -> float:
        """Return ||f||^2, at least 0."""
        place = self._lowering.affine.free_function_index(function)
        if place is None:
            square = self._lowering.affine.dictionary_square(function, 1.0)
            a = square.rows.value(self._point.x[: square.rows.A.shape[1]], self._evaluations)
            return max(0.0, float(a @ apply_weight(square.weight, a)))
        vector = self._point.coefficients[place]
        return max(0.0, self._spaces[place].inner_product(vector, vector, self._evaluations[place]))


class PointValues(LeafValues):
    """Values of leaves at the point of an outcome."""

    def __init__(self, lowering: Lowering, outcome: Outcome) -> None:
        if outcome.point is None or outcome.evaluation is None:
            raise DeclarationError("There is no point to evaluate at.")
        super().__init__(lowering, outcome.point, outcome.evaluation.function_values, outcome.evaluation.spaces)
