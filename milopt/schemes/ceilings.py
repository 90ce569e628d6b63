"""Bounds on the value of each instance inside a `bag_max`, by one convex solve per instance and bound.

The solves are over the convex part of the program: all rows but those that need a witness, that is, rows with an atom
on its non-convex side. If one of the solves for a maximum proves no bound, all instances of that maximum get infinite
bounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.arguments import argument_directions, expression_sides, has_affine_argument
from milopt.compilation.entry_sides import ABOVE, OBJECTIVE_PLACE, signs_of
from milopt.compilation.sides import atom_sides
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.expression import Constraint, Expression, as_expression
from milopt.declaration.programs.program import Program
from milopt.outcome.result import Result
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

CUTOFF_MARGIN = 1e-3
"""Margin by which an objective may be worse than that of a known point, relative to 1 + its size.

Without it, the known point could violate the cutoff by rounding.
"""
RANGE_TOLERANCE = 1e-5
"""Smallest tolerance of the solves that compute widened ranges."""
RANGE_MARGIN = 1e-3
"""Margin by which each end of a range is moved outwards, relative to 1 + its size."""
InstanceRanges: TypeAlias = dict[SelectionAtom, tuple[Vector, Vector]]
"""For each maximum, lower and upper bounds on the values of its instances."""


def objective_ceilings(
    program: Program, atoms: list[SelectionAtom], solver: Solver, options: Options, clock: Clock
) -> dict[Atom, Vector]:
    """Return, for each maximum that needs a witness in the objective, an upper bound per bag; inf if none is proved."""
    needed = {
        side.atom: side.witness for side in atom_sides(program) if side.where == OBJECTIVE_PLACE and side.witness.size
    }
    tops: dict[Atom, Vector] = {}
    for atom in atoms:
        if atom in needed:
            high = _extreme_values(program, atom, solver, options, clock, +1.0)
            tops[atom] = atom.segments.max(high)
    return tops


def instance_ranges(
    program: Program, atoms: list[SelectionAtom], solver: Solver, options: Options, clock: Clock
) -> InstanceRanges:
    """Return, for each maximum, lower and upper bounds on the value of each instance; infinite if none are proved."""
    ranges: InstanceRanges = {}
    for atom in atoms:
        low, high = (_extreme_values(program, atom, solver, options, clock, sign) for sign in (-1.0, +1.0))
        ranges[atom] = (low, high)
    return ranges


def widened_ranges(
    program: Program, atoms: list[SelectionAtom], solver: Solver, options: Options, clock: Clock
) -> InstanceRanges:
    """Return the ranges of `instance_ranges`, computed with a larger tolerance and then extended by a margin.

    Conic solves are not always accurate to `tolerance`. The ranges need not be tight, so a larger tolerance is used.
    """
    loose = replace(options, tolerance=max(options.tolerance, RANGE_TOLERANCE))
    ranges = instance_ranges(program, atoms, solver, loose, clock)
    return {atom: (low - _range_margins(low), high + _range_margins(high)) for atom, (low, high) in ranges.items()}


def _range_margins(values: Vector) -> Vector:
    """Return the margins by which ranges with these ends are extended."""
    return np.asarray(RANGE_MARGIN * (1.0 + np.abs(values)))


def _extreme_values(
    program: Program, atom: SelectionAtom, solver: Solver, options: Options, clock: Clock, sign: float
) -> Vector:
    """Return bounds on the value e_p of every instance p inside the maximum: upper if `sign` is 1, lower if it is -1.

    The bounds are dual values of certified solves. All are sign * inf if a solve is not optimal or the time is over.
    """
    count = atom.argument.size
    result = np.full(count, sign * np.inf)
    convex = convex_part(program)
    convex.maximize(atom.argument[0] * sign)
    with StepSession(convex, solver, options) as session:
        for p in range(count):
            if clock.is_over():
                return np.full(count, sign * np.inf)
            session.set_objective(atom.argument[p] * sign, maximize=True)
            outcome = session.solve(clock)
            if outcome.certificate is None or outcome.termination is not Termination.OPTIMAL:
                return np.full(count, sign * np.inf)
            result[p] = -sign * outcome.certificate.bound
    return result


def with_objective_cutoff(program: Program, result: Result) -> Program:
    """Return the program with a row that bounds its objective by that of a feasible result, up to a margin.

    The row is omitted if the result has no feasible point.
    """
    if result.point is PointStatus.NONE:
        return program
    better = Program(program.name)
    better.variables, better.functions = dict(program.variables), dict(program.functions)
    better.parameters, better.constraints = dict(program.parameters), dict(program.constraints)
    value = -result.objective if program.maximizes else result.objective
    room = value + CUTOFF_MARGIN * (1.0 + abs(value)) - program.minimized_objective()
    name = "no worse"
    while name in better.constraints:
        name += "_"
    better.constraints[name] = Constraint(room, equality=False)
    return better


def convex_part(program: Program) -> Program:
    """Return the program without its objective and without the rows that have an atom on its non-convex side."""
    convex = Program(f"{program.name} (convex part)")
    convex.variables, convex.functions = dict(program.variables), dict(program.functions)
    convex.parameters = dict(program.parameters)
    for name, constraint in program.constraints.items():
        rows = ~needs_witness_by_row(constraint)
        expression: Expression = constraint.expression
        if not rows.all():
            expression = expression[np.flatnonzero(rows)] if rows.any() else as_expression(np.zeros(0))
        if expression.size:
            convex.constraints[name] = Constraint(expression, constraint.equality)
    return convex


def needs_witness_by_row(constraint: Constraint) -> npt.NDArray[np.bool_]:
    """Return one boolean per row of a constraint: True if the row contains an atom on its non-convex side.

    Atoms inside other atoms count too.
    """
    rows = np.zeros(constraint.expression.size, dtype=bool)
    for leaf, coefficient in constraint.expression.terms:
        if isinstance(leaf, Atom):
            signs = signs_of(leaf, coefficient)
            needs = sp.csr_array(
                ((signs.data > 0) | contains_atom_on_nonconvex_side(leaf), signs.indices, signs.indptr),
                shape=signs.shape,
            )
            rows |= np.asarray(needs @ np.ones(needs.shape[1])) > 0
    return rows


def contains_atom_on_nonconvex_side(atom: Atom) -> bool:
    """Return True if an atom, when it is on its convex side, contains an atom on its non-convex side."""
    return not has_affine_argument(atom) and any(
        side.witness.size for side in expression_sides("", atom.argument, argument_directions(atom, ABOVE))
    )
