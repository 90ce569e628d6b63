"""Judge what milopt says of a convex program over atoms, by numpy and by cvxpy."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

import milopt
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ConvexityError, UnsupportedError
from milopt.outcome.result import Result
from tests.atoms.as_cvxpy import Model, Solved
from tests.atoms.as_milopt import Declared, declare
from tests.atoms.evaluate import Evaluator, objective, violation
from tests.atoms.kinds import KINDS
from tests.atoms.trees import Description, Node, Point

OBJECTIVE_TOLERANCE = 1e-6
"""Largest error of the objective, relative to 1 + its size."""
ROW_TOLERANCE = 5e-6
"""Largest violation of a row; the certificate promises 1e-6 relative to the terms of the row."""
DUAL_TOLERANCE = 1e-3
"""Largest error of a multiplier, relative to 1 + the largest one."""
AGREEMENT = 1e-6
"""Largest difference between the multipliers of two solvers of cvxpy that count as unique, relative as above."""


class Verdict(Enum):
    """What an answer is worth; the last four are failures."""

    EQUAL = "optimal-equal"
    STATIONARY = "stationary"
    UNCERTIFIED = "uncertified"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    WRONG_VALUES = "wrong-values"
    WRONG_DUALS = "wrong-duals"
    WRONG_CERTIFIED = "wrong-and-certified"
    CRASH = "crash"

    @property
    def is_failure(self) -> bool:
        """True for wrong answers that are certified, and for crashes."""
        return self in (Verdict.WRONG_VALUES, Verdict.WRONG_DUALS, Verdict.WRONG_CERTIFIED, Verdict.CRASH)


@dataclass(frozen=True)
class Judgement:
    """One solve of one program by one solver."""

    seed: int
    focus: str
    kinds: frozenset[str]
    solver: str
    verdict: Verdict
    detail: str = ""
    steps: int = 0
    """Steps of the convex-concave procedure that were compared with those by hand."""


def solvers_of(description: Description) -> list[str]:
    """Return the solvers by which a program is solved: all that take its kinds of cones, SCS for every sixth."""
    chosen = ["clarabel", "ecos", "cvxpy:CLARABEL"]
    if description.seed % 6 == 0:
        chosen.append("cvxpy:SCS")
    if all(KINDS[kind].is_polyhedral for kind in description.kinds):
        chosen.append("highs")
    return chosen


@dataclass(frozen=True)
class Reference:
    """The optimum by cvxpy, and the multipliers on which two solvers agree."""

    solved: Solved
    is_dual_unique: bool


def refer(description: Description) -> Reference | None:
    """Solve a program by two solvers of cvxpy; None if neither solves it, or they differ."""
    model = Model(description)
    found = [one for one in (model.solve("CLARABEL"), model.solve("ECOS")) if one is not None]
    if not found:
        return None
    if len(found) == 1:
        return Reference(found[0], False)
    a, b = found
    if abs(a.objective - b.objective) > 0.5 * OBJECTIVE_TOLERANCE * (1.0 + abs(a.objective)):
        return None
    return Reference(a, all(_apart(a.duals[name], b.duals[name]) <= AGREEMENT for name in a.duals))


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0.0)) / (1.0 + float(np.abs(b).max(initial=0.0)))


def judged(description: Description, solvers: list[str] | None = None) -> Iterator[Judgement]:
    """Solve a program by each of its solvers and judge the answers."""
    reference = refer(description)
    for solver in solvers or solvers_of(description):
        verdict, detail = _judge(description, reference, solver)
        yield Judgement(description.seed, description.focus, frozenset(description.kinds), solver, verdict, detail)


def _judge(description: Description, reference: Reference | None, solver: str) -> tuple[Verdict, str]:
    try:
        declared = declare(description)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = milopt.solve(declared.program, solver)
    except (ConvexityError, UnsupportedError) as error:
        return Verdict.REFUSED, str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict.CRASH, f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    return judge_result(description, reference, declared, result)


def judge_result(
    description: Description, reference: Reference | None, declared: Declared, result: Result
) -> tuple[Verdict, str]:
    """Judge one result."""
    certified = result.point is PointStatus.CERTIFIED
    if result.point is PointStatus.NONE:
        wrong = result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED)
        return (Verdict.WRONG_CERTIFIED if wrong else Verdict.UNCERTIFIED), f"{result.termination}: {result.message}"
    point = point_of(description, result)
    if certified:
        excess = violation(description, point)
        if excess > ROW_TOLERANCE:
            return Verdict.WRONG_CERTIFIED, f"a row is violated by {excess:.1e}"
        different = different_value(description, declared, result, point)
        if different:
            return Verdict.WRONG_VALUES, different
    if reference is None:
        return Verdict.UNDECIDED, "cvxpy gives no reference"
    best, value = reference.solved.objective, objective(description, point)
    error = (value - best) / (1.0 + abs(best))
    if not certified:
        return Verdict.UNCERTIFIED, f"{result.termination}, error {error:.1e}, {result.certificate}; {result.message}"
    if abs(error) > OBJECTIVE_TOLERANCE:
        return (
            Verdict.WRONG_CERTIFIED,
            f"objective {value:.10g} instead of {best:.10g}: {error:.1e}; {result.certificate}",
        )
    if description.is_strict:
        reach = np.sqrt(4.0 * OBJECTIVE_TOLERANCE * (1.0 + abs(best)))
        far = max(float(np.linalg.norm(point[name] - other)) for name, other in reference.solved.point.items())
        if far > reach:
            return Verdict.WRONG_CERTIFIED, f"the point is {far:.1e} from the only optimum"
    if reference.is_dual_unique and "SCS" not in result.solver:
        for row in description.rows:
            theirs = reference.solved.duals[row.name] * (-1.0 if row.equality else 1.0)
            apart = _apart(result.duals[row.name], theirs)
            if apart > DUAL_TOLERANCE:
                return Verdict.WRONG_DUALS, f"{row.name}: {result.duals[row.name]} instead of {theirs}"
    return Verdict.EQUAL, ""


def point_of(description: Description, result: Result) -> Point:
    """Return the point of a result; the coordinates of functions are those with the values of the fitted function."""
    point = {one.name: np.atleast_1d(result.values[one.name]) for one in description.variables}
    for function in description.functions:
        values = result.functions[function.name](function.instances)
        point[function.name] = np.linalg.solve(function.root, values)
    return point


def different_value(description: Description, declared: Declared, result: Result, point: Point) -> str:
    """Return which atom has another value in the result than in numpy at the same point; empty if none has."""
    evaluator = Evaluator(description.functions, point)
    nodes: dict[Node, None] = {node: None for one in description.expressions for node in one.nodes()}
    for node in nodes:
        ours, theirs = np.atleast_1d(result.value(declared.atoms[node])), evaluator.atom(node)
        if _apart(ours, theirs) > 1e-7:
            return f"{node.kind} is {theirs}, not {ours}"
    value = -result.objective if description.turned else result.objective
    if abs(value - objective(description, point)) > 1e-7 * (1.0 + abs(value)):
        return f"the objective is {objective(description, point)}, not {value}"
    return ""
