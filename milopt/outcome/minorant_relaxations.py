"""Relaxations of a program by minorants at given multipliers, and minorants of norms of functions that fit them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant
from milopt.compilation.minorant_lowering import MinorantLowering, Minorants, TermSizes
from milopt.compilation.quadratic import apply_weight
from milopt.declaration.atoms.atom import Atom, RadialAtom
from milopt.declaration.programs.sparse import transpose
from milopt.outcome.certificate import PointEvaluation
from milopt.outcome.multiplier_slopes import radial_minorant, row_multipliers


class MinorantRelaxations:
    """Relaxations of a program, by minorants of its atoms, at given multipliers of its declared rows."""

    def __init__(
        self,
        lowering: Lowering,
        spaces: Sequence[KernelSpace],
        point: PrimalDualPoint,
        evaluation: PointEvaluation,
        duals: dict[str, Vector],
        ridge: Sequence[float],
    ) -> None:
        self._ridge = ridge
        self._lowering = lowering
        self._spaces = spaces
        self._point = point
        self._evaluation = evaluation
        self._duals = duals

    def relax(self, minorants: Minorants) -> tuple[EvaluationForm, Vector, TermSizes]:
        """Return the relaxation with these minorants, its row multipliers, and the sizes of its gradient terms."""
        lowering = MinorantLowering(self._lowering, minorants, self._duals, self._ridge)
        relaxed = lowering.form()
        return relaxed, row_multipliers(relaxed, self._duals), lowering.sizes

    def function_norm_minorants(self, flat: Minorants, other_minorants: Minorants) -> Minorants:
        """Return minorants of the norms of functions; `flat` contains their minorants with slopes 0.

        `other_minorants` has a minorant of every other atom. If there are several norms, all start with their tangents.
        Then each norm in turn, the one with the smallest cost first, gets the slopes that balance the remaining
        gradient with respect to its function, or its tangent if that costs less.
        """
        norm_minorants = flat
        if len(flat) > 1:
            norm_minorants = {atom: self._tangent(atom) for atom in flat}
        pending = list(flat)
        while pending:
            offers = {
                atom: self._better_minorant(atom, other_minorants | norm_minorants | {atom: flat[atom]})
                for atom in pending
            }
            best = min(pending, key=lambda atom: offers[atom][1])
            norm_minorants = norm_minorants | {best: offers[best][0]}
            pending = [atom for atom in pending if atom is not best]
        return norm_minorants

    def _better_minorant(self, atom: Atom, minorants: Minorants) -> tuple[Minorant, float]:
        """Return the better of two minorants of a norm and its cost: the loss in the gap plus the remaining gradient.

        `minorants` has a minorant of every atom, and for this norm the one with slopes 0. That one is returned, with
        cost 0, if the norm has no positive weight in the Lagrangian. One candidate balances as much of the gradient as
        slopes of a minorant can, the other is the tangent. A norm with a small weight may need long slopes to balance
        the gradient, and a minorant with long slopes lies far below the atom.
        """
        assert isinstance(atom, RadialAtom)
        k = self._place(atom)
        relaxed, y, _ = self.relax(minorants)
        flat = minorants[atom]
        raised, _, _ = self.relax(minorants | {atom: Minorant(flat.slopes, flat.constants + 1.0)})
        weight = raised.objective.constant - relaxed.objective.constant - float(y @ (raised.rows.g - relaxed.rows.g))
        if weight <= 0.0:
            return flat, 0.0
        gradient, space, f = self._gradient(relaxed, y, k), self._spaces[k], self._evaluation.function_values[k]
        radius = space.length(self._point.coefficients[k])
        value = float(atom.profile(np.array([radius]))[0])
        offers: list[tuple[Minorant, float]] = []
        g = -gradient / weight
        for minorant in (radial_minorant(atom, g, space.norm(g)), self._tangent(atom)):
            slopes = minorant.slopes.toarray().ravel()
            below = value - float(slopes @ f) - float(minorant.constants[0])
            offers.append(
                (minorant, weight * max(0.0, below) + (1.0 + radius) * space.norm(gradient + weight * slopes))
            )
        return min(offers, key=lambda offer: offer[1])

    def _tangent(self, atom: Atom) -> Minorant:
        """Return the minorant of the norm of a function that touches the norm at the point."""
        assert isinstance(atom, RadialAtom)
        k = self._place(atom)
        a = self._spaces[k].to_points(self._point.coefficients[k])
        radius = self._spaces[k].length(self._point.coefficients[k])
        slope = float(atom.profile_slope(np.array([radius]))[0])
        return radial_minorant(atom, a * (slope / (radius or 1.0)), slope if radius else 0.0)

    def _place(self, atom: Atom) -> int:
        """Return the index of the atom's function among the spaces of the form."""
        assert atom.function is not None
        place = self._lowering.affine.place_of(atom.function)
        assert place is not None
        return place

    def _gradient(self, form: EvaluationForm, y: Vector, k: int) -> Vector:
        """Return the gradient of the Lagrangian at multipliers y with respect to function k: weights on its points."""
        o, point, evaluation = form.objective, self._point, self._evaluation
        pull = o.p[k] - transpose(form.rows.E[k]) @ y
        if o.ridge[k]:
            pull = o.ridge[k] * self._spaces[k].to_points(point.coefficients[k]) + pull
        for square in o.squares:
            if square.rows.E[k].nnz:
                r = square.rows.value(point.x, evaluation.function_values)
                pull = pull + transpose(square.rows.E[k]) @ apply_weight(square.weight, r)
        return np.asarray(pull)
