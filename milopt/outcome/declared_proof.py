"""The certificate of a declared program with atoms: multipliers of declared rows, slopes and conjugates.

1. The multiplier of a declared row is the sum over its lowered rows of share * z.
2. The slopes of an atom are read from the multipliers of its epigraph (`milopt.outcome.multiplier_slopes`).
3. With these minorants in place of atoms on their convex side, and those of the step on their other side, the program
   is a relaxation without cones (`milopt.compilation.supports`), whose KKT residuals and bound are computed as for any
   other program (`milopt.outcome.certificate`).

Violations and the objective come from the declared program itself (`milopt.outcome.declared`). No cone, no auxiliary
column and no row of an epigraph takes part: a wrong epigraph gives a worse point or a worse bound, never a proof.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.compilation.compiled import Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.declaration.atoms.atom import Atom
from milopt.outcome.certificate import Certificate, DeclaredResiduals, Evaluated, certify
from milopt.outcome.lagrangian import column_gradient
from milopt.outcome.multiplier_slopes import NEGLIGIBLE_MULTIPLIER, atom_supports, declared_duals
from milopt.outcome.point_values import LeafValues
from milopt.outcome.relaxations import Relaxations

NOISY_MULTIPLIER = 1e-9
"""Share of the largest multiplier for a second try: the accuracy to which interior-point methods know multipliers."""
SMALL_RESIDUAL = 1e-7
"""Largest residual of a certificate for which no other slopes are tried."""


def certify_declared(
    lowering: Lowering,
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: Point,
    worth: Evaluated,
    declared: DeclaredResiduals,
) -> Certificate:
    """Compute the certificate of a point from the declared program; see the module."""
    certificate = _certified(lowering, form, spaces, point, worth, declared, NEGLIGIBLE_MULTIPLIER)
    if certificate.worst <= SMALL_RESIDUAL:
        return certificate
    # Slopes from multipliers that are noise may be steep, above all at the edge of a domain.
    # Any minorants prove a bound, so the better of two certificates is taken.
    other = _certified(lowering, form, spaces, point, worth, declared, NOISY_MULTIPLIER)
    return min(certificate, other, key=lambda one: one.worst if np.isfinite(one.worst) else np.inf)


def _certified(
    lowering: Lowering,
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: Point,
    worth: Evaluated,
    declared: DeclaredResiduals,
    negligible: float,
) -> Certificate:
    """Compute the certificate with the slopes at the point where multipliers are below a share of the largest."""
    z = np.zeros(form.rows.count) if point.z is None else point.z
    values = LeafValues(lowering, point, worth.evaluations)
    gradient = column_gradient(form, point.x, worth, z)
    supports = atom_supports(lowering, form, z, gradient, values, negligible)
    duals = declared_duals(lowering.program.constraints, form, z)
    relaxations = Relaxations(lowering, spaces, point, worth, duals, form.objective.ridge)
    supports |= relaxations.function_supports(
        {atom: m for atom, m in supports.items() if _is_free_function(lowering, atom)}, supports
    )
    relaxed, y, sizes = relaxations.relaxation(supports)
    rows = relaxed.rows.value(point.x, worth.evaluations)
    norms = tuple(float(a @ v) for a, v in zip(point.coefficients, worth.evaluations, strict=True))
    value = relaxed.value(point.x, worth.evaluations, norms)
    return certify(
        relaxed,
        spaces,
        Point(point.x, point.coefficients, y),
        Evaluated(worth.evaluations, rows, value),
        declared,
        sizes,
    )


def _is_free_function(lowering: Lowering, atom: Atom) -> bool:
    return atom.function is not None and lowering.linear.place_of(atom.function) is not None
