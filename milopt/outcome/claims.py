"""Check with the declared program that it is infeasible or unbounded, if that was proved for its lowered rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.compiled_form import CompiledForm, PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant
from milopt.compilation.minorant_lowering import MinorantLowering, Minorants, TermSizes
from milopt.declaration.atoms.atom import RadialAtom
from milopt.declaration.programs.sparse import absolute, transpose
from milopt.outcome.contradiction import Contradiction, build_contradiction
from milopt.outcome.declared_residuals import declared_residuals
from milopt.outcome.multiplier_slopes import atom_minorants, declared_duals, radial_minorant, row_multipliers
from milopt.outcome.point_values import LeafValues

ZERO_SUM_TOLERANCE = 1e-6
"""Share of the absolute terms of a sum up to which the sum counts as 0 in the check of a Farkas vector."""
MIN_FARKAS_MARGIN = 1e-9
"""Smallest margin of a Farkas vector, relative to the sum of its absolute terms."""
MIN_COLUMN_SIZE_SHARE = 1e-2
"""The size of every column's terms counts as at least this share of the largest such size."""
RAY_STEP_LENGTHS = (0.0, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18)
"""Lengths along a ray, relative to the size of the starting point, at which the declared program is evaluated."""
RAY_ENTRY_TOLERANCE = 1e-6
"""Share of the largest entry of a ray below which an entry may be a rounding error."""
MIN_RAY_DECREASE = 1e-6
"""Smallest decrease along a ray with all its small entries, relative to the largest cost times the largest entry."""
MAX_RAY_VIOLATION, MAX_RAY_VIOLATION_PER_LENGTH = 1e-5, 1e-13
"""Largest violation of a declared row along a ray, relative to the starting point: constant, and per length."""


def find_contradiction(
    lowering: Lowering, form: EvaluationForm, spaces: Sequence[KernelSpace], farkas: PrimalDualPoint
) -> Contradiction | None:
    """Return multipliers that prove that no point satisfies the declared rows; None if the given ones do not prove it.

    `farkas.z` are multipliers of the lowered rows (those of `form`) that prove it for the lowered rows. From them
    follow slopes of the atoms. Minorants with these slopes turn the declared rows into a relaxation without cones, A x
    + E f + g >= 0 (or = 0), in the variables x and the functions f. The multipliers y of the declared rows prove that
    the relaxation has no feasible point if  y'(A x + E f + g) < 0  for all x within the bounds and all f.
    """
    z = np.zeros(form.rows.count) if farkas.z is None else farkas.z
    if not lowering.has_epigraphs:
        # The lowered rows are the declared rows, for which the multipliers have been checked already.
        return build_contradiction(lowering, form, z)
    evaluations = tuple(space.values(a) for space, a in zip(spaces, farkas.coefficients, strict=True))
    values = LeafValues(lowering, farkas, evaluations, spaces)
    # A Farkas vector belongs to a program without an objective, so the gradient consists of the rows only.
    gradient = -np.asarray(transpose(form.rows.A) @ z)
    duals = declared_duals(lowering.program.constraints, form, z)
    minorants = _add_norm_minorants(lowering, spaces, duals, atom_minorants(lowering, form, z, gradient, values))
    relaxed, y, sizes_of_terms = _relax_with_minorants(lowering, duals, minorants)
    combination, sizes = (
        relaxed.rows.transpose_times(y),
        sizes_of_terms.columns + transpose(absolute(relaxed.rows.A)) @ np.abs(y),
    )
    side = np.where(combination > 0.0, relaxed.upper, relaxed.lower)
    is_bounded = np.isfinite(side)
    # If the slopes of a column are noise, the sizes of its terms are noise too, so the largest size counts as well.
    sizes = np.maximum(sizes, MIN_COLUMN_SIZE_SHARE * float(sizes.max(initial=0.0)))
    if (np.abs(combination) > ZERO_SUM_TOLERANCE * sizes)[~is_bounded].any():
        return None
    for space, E, others in zip(spaces, relaxed.rows.E, sizes_of_terms.points, strict=True):
        own = transpose(absolute(E)) @ np.abs(y)
        if space.norm(transpose(E) @ y) > ZERO_SUM_TOLERANCE * space.summed_term_norms(
            own if others is None else own + others
        ):
            return None
    terms = np.concatenate([relaxed.rows.g * y, combination * np.where(is_bounded, side, 0.0)])
    return build_contradiction(lowering, relaxed, y) if -terms.sum() > MIN_FARKAS_MARGIN * np.abs(terms).sum() else None


