"""Compute the optimum of a program description by cvxpy, for each choice of witnesses and integers.

An optimum of cvxpy is accepted if its point satisfies the rows in numpy. If milopt disagrees, a second solver must
confirm the optimum. "Infeasible" is accepted if the smallest violation of the rows is clearly positive. "Unbounded" is
accepted if a point is feasible and the optimum in a box decreases as the box grows. Anything else is "undecided", with
the reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np

from tests.fuzz.as_cvxpy import CvxpyProblem, CvxpyTranslator, IllConditionedError, Selection, witness_entries
from tests.fuzz.descriptions import Array, Parameters, ProgramDescription
from tests.fuzz.evaluate import DescriptionEvaluator, Point, violations

FEASIBILITY_TOLERANCE, INFEASIBILITY_THRESHOLD = 1e-7, 1e-5
"""A point is feasible up to the first violation. A smallest violation above the second one proves infeasibility."""
AGREEMENT_TOLERANCE = 1e-6
"""Largest relative difference of the optima of two solvers that agree."""
SMALL_BOX, LARGE_BOX = 1e3, 1e4
"""Bounds of the variables in the test of unboundedness."""

SOLVER_SETTINGS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10, "max_iter": 300},
    "ECOS": {"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9, "max_iters": 300},
}


@dataclass(frozen=True)
class ReferenceVerdict:
    """Verdict of the reference: "optimal" with the optimal value, "infeasible", "unbounded", or "undecided"."""

    verdict: str
    value: float = float("nan")
    reason: str = ""


@lru_cache(maxsize=8)
def solve_reference(description: ProgramDescription, k: int) -> ReferenceVerdict:
    """Compute the optimum of the unscaled program with parameter values number k."""
    parameters = description.settings[k]
    if not description.convex:
        return _separable(description)
    sign = -1.0 if description.maximize else 1.0
    best: ReferenceVerdict = ReferenceVerdict("infeasible")
    undecided: ReferenceVerdict | None = None
    try:
        for selection, fixed in _pieces(description):
            answer = _solve_piece(description, parameters, selection, fixed)
            if answer.verdict == "unbounded":
                return answer
            if answer.verdict == "undecided":
                undecided = answer
            elif answer.verdict == "optimal" and (best.verdict != "optimal" or sign * answer.value < sign * best.value):
                best = answer
    except IllConditionedError as error:
        return ReferenceVerdict("undecided", reason=str(error))
    return best if undecided is None else undecided


def _pieces(description: ProgramDescription) -> Iterator[tuple[Selection, dict[str, Array]]]:
    """Yield every choice of witnesses and of values of the integer variables."""
    entries = witness_entries(description)
    spans = []
    for number, k, bag in entries:
        atom = description.expressions[number].atoms[k]
        first, last = description.bags[atom.bags].spans[bag]
        spans.append(range(first, last))
    integers = [variable for variable in description.variables if variable.integer]
    lattice = [
        [range(int(np.ceil(low)), int(np.floor(high)) + 1) for low, high in zip(x.lower, x.upper, strict=True)]
        for x in integers
    ]
    for chosen in product(*spans):
        for values in product(*(product(*ranges) for ranges in lattice)):
            fixed = {x.name: np.array(v, dtype=float) for x, v in zip(integers, values, strict=True)}
            yield dict(zip(entries, chosen, strict=True)), fixed


def _solve_piece(
    description: ProgramDescription, parameters: Parameters, selection: Selection, fixed: dict[str, Array]
) -> ReferenceVerdict:
    """Compute the optimum for fixed witnesses and integers."""
    if len(fixed) == len(description.variables) and not description.functions:
        return _evaluate_point(description, parameters, Point(fixed, {}))
    model = CvxpyTranslator(description, parameters, selection, fixed)
    reasons = []
    for solver in SOLVER_SETTINGS:
        status = _solve(cp.Problem(cp.Minimize(model.problem.objective), model.problem.constraints()), solver)
        if status in ("optimal", "optimal_inaccurate"):
            answer = _evaluate_point(description, parameters, model.point(), model.problem)
            if answer.verdict == "optimal":
                return answer
            reasons.append(answer.reason)
        else:
            answer = _confirm_status(model.problem, status)
            if answer.verdict != "undecided":
                return answer
            reasons.append(answer.reason)
    return ReferenceVerdict("undecided", reason="; ".join(reasons))


def second_opinion(description: ProgramDescription, k: int, first: ReferenceVerdict) -> ReferenceVerdict:
    """Return `first` if a second solver finds the same optimum, otherwise "undecided"."""
    if first.verdict != "optimal" or not description.convex or description.scheme is not None:
        return first
    if any(variable.integer for variable in description.variables):
        return first
    parameters = description.settings[k]
    model = CvxpyTranslator(description, parameters)
    status = _solve(cp.Problem(cp.Minimize(model.problem.objective), model.problem.constraints()), "ECOS")
    if status not in ("optimal", "optimal_inaccurate"):
        return ReferenceVerdict("undecided", reason=f"ECOS returns {status}, Clarabel finds {first.value:.8g}")
    other = _evaluate_point(description, parameters, model.point())
    if abs(other.value - first.value) > AGREEMENT_TOLERANCE * (1 + abs(first.value)):
        return ReferenceVerdict("undecided", reason=f"Clarabel finds {first.value:.8g}, ECOS {other.value:.8g}")
    return first


def _evaluate_point(
    description: ProgramDescription, parameters: Parameters, point: Point, problem: CvxpyProblem | None = None
) -> ReferenceVerdict:
    """Return the objective of a point in numpy, or "infeasible" or "undecided" if the point violates rows."""
    worst = 0.0
    for violation, sizes in violations(description, parameters, point).values():
        worst = max(worst, float(np.max(violation / (1.0 + sizes), initial=0.0)))
    if worst > FEASIBILITY_TOLERANCE:
        if problem is None:
            return ReferenceVerdict("infeasible") if worst > INFEASIBILITY_THRESHOLD else ReferenceVerdict("undecided")
        return ReferenceVerdict("undecided", reason=f"the point of the reference violates rows by {worst:.1e}")
    objective = DescriptionEvaluator(description, parameters, point).objective()
    return ReferenceVerdict("optimal", float(objective.entries[0]))


def _confirm_status(problem: CvxpyProblem, status: str) -> ReferenceVerdict:
    """Return "infeasible" or "unbounded" if this is confirmed independently of the solver's status."""
    slack = cp.Variable(nonneg=True)
    elastic = [*(e <= slack for e in problem.rows), *(cp.abs(e) <= slack for e in problem.equations)]
    relaxed = cp.Problem(cp.Minimize(slack), elastic)
    if _solve(relaxed, "CLARABEL") not in ("optimal", "optimal_inaccurate"):
        return ReferenceVerdict(
            "undecided", reason=f"the solver returns {status}, and the smallest violation is not known"
        )
    violation = float(relaxed.value)
    if violation > INFEASIBILITY_THRESHOLD:
        return ReferenceVerdict("infeasible")
    if violation > FEASIBILITY_TOLERANCE:
        return ReferenceVerdict("undecided", reason=f"the smallest violation of the rows is {violation:.1e}")
    values = []
    for size in (SMALL_BOX, LARGE_BOX):
        box = [cp.abs(x) <= size for x in problem.unknowns]
        within = cp.Problem(cp.Minimize(problem.objective), [*problem.constraints(), *box])
        if _solve(within, "CLARABEL") not in ("optimal", "optimal_inaccurate"):
            return ReferenceVerdict(
                "undecided", reason=f"the solver returns {status}, and the optimum in a box is not known"
            )
        values.append(float(within.value))
    if values[1] < values[0] - 1.0:
        return ReferenceVerdict("unbounded")
    return ReferenceVerdict(
        "undecided", reason=f"the solver returns {status}, and the optimum decreases from {values[0]} to {values[1]}"
    )


def _solve(problem: Any, solver: str) -> str:
    """Solve a cvxpy problem and return its status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=solver, **SOLVER_SETTINGS[solver])
        except (cp.error.SolverError, ValueError) as error:
            # cvxpy raises a ValueError if ECOS would get a matrix without entries.
            return f"error ({error})"
    return str(problem.status)


def _separable(description: ProgramDescription) -> ReferenceVerdict:
    """Minimise sum_j w_j x_j^2 + c_j x_j over a box, for weights of any sign.

    Each entry is optimal at one of its bounds or at its stationary point.
    """
    (variable,), (atom,) = description.variables, description.objective.atoms
    assert atom.weight is not None
    (term,) = description.objective.affine.terms
    sign = -1.0 if description.maximize else 1.0
    w, c = sign * atom.multiplier[0, 0] * atom.weight, sign * term.matrix[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = np.where(w != 0, -c / (2 * w), variable.lower)
    candidates = np.stack(
        [variable.lower, variable.upper, np.clip(np.nan_to_num(middle), variable.lower, variable.upper)]
    )
    value = float((w * candidates**2 + c * candidates).min(axis=0).sum())
    return ReferenceVerdict("optimal", sign * value + float(description.objective.affine.constant[0]))
