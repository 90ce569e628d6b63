"""The optimum of a description by a model of its own: cvxpy for each choice of witnesses and integers.

An answer is believed if its point satisfies the rows in numpy, and if a second solver agrees on its value where milopt
does not. Infeasible is believed if the least violation of the rows is clearly positive; unbounded, if a point is
feasible and the value within a box falls as the box grows. Anything else is undecided, with the reason.
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

from tests.fuzz.as_cvxpy import IllConditionedError, Problem, Selection, Translator, places
from tests.fuzz.descriptions import Array, Description, Parameters
from tests.fuzz.evaluate import Evaluator, Point, violations

FEASIBLE, CLEARLY_INFEASIBLE = 1e-7, 1e-5
"""Violations, in units in which the data are of order one: up to the first a point is feasible, above the second a
least violation proves infeasibility."""
AGREEMENT = 1e-6
"""Largest relative difference between two solvers that agree."""
SMALL_BOX, LARGE_BOX = 1e3, 1e4

SETTINGS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10, "max_iter": 300},
    "ECOS": {"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9, "max_iters": 300},
}


@dataclass(frozen=True)
class Reference:
    """The verdict: "optimal" with a value in the declared sense, "infeasible", "unbounded", or "undecided"."""

    verdict: str
    value: float = float("nan")
    reason: str = ""


@lru_cache(maxsize=8)
def refer(description: Description, k: int) -> Reference:
    """Find the optimum of the unscaled description with its setting number k of the parameters."""
    parameters = description.settings[k]
    if not description.convex:
        return _separable(description)
    sign = -1.0 if description.maximize else 1.0
    best: Reference = Reference("infeasible")
    doubt: Reference | None = None
    try:
        for selection, fixed in _pieces(description):
            found = _piece(description, parameters, selection, fixed)
            if found.verdict == "unbounded":
                return found
            if found.verdict == "undecided":
                doubt = found
            elif found.verdict == "optimal" and (best.verdict != "optimal" or sign * found.value < sign * best.value):
                best = found
    except IllConditionedError as error:
        return Reference("undecided", reason=str(error))
    return best if doubt is None else doubt


def _pieces(description: Description) -> Iterator[tuple[Selection, dict[str, Array]]]:
    """Every choice of witnesses and of values of the integer variables."""
    entries = places(description)
    spans = []
    for number, k, bag in entries:
        atom = description.expressions[number].atoms[k]
        first, last = description.bags[atom.bags].spans[bag]
        spans.append(range(first, last))
    integers = [one for one in description.variables if one.integer]
    lattice = [
        [range(int(np.ceil(low)), int(np.floor(high)) + 1) for low, high in zip(one.lower, one.upper, strict=True)]
        for one in integers
    ]
    for chosen in product(*spans):
        for values in product(*(product(*ranges) for ranges in lattice)):
            fixed = {one.name: np.array(v, dtype=float) for one, v in zip(integers, values, strict=True)}
            yield dict(zip(entries, chosen, strict=True)), fixed


def _piece(
    description: Description, parameters: Parameters, selection: Selection, fixed: dict[str, Array]
) -> Reference:
    if len(fixed) == len(description.variables) and not description.functions:
        return _evaluated(description, parameters, Point(fixed, {}))
    model = Translator(description, parameters, selection, fixed)
    doubts = []
    for solver in SETTINGS:
        status = _solve(cp.Problem(cp.Minimize(model.problem.objective), model.problem.constraints()), solver)
        if status in ("optimal", "optimal_inaccurate"):
            found = _evaluated(description, parameters, model.point(), model.problem)
            if found.verdict == "optimal":
                return found
            doubts.append(found.reason)
        else:
            found = _confirmed(model.problem, status)
            if found.verdict != "undecided":
                return found
            doubts.append(found.reason)
    return Reference("undecided", reason="; ".join(doubts))


def second_opinion(description: Description, k: int, first: Reference) -> Reference:
    """The same verdict if another solver finds the same value; undecided otherwise."""
    if first.verdict != "optimal" or not description.convex or description.scheme is not None:
        return first
    if any(one.integer for one in description.variables):
        return first
    parameters = description.settings[k]
    model = Translator(description, parameters)
    status = _solve(cp.Problem(cp.Minimize(model.problem.objective), model.problem.constraints()), "ECOS")
    if status not in ("optimal", "optimal_inaccurate"):
        return Reference("undecided", reason=f"ECOS says {status} where Clarabel finds {first.value:.8g}")
    other = _evaluated(description, parameters, model.point())
    if abs(other.value - first.value) > AGREEMENT * (1 + abs(first.value)):
        return Reference("undecided", reason=f"Clarabel finds {first.value:.8g}, ECOS {other.value:.8g}")
    return first


def _evaluated(
    description: Description, parameters: Parameters, point: Point, problem: Problem | None = None
) -> Reference:
    """The value of a point that satisfies the rows, as numpy sees it."""
    worst = 0.0
    for wrong, sizes in violations(description, parameters, point).values():
        worst = max(worst, float(np.max(wrong / (1.0 + sizes), initial=0.0)))
    if worst > FEASIBLE:
        if problem is None:
            return Reference("infeasible") if worst > CLEARLY_INFEASIBLE else Reference("undecided")
        return Reference("undecided", reason=f"the point of the reference violates rows by {worst:.1e}")
    return Reference("optimal", float(Evaluator(description, parameters, point).objective().entries[0]))


def _confirmed(problem: Problem, status: str) -> Reference:
    """Infeasible or unbounded, by other means than the solver's word."""
    slack = cp.Variable(nonneg=True)
    elastic = [*(e <= slack for e in problem.rows), *(cp.abs(e) <= slack for e in problem.equations)]
    least = cp.Problem(cp.Minimize(slack), elastic)
    if _solve(least, "CLARABEL") not in ("optimal", "optimal_inaccurate"):
        return Reference("undecided", reason=f"the solver says {status}, and the least violation is not known")
    violation = float(least.value)
    if violation > CLEARLY_INFEASIBLE:
        return Reference("infeasible")
    if violation > FEASIBLE:
        return Reference("undecided", reason=f"the least violation of the rows is {violation:.1e}")
    values = []
    for size in (SMALL_BOX, LARGE_BOX):
        box = [cp.abs(x) <= size for x in problem.unknowns]
        within = cp.Problem(cp.Minimize(problem.objective), [*problem.constraints(), *box])
        if _solve(within, "CLARABEL") not in ("optimal", "optimal_inaccurate"):
            return Reference("undecided", reason=f"the solver says {status}, and the value in a box is not known")
        values.append(float(within.value))
    if values[1] < values[0] - 1.0:
        return Reference("unbounded")
    return Reference(
        "undecided", reason=f"the solver says {status}, and the value falls from {values[0]} to {values[1]}"
    )


def _solve(problem: Any, solver: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=solver, **SETTINGS[solver])
        except (cp.error.SolverError, ValueError) as error:
            # cvxpy raises a ValueError if ECOS would get a matrix without entries.
            return f"error ({error})"
    return str(problem.status)


def _separable(description: Description) -> Reference:
    """Minimise sum_j w_j x_j^2 + c_j x_j over a box, for any signs: at an end or at the stationary point of each."""
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
    return Reference("optimal", sign * value + float(description.objective.affine.constant[0]))
