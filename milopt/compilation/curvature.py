"""Convexity of a quadratic objective, judged by the sum of its terms on the null space of the equalities.

A function can have components that are orthogonal to all its points. In these directions only the weight of ||f||^2
counts, so a negative weight makes the objective non-convex, whatever the sum is in coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Matrix
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO
from milopt.declaration.programs.semidefinite import ROUNDING_PER_COLUMN, is_semidefinite, smallest_eigenvalue


@dataclass(frozen=True)
class Curvature:
    """Verdict on the convexity of a quadratic objective."""

    convex: bool
    smallest: float
    """Smallest eigenvalue on the null space of the equalities, or the most negative c of a term 1/2 c ||f||^2, if any.

    It is 0 if the objective is convex, and NaN if it was not computed.
    """
    terms: tuple[str, ...] = ()
    """Descriptions of the terms that are not convex by themselves; their sum with the other terms may be convex."""

    def reason(self) -> str:
        """Return one sentence that states why the objective is not convex."""
        terms = ", ".join(self.terms)
        return (
            f"The objective is not convex (non-convex terms: {terms}; smallest eigenvalue {self.smallest:.4g} "
            "on the feasible subspace)."
        )


def nonconvex_terms(form: EvaluationForm) -> tuple[str, ...]:
    """Return descriptions of the terms of the objective that are not convex by themselves."""
    terms = [
        f"norm_squared({space.function.name}) with weight {ridge / 2:.4g}"
        for space, ridge in zip(form.spaces, form.objective.ridge, strict=True)
        if ridge < 0
    ]
    terms += [square.term for square in form.objective.squares if not is_semidefinite(square.weight)]
    return tuple(terms)


def curvature(form: EvaluationForm, flat: StandardForm) -> Curvature:
    """Judge the convexity of the objective on the null space of the equalities, over columns that are not fixed.

    `flat` is the form's primal form, used only if some term is not convex. Rounding errors are measured column by
    column relative to the terms that add up to P, because the sum may be much smaller than the terms. So columns are
    divided by the square roots of `diagonal_sizes` before eigenvalues are computed.
    """
    terms = nonconvex_terms(form)
    if not terms:
        return Curvature(True, 0.0)
    steepest = min(form.objective.ridge, default=0.0)
    if steepest < 0.0:
        return Curvature(False, steepest, terms)
    free = np.flatnonzero(flat.lower < flat.upper)
    P, equalities = flat.P.submatrix(free), flat.F[flat.rows_in(ZERO)][:, free].toarray()
    sizes = flat.P.diagonal_sizes[free]
    unit = 1.0 / np.sqrt(np.where(sizes > 0, sizes, 1.0))
    scaled = _restrict_to_subspace(unit[:, None] * P * unit, equalities * unit)
    if smallest_eigenvalue(scaled) >= -ROUNDING_PER_COLUMN * flat.n:
        return Curvature(True, 0.0, terms)
    return Curvature(False, smallest_eigenvalue(_restrict_to_subspace(P, equalities)), terms)


def _restrict_to_subspace(P: Matrix, equalities: Matrix) -> Matrix:
    """Return P restricted to {d : equalities d = 0}, in an orthonormal basis."""
    from scipy.linalg import null_space

    if not equalities.size:
        return P
    basis = null_space(equalities)
    return np.asarray(basis.T @ P @ basis)
