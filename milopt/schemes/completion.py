"""Completion: keep the functions of a point and the variables inside a `bag_max`, and re-optimise all other variables.

The subproblem of an alternation sees one instance per bag, so its slacks may be too small for the whole bag. With the
functions and all variables inside a `bag_max` fixed, a small convex program remains, called the remaining program. Its
optimum is the best declared objective that these functions and variables admit.
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

MIN_COMPLETION_SECONDS = 1.0
"""Minimum number of seconds for a completion, even if the time is over: without it the best iterate has no slacks."""


@dataclass(frozen=True)
class Completion:
    """Declared objective after a completion, and the values, by name, of the variables that were re-optimised."""

    objective: float
    values: dict[str, Vector]


def complete_point(program: Program, values: PointValues, options: Options, clock: Clock) -> Completion | None:
    """Return the completion of a point: its functions and the variables inside a `bag_max` are kept.

    Return None if the solution of the remaining program is not certified, or if a row without any free variable does
    not hold.
    """
    inside = {leaf for atom in program.maxima() for leaf in leaves(atom.argument) if isinstance(leaf, Variable)}
    inside |= {f.coefficients for f in program.functions.values() if f.dictionary is not None}
    rest = Program(f"{program.name} (rest)")
    rest.variables = {name: v for name, v in program.variables.items() if v not in inside}
    rest.parameters = program.parameters
    substitution = Substitution(values, rest)
    (rest.maximize if program.maximizes else rest.minimize)(substitution.apply(program.objective))
    for name, constraint in program.constraints.items():
        expression = substitution.apply(constraint.expression)
        if expression.terms:
            rest.add_unchecked(Constraint(expression, constraint.equality), name)
        else:
            room = options.tolerance * (1.0 + np.abs(constraint.expression.constant))
            violation = np.abs(expression.constant) if constraint.equality else -expression.constant
            if (violation > room).any():
                return None
    separable = separable_optimum(rest, options.tolerance)
    if separable is not None:
        return Completion(*separable)
    # Another solver may be used, so settings that are meant for one particular solver do not apply.
    attempts = Attempts(
        rest, Direct(), replace(options, form="auto", extra={}), clock.with_at_least(MIN_COMPLETION_SECONDS)
    )
    attempts.try_automatic()
    result = attempts.best_result()
    if result.point is not PointStatus.CERTIFIED:
        return None
    return Completion(result.objective, dict(result.values))


class Substitution:
    """Substitution of a point's values in expressions, except for parameters and the variables of `rest`."""

    def __init__(self, values: PointValues, rest: Program) -> None:
        self._values = values
        self._open = set(rest.variables.values())

    def apply(self, expression: Expression) -> Expression:
        """Return an expression of the declared program with the values of the point substituted.

        Variables of the remaining program and parameters stay as they are. An atom whose argument contains a variable
        of the remaining program stays an atom, with the values substituted in its argument. All other variables,
        functions and atoms become constants.
        """
        constant = expression.constant.copy()
        terms: list[tuple[Leaf, Coefficient]] = []
        for leaf, coefficient in expression.terms:
            if leaf in self._open or leaf.is_parameter:
                terms.append((leaf, coefficient))
            elif isinstance(leaf, Atom) and leaf.function is None and self._open & set(leaves(leaf.argument)):
                terms.append((leaf.with_argument(self.apply(leaf.argument)), coefficient))
            else:
                constant += coefficient.value() @ np.atleast_1d(self._values.leaf_values(leaf))
        return Expression(expression.shape, constant, terms)
