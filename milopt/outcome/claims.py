"""Check with the declared program what a solver found with the rows that atoms became: infeasible, or unbounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.compiled import Compiled, Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant
from milopt.compilation.supports import SupportedLowering, Supports, TermSizes
from milopt.declaration.atoms.atom import Radial
from milopt.declaration.programs.sparse import absolute, transposed
from milopt.outcome.contradiction import Contradiction, scaled_contradiction
from milopt.outcome.declared import declared_residuals
from milopt.outcome.multiplier_slopes import atom_supports, declared_duals, radial_support, row_multipliers
from milopt.outcome.point_values import LeafValues

VANISHING_SUM = 1e-6
"""Share of the terms of a column's sum up to which the sum counts as 0 when a Farkas vector is checked."""
SMALLEST_MARGIN = 1e-9
"""Smallest margin of a Farkas vector, relative to the terms that it is the sum of."""
SMALLEST_SIZE = 1e-2
"""Share of the largest size of a column's terms that counts as the size of every column's terms."""
RAY_STEPS = (0.0, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18)
"""How far along a ray, in units of the feasible point that it starts from, the declared program is evaluated."""
RAY_NOISE = 1e-6
"""Share of the largest entry of a ray below which an entry may be an error."""
RAY_FALL = 1e-6
"""Smallest fall along a ray with such entries, relative to the largest cost times the largest entry."""
RAY_VIOLATION, RAY_ROUNDING = 1e-5, 1e-13
"""Largest violation of a declared row along a ray, in units of the feasible point: fixed, and per length of the ray."""


def contradiction(
    lowering: Lowering, form: EvaluationForm, spaces: Sequence[KernelSpace], farkas: Point
) -> Contradiction | None:
    """Return the multipliers that prove that no point satisfies the declared rows, from those of the lowered rows.

    With the slopes that the multipliers have, the declared rows have a relaxation without cones. The multipliers y of
    the declared rows prove that it has no point if  y'(A x + E f + g) < 0  for all x within the bounds and all f.
    Return None if they do not prove it.
    """
    z = np.zeros(form.rows.count) if farkas.z is None else farkas.z
    if not lowering.has_epigraphs:
        # The rows are the declared ones, with which the multipliers were checked already.
        return scaled_contradiction(lowering, form, z)
    evaluations = tuple(space.values(a) for space, a in zip(spaces, farkas.coefficients, strict=True))
    values = LeafValues(lowering, farkas, evaluations)
    # A Farkas vector has no objective: its rows alone make up the gradient.
    gradient = -np.asarray(transposed(form.rows.A) @ z)
    duals = declared_duals(lowering.program.constraints, form, z)
    supports = _with_norms(lowering, spaces, duals, atom_supports(lowering, form, z, gradient, values))
    relaxed, y, more = _relaxed(lowering, duals, supports)
    pull, sizes = relaxed.rows.pulled(y), more.columns + transposed(absolute(relaxed.rows.A)) @ np.abs(y)
    side = np.where(pull > 0.0, relaxed.upper, relaxed.lower)
    is_bounded = np.isfinite(side)
    # Slopes that are noise have only noise to be compared with, so the largest size counts too.
    sizes = np.maximum(sizes, SMALLEST_SIZE * float(sizes.max(initial=0.0)))
    if (np.abs(pull) > VANISHING_SUM * sizes)[~is_bounded].any():
        return None
    for space, E, others in zip(spaces, relaxed.rows.E, more.points, strict=True):
        own = transposed(absolute(E)) @ np.abs(y)
        if space.norm(transposed(E) @ y) > VANISHING_SUM * space.size(own if others is None else own + others):
            return None
    terms = np.concatenate([relaxed.rows.g * y, pull * np.where(is_bounded, side, 0.0)])
    return scaled_contradiction(lowering, relaxed, y) if -terms.sum() > SMALLEST_MARGIN * np.abs(terms).sum() else None


