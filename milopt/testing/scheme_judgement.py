"""Check of the result of a scheme against the known optimum, and of its point against the declared rows and bounds."""

from __future__ import annotations

import numpy as np

from milopt import PointStatus, Program, Result, Termination
from milopt.declaration.programs.problem import Problem
from milopt.testing.conformance import WrongAnswerError, require

OBJECTIVE_TOLERANCE = 1e-5
"""Maximum relative difference between objectives, except for column generation."""
COLUMN_GENERATION_TOLERANCE = 1e-3
"""Maximum relative difference between objectives for column generation."""
ROW_VIOLATION_TOLERANCE = 1e-5
"""Violation of a declared row or bound, relative to the size of its terms, above which a point is infeasible."""


def check_against_known_answer(
    problem: Problem, result: Result, optimum: float, known_termination: Termination
) -> None:
    """Raise an error if the termination, the objective, the bound or the point of a result is wrong.

    `known_termination` is the correct termination, and `optimum` the optimal value if this is OPTIMAL. A result need
    not be optimal, but must not be called optimal if it is not. The point of a semi-infinite problem is not checked.
    """
    end = result.termination
    if known_termination is not Termination.OPTIMAL:
        allowed = (known_termination, Termination.STALLED, Termination.LIMIT, Termination.ERROR)
        if end not in allowed or result.point is not PointStatus.NONE:
            raise WrongAnswerError(
                f"the problem is {known_termination}, and the result is {end} with a point that is {result.point}"
            )
        return
    if end in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        raise WrongAnswerError(f"the optimum is {optimum:.9g}, and the result is {end}: {result.message}")
    tolerance = (COLUMN_GENERATION_TOLERANCE if problem.oracles else OBJECTIVE_TOLERANCE) * (1.0 + abs(optimum))
    sign = -1.0 if problem.core.maximizes else 1.0
    if not problem.oracles:
        check_point(problem.core, result)
        if result.point is not PointStatus.NONE and sign * (result.objective - optimum) < -tolerance:
            message = "so it is not the declared objective at a feasible point"
            raise WrongAnswerError(
                f"its objective {result.objective:.9g} is better than the optimum {optimum:.9g}, {message}"
            )
        if result.bound is not None and sign * (result.bound - optimum) > tolerance:
            raise WrongAnswerError(f"its bound {result.bound:.9g} is on the wrong side of the optimum {optimum:.9g}")
    if end is Termination.OPTIMAL and abs(result.objective - optimum) > tolerance:
        message = 'a fixed point that is not proved to be global is "stationary"'
        raise WrongAnswerError(f"it calls {result.objective:.9g} optimal, and the optimum is {optimum:.9g}: {message}")
    if end is Termination.OPTIMAL and result.point is not PointStatus.CERTIFIED:
        raise WrongAnswerError(f"it is called optimal, and its point is {result.point}")
    if end is Termination.LIMIT:
        require(result.message, 'a result with termination "limit" needs a message that names the limit')


def check_point(program: Program, result: Result) -> None:
    """Raise an error if the point of a result violates declared rows or bounds, or does not have its objective.

    A result without a point passes.
    """
    if result.point is PointStatus.NONE:
        return
    for name, variable in program.variables.items():
        x = np.atleast_1d(result.values[name])
        room = np.minimum(x - variable.lower, variable.upper - x)
        _require_feasible(f"the bounds of {name!r}", -room.min(initial=0.0), np.abs(x).max(initial=0.0))
    for name, constraint in program.constraints.items():
        slack = np.atleast_1d(result.value(constraint.expression))
        violation = np.abs(slack) if constraint.equality else -slack
        _require_feasible(repr(name), violation.max(initial=0.0), np.abs(slack).max(initial=0.0))
    value = float(result.value(program.objective))
    if not abs(value - result.objective) <= OBJECTIVE_TOLERANCE * (1.0 + abs(value)):
        message = f"the declared objective at its point is {value:.9g}"
        raise WrongAnswerError(f"it reports the objective {result.objective:.9g}, and {message}")


def _require_feasible(name: str, violation: float, size: float) -> None:
    """Raise an error if a violation exceeds `ROW_VIOLATION_TOLERANCE` (1 + size); `name` states the rows or bounds."""
    if violation > ROW_VIOLATION_TOLERANCE * (1.0 + size):
        raise WrongAnswerError(f"its point is called feasible, and violates {name} by {violation:.3g}")
