"""Relaxations of a program at given multipliers of its declared rows; minorants of norms of functions that fit them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.compiled import Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant
from milopt.compilation.quadratic import weighted
from milopt.compilation.supports import SupportedLowering, Supports, TermSizes
from milopt.declaration.atoms.atom import Atom, Radial
from milopt.declaration.programs.sparse import transposed
from milopt.outcome.certificate import Evaluated
from milopt.outcome.multiplier_slopes import radial_support, row_multipliers


class Relaxations:
    """Relaxations of a program at given multipliers of its declared rows."""

    def __init__(
        self,
        lowering: Lowering,
        spaces: Sequence[KernelSpace],
        point: Point,
        worth: Evaluated,
        duals: dict[str, Vector],
        ridge: Sequence[float],
    ) -> None:
        self._ridge = ridge
        self._lowering = lowering
        self._spaces = spaces
        self._point = point
        self._worth = worth
        self._duals = duals

    def relaxation(self, supports: Supports) -> tuple[EvaluationForm, Vector, TermSizes]:
        """Return the relaxation with these minorants, the multipliers of its rows, and the sizes of its gradients."""
        lowering = SupportedLowering(self._lowering, supports, self._duals, self._ridge)
        relaxed = lowering.form()
        return relaxed, row_multipliers(relaxed, self._duals), lowering.sizes

    def function_supports(self, flat: Supports, supports: Supports) -> Supports:
        """Return minorants of the norms of functions; `flat` holds those with slopes 0.

        They start as tangents. Then each in turn, the one that gains most first, takes what is left of the gradient of
        its function, unless the tangent leaves less.
        """
        found = flat
        if len(flat) > 1:
            found = {atom: self._tangent(atom) for atom in flat}
        pending = list(flat)
        while pending:
            offers = {atom: self._function_support(atom, supports | found | {atom: flat[atom]}) for atom in pending}
            best = min(pending, key=lambda atom: offers[atom][1])
            found = found | {best: offers[best][0]}
            pending = [atom for atom in pending if atom is not best]
        return found

    def _function_support(self, atom: Atom, supports: Supports) -> tuple[Minorant, float]:
        """Return the better of two minorants, and its cost: what it adds to the gap, and what is left of the gradient.

        One takes all of the gradient that slopes of a minorant may take, the other is the tangent. A norm that hardly
        counts may need long slopes for the gradient, and a long slope is far below the atom.
        """
        assert isinstance(atom, Radial)
        k = self._place(atom)
        relaxed, y, _ = self.relaxation(supports)
        flat = supports[atom]
        raised, _, _ = self.relaxation(supports | {atom: Minorant(flat.slopes, flat.constants + 1.0)})
        weight = raised.objective.constant - relaxed.objective.constant - float(y @ (raised.rows.g - relaxed.rows.g))
        if weight <= 0.0:
            return flat, 0.0
        gradient, space, f = self._gradient(relaxed, y, k), self._spaces[k], self._worth.evaluations[k]
        radius = space.norm(self._point.coefficients[k])
        value = float(atom.profile(np.array([radius]))[0])
        offers: list[tuple[Minorant, float]] = []
        g = -gradient / weight
        for one in (radial_support(atom, g, space.norm(g)), self._tangent(atom)):
            slopes = one.slopes.toarray().ravel()
            below = value - float(slopes @ f) - float(one.constants[0])
            offers.append((one, weight * max(0.0, below) + (1.0 + radius) * space.norm(gradient + weight * slopes)))
        return min(offers, key=lambda offer: offer[1])

    def _tangent(self, atom: Atom) -> Minorant:
        """Return the minorant of the norm of a function that touches it at the point."""
        assert isinstance(atom, Radial)
        k = self._place(atom)
        a = self._point.coefficients[k]
        radius = self._spaces[k].norm(a)
        slope = float(atom.profile_slope(np.array([radius]))[0])
        return radial_support(atom, a * (slope / (radius or 1.0)), slope if radius else 0.0)

    def _place(self, atom: Atom) -> int:
        assert atom.function is not None
        place = self._lowering.linear.place_of(atom.function)
        assert place is not None
        return place

    def _gradient(self, form: EvaluationForm, y: Vector, k: int) -> Vector:
        """Return the gradient of the Lagrangian in a function, as weights on its points."""
        o, point, worth = form.objective, self._point, self._worth
        pull = o.ridge[k] * point.coefficients[k] + o.p[k] - transposed(form.rows.E[k]) @ y
        for square in o.squares:
            if square.rows.E[k].nnz:
                r = square.rows.value(point.x, worth.evaluations)
                pull = pull + transposed(square.rows.E[k]) @ weighted(square.weight, r)
        return np.asarray(pull)
