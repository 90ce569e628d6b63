"""How large, and how small, what stands inside a bag_max can be: one convex solve an instance.

Over the program's convex part (rows that need a witness left out). An unbounded range is infinite, honestly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.arguments import argument_directions, has_affine_argument, inner_sides
from milopt.compilation.entry_sides import ABOVE, OBJECTIVE, signs_of
from milopt.compilation.sides import sides
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.expression import Constraint, Expression, as_expression
from milopt.declaration.programs.program import Program
from milopt.outcome.result import Result
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

CUTOFF_MARGIN = 1e-3
"""How much worse than that of a known point, relative to 1 + its size, an objective may be: rows hold only nearly."""
RANGE_TOLERANCE = 1e-5
"""Tolerance of the certificates of wide ranges."""
RANGE_MARGIN = 1e-3
"""How much wider they are, relative to 1 + their size."""
Ranges: TypeAlias = dict[Selecting, tuple[Vector, Vector]]
"""Per maximum, the smallest and the largest value that each instance can take."""


def ceilings(
    program: Program, atoms: list[Selecting], solver: Solver, options: Options, clock: Clock
) -> dict[Atom, Vector]:
    """Per maximum, an upper bound a bag; only sought for maxima that need a witness in the objective."""
    needed = {side.atom: side.witness for side in sides(program) if side.where == OBJECTIVE and side.witness.size}
    tops: dict[Atom, Vector] = {}
    for atom in atoms:
        if atom in needed:
            high = _extremes(program, atom, solver, options, clock, +1.0)
            tops[atom] = atom.segments.max(high)
    return tops


def ranges_of(program: Program, atoms: list[Selecting], solver: Solver, options: Options, clock: Clock) -> Ranges:
    """Per maximum, the smallest and largest value of each instance."""
    ranges: Ranges = {}
    for atom in atoms:
        low, high = (_extremes(program, atom, solver, options, clock, sign) for sign in (-1.0, +1.0))
        ranges[atom] = (low, high)
    return ranges


def wide_ranges(program: Program, atoms: list[Selecting], solver: Solver, options: Options, clock: Clock) -> Ranges:
    """Per maximum, numbers a little beyond the smallest and largest value of each instance.

    Conic solves are not always accurate to `tolerance`. As the numbers need not be tight, less is asked of the solves.
    """
    loose = replace(options, tolerance=max(options.tolerance, RANGE_TOLERANCE))
    ranges = ranges_of(program, atoms, solver, loose, clock)
    return {atom: (low - _margin(low), high + _margin(high)) for atom, (low, high) in ranges.items()}


def _margin(values: Vector) -> Vector:
    return np.asarray(RANGE_MARGIN * (1.0 + np.abs(values)))


def _extremes(program: Program, atom: Selecting, solver: Solver, options: Options, clock: Clock, sign: float) -> Vector:
    """sign * sup(sign * inner_p) for every instance p; all are infinite once one solve proves no bound."""
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


def no_worse_than(program: Program, found: Result) -> Program:
    """The program with the row that its objective is about that of a feasible result, or better.

    The row stays away if the result has no feasible point.
    """
    if found.point is PointStatus.NONE:
        return program
    better = Program(program.name)
    better.variables, better.functions = dict(program.variables), dict(program.functions)
    better.parameters, better.constraints = dict(program.parameters), dict(program.constraints)
    value = -found.objective if program.maximizes else found.objective
    room = value + CUTOFF_MARGIN * (1.0 + abs(value)) - program.minimized()
    name = "no worse"
    while name in better.constraints:
        name += "_"
    better.constraints[name] = Constraint(room, equality=False)
    return better


def convex_part(program: Program) -> Program:
    """The program without the rows that need a witness and without its objective."""
    convex = Program(f"{program.name} (convex part)")
    convex.variables, convex.functions = dict(program.variables), dict(program.functions)
    convex.parameters = dict(program.parameters)
    for name, constraint in program.constraints.items():
        rows = ~witness_rows(constraint)
        expression: Expression = constraint.expression
        if not rows.all():
            expression = expression[np.flatnonzero(rows)] if rows.any() else as_expression(np.zeros(0))
        if expression.size:
            convex.constraints[name] = Constraint(expression, constraint.equality)
    return convex


def witness_rows(constraint: Constraint) -> npt.NDArray[np.bool_]:
    """Return per row of a constraint whether an atom in it, or inside one of its atoms, is on its other side."""
    rows = np.zeros(constraint.expression.size, dtype=bool)
    for leaf, coefficient in constraint.expression.terms:
        if isinstance(leaf, Atom):
            signs = signs_of(leaf, coefficient)
            needs = sp.csr_array(
                ((signs.data > 0) | has_other_side_inside(leaf), signs.indices, signs.indptr), shape=signs.shape
            )
            rows |= np.asarray(needs @ np.ones(needs.shape[1])) > 0
    return rows


def has_other_side_inside(atom: Atom) -> bool:
    """Return True if another atom is on its other side inside an atom that is on its convex side."""
    return not has_affine_argument(atom) and any(
        side.witness.size for side in inner_sides("", atom.argument, argument_directions(atom, ABOVE))
    )
