"""Is it convex? Quadratics are judged on their sum, on the subspace that the equalities leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.standard_form import Cone, StandardForm
from milopt.errors import ConvexityError


@dataclass(frozen=True)
class Curvature:
    """The verdict on a quadratic objective."""

    convex: bool
    smallest: float
    """The smallest eigenvalue on the feasible subspace; 0 when every term is convex by itself."""
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
    """The verdict; `flat` is the form in coordinates, used only when some term bends down."""
    terms = bending_terms(form)
    if not terms:
        return Curvature(True, 0.0)
    smallest = smallest_eigenvalue(flat)
    scale = max(1.0, float(np.max(np.abs(flat.P.diagonal), initial=0.0)))
    return Curvature(smallest >= -1e-15 * flat.n * scale, smallest, terms)


def smallest_eigenvalue(flat: StandardForm) -> float:
    """Of P restricted to {d : F_zero d = 0}, fixed columns left out."""
    from scipy.linalg import eigvalsh, null_space

    free = np.flatnonzero(flat.lower < flat.upper)
    P = flat.P.submatrix(free)
    equalities = flat.F[flat.rows_in(Cone.ZERO)][:, free].toarray()
    if equalities.size:
        basis = null_space(equalities)
        P = basis.T @ P @ basis
    return float(eigvalsh(P, subset_by_index=[0, 0])[0]) if P.size else 0.0


def is_semidefinite(weight: npt.NDArray[np.float64]) -> bool:
    """Whether a weight (diagonal as a vector, or a matrix) has no negative eigenvalue beyond rounding."""
    if weight.ndim == 1:
        return bool((weight >= 0).all())
    shift = 1e-14 * max(float(np.trace(weight)) / max(len(weight), 1), float(np.max(np.abs(weight), initial=0.0)))
    try:
        np.linalg.cholesky(weight + shift * len(weight) * np.eye(len(weight)))
    except np.linalg.LinAlgError:
        return False
    return True


def symmetric_root(matrix: npt.NDArray[np.float64], what: str) -> npt.NDArray[np.float64]:
    """B with B'B = matrix (or diagonal, as a vector); an error names the smallest eigenvalue if it is negative."""
    from scipy.linalg import eigh

    if matrix.ndim == 1:
        if (matrix < 0).any():
            raise ConvexityError(f"{what} is not positive semidefinite: smallest weight {matrix.min():.4g}.")
        return np.diag(np.sqrt(matrix))
    values, vectors = eigh(matrix)
    largest = max(float(values[-1]), 0.0)
    if values[0] < -1e-9 * max(largest, 1e-300) - 1e-12:
        raise ConvexityError(f"{what} is not positive semidefinite: smallest eigenvalue {values[0]:.4g}.")
    kept = values > 1e-10 * largest
    root: npt.NDArray[np.float64] = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return root
