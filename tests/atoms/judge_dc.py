"""Judge what the convex-concave procedure says of a DC program, by numpy and by cvxpy.

1. No step raises the objective by more than the gap that the certificates allow.
2. A point that is certified satisfies the rows, and solves the convex program that is linearised at it, to a small
   error: the slopes are those of `slopes`, and cvxpy solves it. Where an atom has a kink, slopes at points nearby
   are tried too.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator

import numpy as np

import milopt
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ConvexityError, UnsupportedError
from milopt.outcome.result import Result
from tests.atoms.as_cvxpy import Model
from tests.atoms.as_milopt import declare
from tests.atoms.evaluate import objective, violation
from tests.atoms.judge import ROW_TOLERANCE, Judgement, Verdict, different_value, point_of
from tests.atoms.trees import Description, Point

STATIONARITY_TOLERANCE = 1e-5
"""Largest decrease of the linearised program from a certified point, relative to 1 + the objective."""
RISE_TOLERANCE = 2e-6
"""Largest rise of the objective in a step, relative to 1 + the objective; a certificate allows a gap of 1e-6."""
NEARBY_SLOPES = 12


def judged_dc(description: Description, solvers: list[str] | None = None) -> Iterator[Judgement]:
    """Solve a DC program by the convex-concave procedure and judge the answers."""
    for solver in solvers or (["clarabel", "ecos"] if description.seed % 2 else ["clarabel"]):
        verdict, detail = _judge(description, solver)
        yield Judgement(description.seed, description.focus, frozenset(description.kinds), solver, verdict, detail)


def _judge(description: Description, solver: str) -> tuple[Verdict, str]:
    try:
        declared = declare(description)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = milopt.solve(declared.program, solver, scheme="ccp")
    except (ConvexityError, UnsupportedError) as error:
        return Verdict.REFUSED, str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict.CRASH, f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    rise = largest_rise(result, description.turned)
    if rise > RISE_TOLERANCE:
        return Verdict.WRONG_CERTIFIED, f"a step raises the objective by {rise:.1e}"
    if result.point is not PointStatus.CERTIFIED:
        wrong = result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED)
        said = f"{result.termination}, {result.certificate}, {len(result.history)} steps; {result.message}"
        return Verdict.WRONG_CERTIFIED if wrong else Verdict.UNCERTIFIED, said
    point = point_of(description, result)
    excess = violation(description, point)
    if excess > ROW_TOLERANCE:
        return Verdict.WRONG_CERTIFIED, f"a row is violated by {excess:.1e}"
    different = different_value(description, declared, result, point)
    if different:
        return Verdict.WRONG_VALUES, different
    decrease = possible_decrease(description, point)
    if decrease is None:
        return Verdict.UNDECIDED, "cvxpy does not solve the linearised program"
    if decrease > STATIONARITY_TOLERANCE:
        return Verdict.WRONG_CERTIFIED, f"{result.termination}, but a step lowers the objective by {decrease:.1e}"
    return Verdict.STATIONARY, ""


def largest_rise(result: Result, turned: bool) -> float:
    """Return the largest relative rise of the objective between two steps, as a minimisation."""
    values = np.array([step.objective for step in result.history]) * (-1.0 if turned else 1.0)
    return float((np.diff(values) / (1.0 + np.abs(values[1:]))).max(initial=0.0))


def possible_decrease(description: Description, point: Point, enough: float = STATIONARITY_TOLERANCE) -> float | None:
    """Return by how much the program that is linearised at a point lowers the objective; None without an answer.

    Slopes nearby are tried until the decrease is at most `enough`.
    """
    value = objective(description, point)
    least: float | None = None
    rng = np.random.default_rng(0)
    for shift in [None, *[rng] * NEARBY_SLOPES]:
        model = Model(description, point, shift)
        solved = model.solve("CLARABEL") or model.solve("ECOS")
        if solved is None:
            continue
        decrease = (value - solved.objective) / (1.0 + abs(value))
        least = decrease if least is None else min(least, decrease)
        if least <= enough:
            break
    return least
