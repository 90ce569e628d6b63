"""Relaxations of a program by minorants at given multipliers, and minorants of norms, chosen for these multipliers."""

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
        """Return (relaxation with these minorants, multipliers of its rows, sizes of the terms of its gradient)."""
        lowering = MinorantLowering(self._lowering, minorants, self._duals, self._ridge)
        relaxed = lowering.form()
        return relaxed, row_multipliers(relaxed, self._duals), lowering.sizes

    def choose_norm_minorants(self, flat: Minorants, other_minorants: Minorants) -> Minorants:
        """Return minorants of the norms of functions, chosen for the multipliers; `flat` has those with slopes 0.

        `other_minorants` has a minorant of every other atom. If there are several norms, all start with their tangents.
        Then one norm after the other gets the better of two minorants, the norm with the lowest cost first. The cost is
        the loss in the gap plus the gradient that remains (see `_choose_cheaper_minorant`).
        """
        norm_minorants = flat
        if len(flat) > 1:
            norm_minorants = {atom: self._tangent_minorant(atom) for atom in flat}
        pending = list(flat)
        while pending:
            offers = {
                atom: self._choose_cheaper_minorant(atom, other_minorants | norm_minorants | {atom: flat[atom]})
                for atom in pending
            }
            best = min(pending, key=lambda atom: offers[atom][1])
            norm_minorants = norm_minorants | {best: offers[best][0]}
            pending = [atom for atom in pending if atom is not best]
        return norm_minorants

    def _choose_cheaper_minorant(self, atom: Atom, minorants: Minorants) -> tuple[Minorant, float]:
        """Return (minorant, cost) of the cheaper of two minorants of a norm.

        The slopes of the first candidate cancel the gradient with respect to the function, as far as those of a
        minorant can. The second candidate is the tangent at the point. If the norm has a small weight in the
        Lagrangian, the first needs long slopes, and may lie far below the norm at the point. The cost is the loss in
        the gap plus the size of the gradient that remains.

        `minorants` has a minorant of every atom. That of this norm has slopes 0, and is returned with cost 0 if the
        norm has no positive weight.
        """
        assert isinstance(atom, RadialAtom)
        k = self._function_index(atom)
        relaxed, y, _ = self.relax(minorants)
        flat = minorants[atom]
        raised, _, _ = self.relax(minorants | {atom: Minorant(flat.slopes, flat.constants + 1.0)})
        weight = raised.objective.constant - relaxed.objective.constant - float(y @ (raised.rows.g - relaxed.rows.g))
        if weight <= 0.0:
            return flat, 0.0
        gradient, space, f = (
            self._function_gradient(relaxed, y, k),
            self._spaces[k],
            self._evaluation.function_values[k],
        )
        radius = space.length(self._point.coefficients[k])
        value = float(atom.profile(np.array([radius]))[0])
        offers: list[tuple[Minorant, float]] = []
        g = -gradient / weight
        for minorant in (radial_minorant(atom, g, space.norm(g)), self._tangent_minorant(atom)):
            slopes = minorant.slopes.toarray().ravel()
            below = value - float(slopes @ f) - float(minorant.constants[0])
            offers.append(
                (minorant, weight * max(0.0, below) + (1.0 + radius) * space.norm(gradient + weight * slopes))
            )
        return min(offers, key=lambda offer: offer[1])

    def _tangent_minorant(self, atom: Atom) -> Minorant:
        """Return the minorant of the norm of a function that touches the norm at the point."""
        assert isinstance(atom, RadialAtom)
        k = self._function_index(atom)
        a = self._spaces[k].to_points(self._point.coefficients[k])
        radius = self._spaces[k].length(self._point.coefficients[k])
        slope = float(atom.profile_slope(np.array([radius]))[0])
        return radial_minorant(atom, a * (slope / (radius or 1.0)), slope if radius else 0.0)

    def _function_index(self, atom: Atom) -> int:
        """Return the index of the atom's function among the spaces of the form."""
        assert atom.function is not None
        place = self._lowering.affine.free_function_index(atom.function)
        assert place is not None
        return place

    def _function_gradient(self, form: EvaluationForm, y: Vector, k: int) -> Vector:
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