def _relax_with_minorants(
    lowering: Lowering, duals: dict[str, Vector], minorants: Minorants
) -> tuple[EvaluationForm, Vector, TermSizes]:
    """Return (relaxation with these minorants, multipliers of its rows, sizes of the terms of its gradient).

    The relaxation has no objective. The slopes of atoms in the objective are arbitrary here, and if they were large,
    they would hide a sum that is not 0.
    """
    relaxed_lowering = MinorantLowering(lowering, minorants, duals, [0.0] * len(lowering.affine.free_functions))
    relaxed = relaxed_lowering.form(has_objective=False)
    return relaxed, row_multipliers(relaxed, duals), relaxed_lowering.sizes


def _add_norm_minorants(
    lowering: Lowering, spaces: Sequence[KernelSpace], duals: dict[str, Vector], minorants: Minorants
) -> Minorants:
    """Return the minorants, with new slopes for the norms ||f|| of functions in a kernel space.

    Each norm in turn gets slopes g such that weight * g cancels the remaining gradient E'y with respect to f, as far as
    a minorant of the norm can. E is the matrix of the rows over the values of f at its points, and y are the
    multipliers of the rows. The weight is minus the sum of y times the coefficients of the norm in the rows.
    """
    for atom, flat in minorants.items():
        place = None if atom.function is None else lowering.affine.free_function_index(atom.function)
        if place is None or not isinstance(atom, RadialAtom):
            continue
        relaxed, y, _ = _relax_with_minorants(lowering, duals, minorants)
        raised, _, _ = _relax_with_minorants(
            lowering, duals, minorants | {atom: Minorant(flat.slopes, flat.constants + 1.0)}
        )
        weight = float(y @ (relaxed.rows.g - raised.rows.g))
        if weight > 0.0:
            slopes = np.asarray(transpose(relaxed.rows.E[place]) @ y) / weight
            minorants = minorants | {atom: radial_minorant(atom, slopes, spaces[place].norm(slopes))}
    return minorants


def find_decreasing_ray(
    lowering: Lowering, spaces: Sequence[KernelSpace], compiled: CompiledForm, start: Vector, ray: Vector
) -> Vector | None:
    """Return a ray along which the declared objective decreases from a feasible point while the declared rows hold.

    `start` is the feasible point and `ray` a ray of the lowered rows. Small entries of the ray may be errors of the
    solver that found it. So three variants are tried: the ray without its small entries, only its entries that decrease
    the objective, and the unchanged ray. The last is accepted only if the objective decreases steeply: the norm of
    (1e-8, 1) is 1 in floating point, so evaluations cannot distinguish a cone from its neighbourhood. Return the first
    variant that passes, scaled to the size of `start`, or None. Lengths are measured without auxiliary columns, because
    those alone may grow if an epigraph is wrong. Without epigraphs the lowered rows are the declared rows, and `ray` is
    returned unchanged.
    """
    if not lowering.has_epigraphs:
        return ray
    own = np.ones(ray.size, dtype=bool)
    for epigraph in lowering.epigraphs.lowered:
        own[
            np.concatenate(
                [np.zeros(0, dtype=np.intp) if epigraph.columns is None else epigraph.columns, *epigraph.new]
            )
        ] = False
    start_size, q = 1.0 + float(np.abs(start[own]).max(initial=0.0)), compiled.form.q
    for part, least in (
        (np.where(np.abs(ray) > RAY_ENTRY_TOLERANCE * float(np.abs(ray[own]).max(initial=0.0)), ray, 0.0), 0.0),
        (np.where(q * ray < 0.0, ray, 0.0), 0.0),
        (ray, MIN_RAY_DECREASE * float(np.abs(q).max(initial=0.0))),
    ):
        length = float(np.abs(part[own]).max(initial=0.0))
        if length > 0.0:
            direction = part * (start_size / length)
            if _objective_decrease(lowering, spaces, compiled, start, direction) > least * float(
                np.abs(direction).max()
            ):
                return direction
    return None


def _objective_decrease(
    lowering: Lowering, spaces: Sequence[KernelSpace], compiled: CompiledForm, start: Vector, direction: Vector
) -> float:
    """Return the decrease of the declared objective from `start` to `start` + `direction`.

    It counts as 0 unless the declared rows hold and the objective decreases at all lengths in `RAY_STEP_LENGTHS`.
    """
    size = float(np.abs(direction).max())
    objectives: list[float] = []
    for step in RAY_STEP_LENGTHS:
        x = start + step * direction
        point = compiled.recover(x, None)
        evaluations = tuple(space.values(a) for space, a in zip(spaces, point.coefficients, strict=True))
        values = LeafValues(lowering, point, evaluations, spaces)
        with np.errstate(over="ignore", invalid="ignore"):
            declared = declared_residuals(lowering, values, compiled.form.value(x))
        allowed = size * (MAX_RAY_VIOLATION + MAX_RAY_VIOLATION_PER_LENGTH * step)
        falls = not objectives or declared.objective < objectives[-1]
        if not (declared.violation <= allowed and falls):  # false for NaN
            return 0.0
        objectives.append(declared.objective)
    return objectives[0] - objectives[1]
