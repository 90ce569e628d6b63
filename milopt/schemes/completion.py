"""Completion: keep the functions of a point, and choose the remaining variables best for the declared program.

An alternation's subproblem sees one instance a bag; its slacks may be too small for the whole bag. With the functions
(and whatever stands inside a bag_max) fixed, what remains is a small convex program, whose optimum is the value of the
declared objective at those functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.status import PointStatus
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program, leaves
from milopt.outcome.point_values import PointValues
from milopt.schemes.attempts import Attempts
from milopt.schemes.direct import Direct
from milopt.schemes.separable import separable_optimum
from milopt.solving.clock import Clock
from milopt.solving.options import Options

LEAST_SECONDS = 1.0
"""What a completion gets even when a scheme's time is up: without it the best iterate has no slacks."""


@dataclass(frozen=True)
class Completed:
    """The declared objective at the point's functions, and the values of the variables that were chosen anew."""

    objective: float
    values: dict[str, Vector]


def complete(program: Program, values: PointValues, options: Options, clock: Clock) -> Completed | None:
    """Return None if the rest cannot be solved, or if a row without any open variable does not hold."""
    inside = {leaf for atom in program.maxima() for leaf in leaves(atom.argument) if isinstance(leaf, Variable)}
    inside |= {f.coefficients for f in program.functions.values() if f.dictionary is not None}
    rest = Program(f"{program.name} (rest)")
    rest.variables = {name: v for name, v in program.variables.items() if v not in inside}
    rest.parameters = program.parameters
    known = Known(values, rest)
    (rest.maximize if program.maximizes else rest.minimize)(known.substituted(program.objective))
    for name, constraint in program.constraints.items():
        expression = known.substituted(constraint.expression)
        if expression.terms:
            rest.keep(Constraint(expression, constraint.equality), name)
        else:
            room = options.tolerance * (1.0 + np.abs(constraint.expression.constant))
            lacking = np.abs(expression.constant) if constraint.equality else -expression.constant
            if (lacking > room).any():
                return None
    alone = separable_optimum(rest, options.tolerance)
    if alone is not None:
        return Completed(*alone)
    # Another solver may take it, so the settings that are meant for one solver do not apply.
    tried = Attempts(rest, Direct(), replace(options, form="auto", extra={}), clock.extended(LEAST_SECONDS))
    tried.automatic()
    result = tried.best()
    if result.point is not PointStatus.CERTIFIED:
        return None
    return Completed(result.objective, dict(result.values))


class Known:
    """Substitutes numbers for every leaf that is not a variable of the remaining program."""

    def __init__(self, values: PointValues, rest: Program) -> None:
        self._values = values
        self._open = set(rest.variables.values())

    def substituted(self, expression: Expression) -> Expression:
        """The expression in the remaining variables."""
        constant = expression.constant.copy()
        terms: list[tuple[Leaf, Coefficient]] = []
        for leaf, coefficient in expression.terms:
            if leaf in self._open or leaf.is_parameter:
                terms.append((leaf, coefficient))
            elif isinstance(leaf, Atom) and leaf.function is None and self._open & set(leaves(leaf.argument)):
                terms.append((leaf.of(self.substituted(leaf.argument)), coefficient))
            else:
                constant += coefficient.value() @ np.atleast_1d(self._values.leaf(leaf))
        return Expression(expression.shape, constant, terms)
