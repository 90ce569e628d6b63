"""How large, and how small, what stands inside a bag_max can be: one convex solve an instance.

Over the program's convex part (rows that need a witness left out). An unbounded range is infinite, honestly.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.arguments import argument_directions, has_affine_argument, inner_sides
from milopt.compilation.entry_sides import ABOVE, OBJECTIVE, signs_of
from milopt.compilation.quadratic import Vector
from milopt.compilation.sides import sides
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.expression import Constraint, Expression, as_expression
from milopt.declaration.program import Program
from milopt.outcome.status import Termination
from milopt.solving.clock import Clock
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession

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