def _relaxed(
    lowering: Lowering, duals: dict[str, Vector], supports: Supports
) -> tuple[EvaluationForm, Vector, TermSizes]:
    """Return the relaxation with these minorants, the multipliers of its rows, and the sizes of their terms."""
    supported = SupportedLowering(lowering, supports, duals, [0.0] * len(lowering.linear.free_functions))
    relaxed = supported.form()
    return relaxed, row_multipliers(relaxed, duals), supported.sizes


def _with_norms(
    lowering: Lowering, spaces: Sequence[KernelSpace], duals: dict[str, Vector], supports: Supports
) -> Supports:
    """Return minorants in which norms of functions, one after the other, take what other rows leave of E'y."""
    for atom, flat in supports.items():
        place = None if atom.function is None else lowering.linear.place_of(atom.function)
        if place is None or not isinstance(atom, Radial):
            continue
        relaxed, y, _ = _relaxed(lowering, duals, supports)
        raised, _, _ = _relaxed(lowering, duals, supports | {atom: Minorant(flat.slopes, flat.constants + 1.0)})
        weight = float(y @ (relaxed.rows.g - raised.rows.g))
        if weight > 0.0:
            slopes = np.asarray(transposed(relaxed.rows.E[place]) @ y) / weight
            supports = supports | {atom: radial_support(atom, slopes, spaces[place].norm(slopes))}
    return supports


def falling_ray(
    lowering: Lowering, spaces: Sequence[KernelSpace], compiled: Compiled, start: Vector, ray: Vector
) -> Vector | None:
    """Return a ray along which the declared objective falls from a feasible point, and the declared rows hold.

    The ray is measured in columns that are not auxiliary: those of atoms may run away alone if an epigraph is wrong.
    Its small entries may be errors of the solver that found it, so that it is tried without them, and with those alone
    that lower the objective. The whole ray counts only if the objective falls steeply along it: the norm of (1e-8, 1)
    is 1 in floating point, so that no evaluation tells a cone from its neighbourhood. Return None if no part of the ray
    is such a ray.
    """
    if not lowering.has_epigraphs:
        return ray
    own = np.ones(ray.size, dtype=bool)
    for one in lowering.epigraphs.lowered:
        own[np.concatenate([np.zeros(0, dtype=np.intp) if one.columns is None else one.columns, *one.new])] = False
    start_size, q = 1.0 + float(np.abs(start[own]).max(initial=0.0)), compiled.form.q
    for part, least in (
        (np.where(np.abs(ray) > RAY_NOISE * float(np.abs(ray[own]).max(initial=0.0)), ray, 0.0), 0.0),
        (np.where(q * ray < 0.0, ray, 0.0), 0.0),
        (ray, RAY_FALL * float(np.abs(q).max(initial=0.0))),
    ):
        length = float(np.abs(part[own]).max(initial=0.0))
        if length > 0.0:
            direction = part * (start_size / length)
            if _fall(lowering, spaces, compiled, start, direction) > least * float(np.abs(direction).max()):
                return direction
    return None


def _fall(
    lowering: Lowering, spaces: Sequence[KernelSpace], compiled: Compiled, start: Vector, direction: Vector
) -> float:
    """Return by how much the declared objective falls in a step along a direction.

    It is 0 unless the declared program confirms the direction as far as `RAY_STEPS` go.
    """
    size = float(np.abs(direction).max())
    objectives: list[float] = []
    for step in RAY_STEPS:
        x = start + step * direction
        point = compiled.recover(x, None)
        evaluations = tuple(space.values(a) for space, a in zip(spaces, point.coefficients, strict=True))
        values = LeafValues(lowering, point, evaluations)
        with np.errstate(over="ignore", invalid="ignore"):
            declared = declared_residuals(lowering, values, compiled.form.value(x))
        allowed = size * (RAY_VIOLATION + RAY_ROUNDING * step)
        falls = not objectives or declared.objective < objectives[-1]
        if not (declared.violation <= allowed and falls):  # false for NaN
            return 0.0
        objectives.append(declared.objective)
    return objectives[0] - objectives[1]
