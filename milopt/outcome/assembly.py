"""From an outcome on the evaluation form to a result by block names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from milopt.arrays import Index, Vector
from milopt.compilation.arguments import has_affine_argument
from milopt.compilation.compiled import Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.sides import on_other_side
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.outcome.by_name import Deferred
from milopt.outcome.lagrangian import column_gradient
from milopt.outcome.multiplier_slopes import declared_duals
from milopt.outcome.outcome import Outcome
from milopt.outcome.point_values import PointValues
from milopt.outcome.result import Attempt, FittedFunction, Result, Seconds, Size, Step


def assemble(
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
    """Return the result of a scheme that ended with this outcome; `program` is by default the one that was lowered."""
    program = program or lowering.program
    found = outcome.point is not None
    limit = bound if bound is not None else outcome.bound
    ended = termination or outcome.termination
    return Result(
        program=program,
        solver=solver,
        scheme=scheme,
        termination=ended,
        point=point or outcome.status,
        objective=_objective(lowering, outcome) if found else _without_point(ended, program.maximizes),
        bound=None if limit is None else (-limit if program.maximizes else limit),
        values=_values(lowering, outcome) if found else {},
        functions=_functions(lowering, spaces, outcome) if found else {},
        duals=_duals(program, outcome),
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
        size=_size(lowering, outcome.form),
        farkas=_farkas(lowering, outcome, ended),
        ray=_ray(lowering, spaces, outcome, ended),
        cone_duals=_cone_duals(outcome) if found else {},
        parameters={name: one.value for name, one in program.parameters.items() if one.value is not None},
    )


def _size(lowering: Lowering, form: EvaluationForm) -> Size | None:
    """Return the size of a form; None if witnesses stand on both sides, which makes another program."""
    if lowering.other_side.both_sides:
        return None
    return Size(form.rows.count, form.n, sum(space.count for space in form.spaces))


def _objective(lowering: Lowering, outcome: Outcome) -> float:
    """Of the declared program: where an atom stands behind an auxiliary column, it is evaluated itself."""
    program = lowering.program
    atoms = [leaf for leaf, _ in program.objective.terms if isinstance(leaf, Atom)]
    if any(not atom.is_quadratic or not has_affine_argument(atom) for atom in atoms):
        return PointValues(lowering, outcome).objective()
    return -outcome.objective if program.maximizes else outcome.objective


def _without_point(ended: Termination, maximizes: bool) -> float:
    """Return the optimum of a program without points, or without a limit; nan if the optimum is not known."""
    least = {Termination.INFEASIBLE: np.inf, Termination.UNBOUNDED: -np.inf}.get(ended, np.nan)
    return -least if maximizes else least


def _values(lowering: Lowering, outcome: Outcome) -> dict[str, Vector]:
    assert outcome.point is not None
    return _by_variable(lowering.program.variables, outcome.form, outcome.point.x)


def _reduced_costs(lowering: Lowering, outcome: Outcome) -> Mapping[str, Vector]:
    """Return the multipliers of bounds by variable, when they are asked for."""
    point, worth = outcome.point, outcome.worth
    if point is None or worth is None or point.z is None:
        return {}
    variables, form, x, z = dict(lowering.program.variables), outcome.form, point.x, point.z
    return Deferred(lambda: _by_variable(variables, form, column_gradient(form, x, worth, z)))


def _farkas(lowering: Lowering, outcome: Outcome, ended: Termination) -> dict[str, Vector]:
    """Return the multipliers that prove infeasibility; those of a step with witnesses prove nothing."""
    proof = outcome.contradiction
    if proof is None or ended is not Termination.INFEASIBLE or on_other_side(lowering.program):
        return {}
    return proof.rows | proof.bounds


def _ray(
    lowering: Lowering, spaces: Sequence[KernelSpace], outcome: Outcome, ended: Termination
) -> dict[str, Vector | FittedFunction]:
    """Return the ray of an unbounded program, its largest entry 1; that of a step with witnesses proves nothing."""
    ray = outcome.ray
    if ray is None or ended is not Termination.UNBOUNDED or on_other_side(lowering.program):
        return {}
    values = _by_variable(lowering.program.variables, outcome.form, ray.x)
    sizes = [np.abs(part).max(initial=0.0) for part in values.values()]
    sizes = [size for size in sizes if size > 0] or [np.abs(a).max(initial=0.0) for a in ray.coefficients]
    unit = float(max(sizes))
    ray = Point(ray.x / unit, tuple(a / unit for a in ray.coefficients), None)
    moved = replace(outcome, point=ray)
    return {**_values(lowering, moved), **_functions(lowering, spaces, moved)}


def _cone_duals(outcome: Outcome) -> dict[str, tuple[Vector, ...]]:
    """Return the multipliers of cones that are not polyhedral, by the name of their block of rows."""
    assert outcome.point is not None
    z = outcome.point.z
    if z is None:
        return {}
    return {
        block.name: tuple(np.split(z[start : start + block.count], np.cumsum(block.cone_sizes)[:-1]))
        for start, block in outcome.form.conic
    }


def _by_variable(declared: Mapping[str, Variable], form: EvaluationForm, columns: Vector) -> dict[str, Vector]:
    """Return numbers of columns by the names of the declared variables."""
    found: dict[str, Vector] = {}
    for column in form.columns:
        if column.name in declared:
            found[column.name] = columns[column.start : column.stop].reshape(declared[column.name].shape)
    return found


def _functions(lowering: Lowering, spaces: Sequence[KernelSpace], outcome: Outcome) -> dict[str, FittedFunction]:
    assert outcome.point is not None
    fitted: dict[str, FittedFunction] = {}
    for space, coefficients in zip(spaces, outcome.point.coefficients, strict=True):
        support = np.flatnonzero(coefficients)
        function = space.function
        fitted[function.name] = FittedFunction(function.kernel, space.points[support], coefficients[support])
    values = _values(lowering, outcome)
    for name, function in lowering.program.functions.items():
        if function.dictionary is not None:
            a = function.expanded(values[f"{name}.coefficients"])
            fitted[name] = FittedFunction(function.kernel, function.dictionary, a)
    return fitted


def _duals(program: Program, outcome: Outcome) -> Mapping[str, Vector]:
    """Return the multipliers by block: only when they are asked for, since a master may have a thousand blocks."""
    if outcome.point is None or outcome.point.z is None:
        return {}
    constraints, form, z = dict(program.constraints), outcome.form, outcome.point.z

    def make() -> dict[str, Vector]:
        duals = declared_duals(constraints, form, z)
        return {name: constraints[name].multipliers(dual) for name, dual in duals.items()}

    return Deferred(make)
