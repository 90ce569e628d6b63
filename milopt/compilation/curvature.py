"""Is it convex? Quadratics are judged on their sum, on the subspace that the equalities leave.

A function may be larger in norm than in all its values: in directions orthogonal to its points nothing makes up for a
negative weight of ||f||^2, whatever the sum is in coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Matrix
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO
from milopt.declaration.programs.semidefinite import ROUNDING, is_semidefinite, smallest_eigenvalue


@dataclass(frozen=True)
class Curvature:
    """The verdict on a quadratic objective."""

    convex: bool
    smallest: float
    """The smallest eigenvalue on the feasible subspace; 0 if the objective is convex."""
    terms: tuple[str, ...] = ()
    """The terms that bend down."""

    def reason(self) -> str:
        """One sentence when it is not convex."""
        terms = ", ".join(self.terms)
        where = f"smallest eigenvalue {self.smallest:.4g} on the feasible subspace"
        return f"The objective is not convex: {terms} bends down, {where}."


def bending_terms(form: EvaluationForm) -> tuple[str, ...]:
    """The terms that are not convex by themselves."""
    terms = [
        f"norm_squared({space.function.name}) with weight {ridge / 2:.4g}"
        for space, ridge in zip(form.spaces, form.objective.ridge, strict=True)
        if ridge < 0
    ]
    terms += [square.term for square in form.objective.squares if not is_semidefinite(square.weight)]
    return tuple(terms)


def curvature(form: EvaluationForm, flat: StandardForm) -> Curvature:
    """Return the verdict; `flat` is the form in coordinates, used only if some term is not convex.

    Rounding is measured column by column against the terms that add up to P, whose sum may be much smaller: columns are
    scaled by the square roots of their diagonals before eigenvalues are computed.
    """
    terms = bending_terms(form)
    if not terms:
        return Curvature(True, 0.0)
    steepest = min(form.objective.ridge, default=0.0)
    if steepest < 0.0:
        return Curvature(False, steepest, terms)
    free = np.flatnonzero(flat.lower < flat.upper)
    P, equalities = flat.P.submatrix(free), flat.F[flat.rows_in(ZERO)][:, free].toarray()
    sizes = flat.P.diagonal_sizes[free]
    unit = 1.0 / np.sqrt(np.where(sizes > 0, sizes, 1.0))
    scaled = _on_subspace(unit[:, None] * P * unit, equalities * unit)
    if smallest_eigenvalue(scaled) >= -ROUNDING * flat.n:
        return Curvature(True, 0.0, terms)
    return Curvature(False, smallest_eigenvalue(_on_subspace(P, equalities)), terms)


def _on_subspace(P: Matrix, equalities: Matrix) -> Matrix:
    """Return P restricted to {d : equalities d = 0}, in an orthonormal basis."""
    from scipy.linalg import null_space

    if not equalities.size:
        return P
    basis = null_space(equalities)
    return np.asarray(basis.T @ P @ basis)
