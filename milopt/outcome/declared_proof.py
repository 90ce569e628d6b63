"""Certificate of a declared program with atoms, from multipliers of declared rows, slopes and conjugates.

1. The multiplier of a declared row is the sum over its lowered rows of share * z: their multipliers z, times the share
   of the declared row in each.
2. The slopes of an atom are read from the multipliers of its epigraph (`milopt.outcome.multiplier_slopes`).
3. With these minorants in place of atoms on their convex side, and those of the step on their non-convex side, the
   program is a relaxation without cones (`milopt.compilation.minorant_lowering`). Its KKT residuals and bound are
   computed as for any other program (`milopt.outcome.certificate`).

Violations and the objective come from the declared program itself (`milopt.outcome.declared_residuals`). No cone, no
auxiliary column and no row of an epigraph is used: a wrong epigraph gives a worse point or bound, but never a wrong
proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.declaration.atoms.atom import Atom
from milopt.outcome.certificate import Certificate, DeclaredResiduals, PointEvaluation, certify, squared_norms
from milopt.outcome.lagrangian import column_gradient
from milopt.outcome.minorant_relaxations import MinorantRelaxations
from milopt.outcome.multiplier_slopes import NEGLIGIBLE_MULTIPLIER, atom_minorants, declared_duals
from milopt.outcome.point_values import LeafValues

LARGER_NEGLIGIBLE_MULTIPLIER = 1e-9
"""Share of the largest multiplier below which a multiplier counts as 0 in the second attempt.

It is the accuracy to which interior-point methods compute multipliers.
"""
MAX_ACCEPTED_RESIDUAL = 1e-7
"""Largest residual of a certificate for which no second attempt is made."""


def certify_declared(
    lowering: Lowering,
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: PrimalDualPoint,
    evaluation: PointEvaluation,
    declared: DeclaredResiduals,
) -> Certificate:
    """Compute the certificate of a point from the declared program (see the module docstring)."""
    certificate = _certify_with_threshold(lowering, form, spaces, point, evaluation, declared, NEGLIGIBLE_MULTIPLIER)
    if certificate.worst <= MAX_ACCEPTED_RESIDUAL:
        return certificate
    # If multipliers are noise, slopes computed from them may be steep, above all at the edge of a domain.
    # Every choice of minorants proves a bound, so the better of two certificates is returned.
    other = _certify_with_threshold(lowering, form, spaces, point, evaluation, declared, LARGER_NEGLIGIBLE_MULTIPLIER)
    return min(certificate, other, key=lambda c: c.worst if np.isfinite(c.worst) else np.inf)


def _certify_with_threshold(
    lowering: Lowering,
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: PrimalDualPoint,
    evaluation: PointEvaluation,
    declared: DeclaredResiduals,
    negligible: float,
) -> Certificate:
    """Compute the certificate with minorants of the atoms, whose slopes follow from the multipliers of their epigraphs.

    If a multiplier is below `negligible` times the largest one, the slopes of the atom at the point are used instead.
    """
    z = np.zeros(form.rows.count) if point.z is None else point.z
    values = LeafValues(lowering, point, evaluation.function_values, spaces)
    gradient = column_gradient(form, point.x, evaluation, z)
    minorants = atom_minorants(lowering, form, z, gradient, values, negligible)
    duals = declared_duals(lowering.program.constraints, form, z)
    relaxations = MinorantRelaxations(lowering, spaces, point, evaluation, duals, form.objective.ridge)
    minorants |= relaxations.choose_norm_minorants(
        {atom: m for atom, m in minorants.items() if _is_atom_of_free_function(lowering, atom)}, minorants
    )
    relaxed, y, sizes = relaxations.relax(minorants)
    rows = relaxed.rows.value(point.x, evaluation.function_values)
    norms = squared_norms(spaces, point, evaluation.function_values)
    value = relaxed.value(point.x, evaluation.function_values, norms)
    return certify(
        relaxed,
        spaces,
        PrimalDualPoint(point.x, point.coefficients, y),
        replace(evaluation, rows=rows, objective=value),
        declared,
        sizes,
    )


def _is_atom_of_free_function(lowering: Lowering, atom: Atom) -> bool:
    """Return True for an atom of a function as a whole, such as its norm, if the function has no dictionary."""
    return atom.function is not None and lowering.affine.free_function_index(atom.function) is not None
