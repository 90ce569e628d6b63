"""Assemble the `Result` that users see from the `Outcome` of a convex solve.

An outcome has vectors over all columns and rows of the evaluation form. A result has values, functions and multipliers
by the names of the declared variables, functions and constraint blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from milopt.arrays import Index, Vector
from milopt.compilation.arguments import has_affine_argument
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.sides import other_side_atoms
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.outcome.lagrangian import column_gradient
from milopt.outcome.multiplier_slopes import declared_duals
from milopt.outcome.named_parts import DeferredParts
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Attempt, FittedFunction, Result, Seconds, Size, Step


def assemble_result(
    lowering: Lowering,
    spaces: Sequence[KernelSpace],
    outcome: Outcome,
    *,
    solver: str,
    scheme: str,
    termination: Termination | None = None,
    point: PointStatus | None = None,
    message: str | None = None,
    bound: float | None = None,
    seconds: float,
    history: tuple[Step, ...] = (),
    witnesses: Mapping[str, Index] | None = None,
    program: Program | None = None,
    attempts: tuple[Attempt, ...] = (),
) -> Result:
    """Return the result of a scheme that ended with this outcome.

    `termination`, `point` (the status), `message` and `bound` (on the minimised objective) replace those of the outcome
    if they are given. `program` is the program of the result, by default the one that was lowered.
    """
    program = program or lowering.program
    has_point = outcome.point is not None
    limit = bound if bound is not None else outcome.bound
    ended = termination or outcome.termination
    return Result(
        program=program,
        solver=solver,
        scheme=scheme,
        termination=ended,
        point=point or outcome.status,
        objective=_declared_objective(lowering, outcome)
        if has_point
        else _objective_without_point(ended, program.maximizes),
        bound=None if limit is None else (-limit if program.maximizes else limit),
        values=_variable_values(lowering, outcome) if has_point else {},
        functions=_fitted_functions(lowering, spaces, outcome) if has_point else {},
        duals=_block_multipliers(program, outcome),
        reduced_costs=_reduced_costs(lowering, outcome),
        certificate=outcome.certificate,
        raw_status=outcome.raw_status,
        message=outcome.message if message is None else message,
        iterations=outcome.iterations,
        seconds=Seconds(outcome.build_seconds, outcome.solve_seconds, seconds),
        history=history,
        attempts=attempts,
        polished=outcome.polished,
        rebuilds=outcome.rebuilds,
        log=outcome.log,
        witnesses=witnesses or {},
        inertia=outcome.inertia,
        size=_program_size(lowering, outcome.form),
        farkas=_farkas_multipliers(lowering, outcome, ended),
        ray=_unbounded_ray(lowering, spaces, outcome, ended),
        cone_duals=_cone_multipliers(outcome) if has_point else {},
        form=outcome.form_reason,
        parameters={name: p.value for name, p in program.parameters.items() if p.value is not None},
    )


def _program_size(lowering: Lowering, form: EvaluationForm) -> Size | None:
    """Return the size of the lowered program; None if stand-ins replaced all maxima (`both_sides`).

    The size then differs from that of the declared program.
    """
    if lowering.other_side.both_sides:
        return None
    return Size(form.rows.count, form.n, sum(space.count for space in form.spaces))


def _declared_objective(lowering: Lowering, outcome: Outcome) -> float:
    """Return the declared objective at the point, in its declared sense.

    Atoms are evaluated directly instead of read from auxiliary columns.
    """
    program = lowering.program
    atoms = [leaf for leaf, _ in program.objective.terms if isinstance(leaf, Atom)]
    if any(not atom.is_quadratic or not has_affine_argument(atom) for atom in atoms):
        return PointValues(lowering, outcome).objective()
    return -outcome.objective if program.maximizes else outcome.objective


def _objective_without_point(ended: Termination, maximizes: bool) -> float:
    """Return inf for an infeasible and -inf for an unbounded minimisation (-inf and inf if `maximizes`), else nan."""
    least = {Termination.INFEASIBLE: np.inf, Termination.UNBOUNDED: -np.inf}.get(ended, np.nan)
    return -least if maximizes else least


def _variable_values(lowering: Lowering, outcome: Outcome) -> dict[str, Vector]:
    """Return the values of the variables by name."""
    assert outcome.point is not None
    return _split_by_variable(lowering.program.variables, outcome.form, outcome.point.x)


def _reduced_costs(lowering: Lowering, outcome: Outcome) -> Mapping[str, Vector]:
    """Return the multipliers of the bounds by variable, computed on first access; empty without multipliers."""
    point, evaluation = outcome.point, outcome.evaluation
    if point is None or evaluation is None or point.z is None:
        return {}
    variables, form, x, z = dict(lowering.program.variables), outcome.form, point.x, point.z
    return DeferredParts(lambda: _split_by_variable(variables, form, column_gradient(form, x, evaluation, z)))


def _farkas_multipliers(lowering: Lowering, outcome: Outcome, ended: Termination) -> dict[str, Vector]:
    """Return the multipliers of constraints and bounds, by block and variable, that prove infeasibility.

    The mapping is empty if there are none, and for a DC program. The convex steps of a DC program prove nothing about
    the program itself.
    """
    proof = outcome.contradiction
    if proof is None or ended is not Termination.INFEASIBLE or other_side_atoms(lowering.program):
        return {}
    return proof.rows | proof.bounds


def _unbounded_ray(
    lowering: Lowering, spaces: Sequence[KernelSpace], outcome: Outcome, ended: Termination
) -> dict[str, Vector | FittedFunction]:
    """Return the ray of an unbounded program by variable and function; empty without a ray or for a DC program.

    The ray is scaled so that the largest entry of the variables is 1, or, if no variable moves along it, the largest
    coefficient of the functions. The convex steps of a DC program prove nothing about the program itself.
    """
    ray = outcome.ray
    if ray is None or ended is not Termination.UNBOUNDED or other_side_atoms(lowering.program):
        return {}
    values = _split_by_variable(lowering.program.variables, outcome.form, ray.x)
    sizes = [np.abs(part).max(initial=0.0) for part in values.values()]
    sizes = [size for size in sizes if size > 0] or [np.abs(a).max(initial=0.0) for a in ray.coefficients]
    unit = float(max(sizes))
    ray = PrimalDualPoint(ray.x / unit, tuple(a / unit for a in ray.coefficients), None)
    moved = replace(outcome, point=ray)
    return {**_variable_values(lowering, moved), **_fitted_functions(lowering, spaces, moved)}


def _cone_multipliers(outcome: Outcome) -> dict[str, tuple[Vector, ...]]:
    """Return the multipliers of non-polyhedral cones by the name of their block of rows."""
    assert outcome.point is not None
    z = outcome.point.z
    if z is None:
        return {}
    return {
        block.name: tuple(np.split(z[start : start + block.count], np.cumsum(block.cone_sizes)[:-1]))
        for start, block in outcome.form.conic_blocks
    }


def _split_by_variable(declared: Mapping[str, Variable], form: EvaluationForm, columns: Vector) -> dict[str, Vector]:
    """Split a vector over the columns of a form into arrays by variable, in the shapes of the declared variables."""
    values: dict[str, Vector] = {}
    for column in form.columns:
        if column.name in declared:
            values[column.name] = columns[column.start : column.stop].reshape(declared[column.name].shape)
    return values


def _fitted_functions(lowering: Lowering, spaces: Sequence[KernelSpace], outcome: Outcome) -> dict[str, FittedFunction]:
    """Return the fitted functions by name, both those without and those with a dictionary."""
    assert outcome.point is not None
    fitted: dict[str, FittedFunction] = {}
    for space, coefficients in zip(spaces, outcome.point.coefficients, strict=True):
        function = space.function
        if space.features is not None:
            none = np.zeros(0)
            fitted[function.name] = FittedFunction(function.kernel, space.points[:0], none, weights=coefficients)
            continue
        support = np.flatnonzero(coefficients)
        fitted[function.name] = FittedFunction(function.kernel, space.points[support], coefficients[support])
    values = _variable_values(lowering, outcome) if lowering.program.functions else {}
    for name, function in lowering.program.functions.items():
        if function.dictionary is not None:
            a = values[f"{name}.coefficients"]
            fitted[name] = FittedFunction(function.kernel, function.dictionary, a)
    return fitted


def _block_multipliers(program: Program, outcome: Outcome) -> Mapping[str, Vector]:
    """Return multipliers by constraint block, computed on first access, because a master may have a thousand blocks."""
    if outcome.point is None or outcome.point.z is None:
        return {}
    constraints, form, z = dict(program.constraints), outcome.form, outcome.point.z

    def compute_duals() -> dict[str, Vector]:
        duals = declared_duals(constraints, form, z)
        return {name: constraints[name].multipliers(dual) for name, dual in duals.items()}

    return DeferredParts(compute_duals)
