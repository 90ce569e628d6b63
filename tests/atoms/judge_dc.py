"""Check the answers of the convex-concave procedure to DC programs, with numpy and cvxpy.

1. No step raises the objective by more than the gap that the certificates allow.
2. A certified point satisfies the rows, and solves the convex program that is linearised at that point, up to a small
   error. The linearised program has the slopes of `slopes`, and cvxpy solves it. If an atom has a kink at the point,
   slopes at points nearby are tried too.
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
from tests.atoms.as_cvxpy import CvxpyTreeModel
from tests.atoms.as_milopt import declare
from tests.atoms.evaluate import objective, violation
from tests.atoms.judge import ROW_TOLERANCE, AtomJudgement, AtomVerdict, find_wrong_value, read_point
from tests.atoms.trees import Point, TreeProgram

STATIONARITY_TOLERANCE = 1e-5
"""Largest decrease of the objective by the linearised program at a certified point, relative to 1 + the objective."""
INCREASE_TOLERANCE = 2e-6
"""Largest increase of the objective in a step, relative to 1 + the objective; a certificate allows a gap of 1e-6."""
NEARBY_SLOPES = 12
"""Number of points nearby whose slopes are tried at a kink."""


def judge_dc_program(description: TreeProgram, solvers: list[str] | None = None) -> Iterator[AtomJudgement]:
    """Solve a DC program by the convex-concave procedure and yield a judgement of each answer."""
    for solver in solvers or (["clarabel", "ecos"] if description.seed % 2 else ["clarabel"]):
        verdict, detail = _judge(description, solver)
        yield AtomJudgement(description.seed, description.focus, frozenset(description.kinds), solver, verdict, detail)


def _judge(description: TreeProgram, solver: str) -> tuple[AtomVerdict, str]:
    try:
        declared = declare(description)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = milopt.solve(declared.program, solver, scheme="ccp")
    except (ConvexityError, UnsupportedError) as error:
        return AtomVerdict.REFUSED, str(error)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return AtomVerdict.CRASH, f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
    increase = largest_increase(result, description.declare_negated)
    if increase > INCREASE_TOLERANCE:
        return AtomVerdict.WRONG_CERTIFIED, f"a step raises the objective by {increase:.1e}"
    if result.point is not PointStatus.CERTIFIED:
        wrong = result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED)
        detail = f"{result.termination}, {result.certificate}, {len(result.history)} steps; {result.message}"
        return AtomVerdict.WRONG_CERTIFIED if wrong else AtomVerdict.UNCERTIFIED, detail
    point = read_point(description, result)
    excess = violation(description, point)
    if excess > ROW_TOLERANCE:
        return AtomVerdict.WRONG_CERTIFIED, f"a row is violated by {excess:.1e}"
    wrong_value = find_wrong_value(description, declared, result, point)
    if wrong_value:
        return AtomVerdict.WRONG_VALUES, wrong_value
    decrease = possible_decrease(description, point)
    if decrease is None:
        return AtomVerdict.UNDECIDED, "cvxpy does not solve the linearised program"
    if decrease > STATIONARITY_TOLERANCE:
        return AtomVerdict.WRONG_CERTIFIED, f"{result.termination}, but a step lowers the objective by {decrease:.1e}"
    return AtomVerdict.STATIONARY, ""


def largest_increase(result: Result, is_maximised: bool) -> float:
    """Return the largest relative increase of the objective between two steps, in the sign of a minimisation."""
    values = np.array([step.objective for step in result.history]) * (-1.0 if is_maximised else 1.0)
    return float((np.diff(values) / (1.0 + np.abs(values[1:]))).max(initial=0.0))


def possible_decrease(
    description: TreeProgram, point: Point, tolerance: float = STATIONARITY_TOLERANCE
) -> float | None:
    """Return the relative decrease of the objective by the program that is linearised at a point.

    Slopes at points nearby are tried until the decrease is at most `tolerance`. Return None if cvxpy solves no program.
    """
    value = objective(description, point)
    smallest: float | None = None
    rng = np.random.default_rng(0)
    for shift in [None, *[rng] * NEARBY_SLOPES]:
        model = CvxpyTreeModel(description, point, shift)
        solved = model.solve("CLARABEL") or model.solve("ECOS")
        if solved is None:
            continue
        decrease = (value - solved.objective) / (1.0 + abs(value))
        smallest = decrease if smallest is None else min(smallest, decrease)
        if smallest <= tolerance:
            break
    return smallest
