"""Convexity of a quadratic objective, judged by the sum of its terms on the null space of the equalities.

A function f can have a component that is orthogonal to the kernel functions of all its points. Along such a component,
only the term with ||f||^2 changes. So the objective is not convex if ||f||^2 has a negative weight, whatever the
eigenvalues of P are.
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
class ConvexityVerdict:
    """Verdict on the convexity of a quadratic objective."""

    convex: bool
    smallest: float
    """Smallest eigenvalue of the Hessian on the null space of the equalities.

    If ||f||^2 has a negative weight for a function f, it is the most negative c of the terms 1/2 c ||f||^2. It is 0 if
    the objective is convex, and NaN if it was not computed.
    """
    terms: tuple[str, ...] = ()
    """Descriptions of the terms that are not convex by themselves; the sum of all terms may still be convex."""

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


def judge_convexity(form: EvaluationForm, primal: StandardForm) -> ConvexityVerdict:
    """Judge whether the objective is convex on the null space of the equalities, over the columns that are not fixed.

    `primal` is the primal form of `form`; it is used only if some term is not convex. Rounding errors are measured,
    column by column, relative to the terms that add up to P, because P may be much smaller than its terms. Therefore
    the columns are divided by the square roots of `Quadratic.absolute_diagonal_sums` before eigenvalues are computed.
    """
    terms = nonconvex_terms(form)
    if not terms:
        return ConvexityVerdict(True, 0.0)
    steepest = min(form.objective.ridge, default=0.0)
    if steepest < 0.0:
        return ConvexityVerdict(False, steepest, terms)
    free = np.flatnonzero(primal.lower < primal.upper)
    P, equalities = primal.P.submatrix(free), primal.F[primal.rows_in(ZERO)][:, free].toarray()
    sizes = primal.P.absolute_diagonal_sums[free]
    unit = 1.0 / np.sqrt(np.where(sizes > 0, sizes, 1.0))
    scaled = _restrict_to_subspace(unit[:, None] * P * unit, equalities * unit)
    if smallest_eigenvalue(scaled) >= -ROUNDING_PER_COLUMN * primal.n:
        return ConvexityVerdict(True, 0.0, terms)
    return ConvexityVerdict(False, smallest_eigenvalue(_restrict_to_subspace(P, equalities)), terms)


def _restrict_to_subspace(P: Matrix, equalities: Matrix) -> Matrix:
    """Return P restricted to the subspace {d : equalities @ d = 0}, in an orthonormal basis of the subspace."""
    from scipy.linalg import null_space

    if not equalities.size:
        return P
    basis = null_space(equalities)
    return np.asarray(basis.T @ P @ basis)
