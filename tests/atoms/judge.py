"""Check the answers of milopt to convex programs over atoms, with numpy and cvxpy."""

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
from tests.atoms.as_cvxpy import CvxpySolution, CvxpyTreeModel
from tests.atoms.as_milopt import DeclaredTree, declare
from tests.atoms.evaluate import TreeEvaluator, objective, violation
from tests.atoms.kinds import KINDS
from tests.atoms.trees import Point, TreeNode, TreeProgram

OBJECTIVE_TOLERANCE = 1e-6
"""Largest error of the objective, relative to 1 + its size."""
ROW_TOLERANCE = 5e-6
"""Largest violation of a row; the certificate guarantees 1e-6 relative to the terms of the row."""
DUAL_TOLERANCE = 1e-3
"""Largest error of a multiplier, relative to 1 + the largest multiplier."""
UNIQUE_DUAL_TOLERANCE = 1e-6
"""Largest relative difference between the multipliers of two solvers of cvxpy that count as unique."""


class AtomVerdict(Enum):
    """Verdict on an answer; the last four are failures."""

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
        """Whether the answer is wrong although it is certified, or the solve crashed."""
        return self in (
            AtomVerdict.WRONG_VALUES,
            AtomVerdict.WRONG_DUALS,
            AtomVerdict.WRONG_CERTIFIED,
            AtomVerdict.CRASH,
        )


@dataclass(frozen=True)
class AtomJudgement:
    """Verdict on one solve of one program by one solver."""

    seed: int
    focus: str
    kinds: frozenset[str]
    solver: str
    verdict: AtomVerdict
    detail: str = ""
    steps: int = 0
    """Number of steps of the convex-concave procedure that were compared with the hand-written reference."""


def select_solvers(description: TreeProgram) -> list[str]:
    """Return the solvers for a program: all that support its cones, and SCS for every sixth program."""
    chosen = ["clarabel", "ecos", "cvxpy:CLARABEL"]
    if description.seed % 6 == 0:
        chosen.append("cvxpy:SCS")
    if all(KINDS[kind].is_polyhedral for kind in description.kinds):
        chosen.append("highs")
    return chosen


@dataclass(frozen=True)
class CvxpyReference:
    """Optimum by cvxpy, and whether two solvers agree on the multipliers."""

    solution: CvxpySolution
    is_dual_unique: bool


def solve_reference(description: TreeProgram) -> CvxpyReference | None:
    """Solve a program by two solvers of cvxpy; return None if neither solves it, or their objectives differ."""
    model = CvxpyTreeModel(description)
    solutions = [solution for solution in (model.solve("CLARABEL"), model.solve("ECOS")) if solution is not None]
    if not solutions:
        return None
    if len(solutions) == 1:
        return CvxpyReference(solutions[0], False)
    a, b = solutions
    if abs(a.objective - b.objective) > 0.5 * OBJECTIVE_TOLERANCE * (1.0 + abs(a.objective)):
        return None
    return CvxpyReference(
        a, all(_relative_difference(a.duals[name], b.duals[name]) <= UNIQUE_DUAL_TOLERANCE for name in a.duals)
    )


def _relative_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return max |a - b|, relative to 1 + max |b|."""
    return float(np.abs(a - b).max(initial=0.0)) / (1.0 + float(np.abs(b).max(initial=0.0)))


def judge_program(description: TreeProgram, solvers: list[str] | None = None) -> Iterator[AtomJudgement]:
    """Solve a program by each solver and yield a judgement of each answer."""
    reference = solve_reference(description)
    for solver in solvers or select_solvers(description):
        verdict, detail = _judge(description, reference, solver)
        yield AtomJudgement(description.seed, description.focus, frozenset(description.kinds), solver, verdict, detail)


def _judge(description: TreeProgram, reference: CvxpyReference | None, solver: str) -> tuple[AtomVerdict, str]:
    try:
        declared = declare(description)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = milopt.solve(declared.program, solver)
    except (ConvexityError, UnsupportedError) as error:
        return AtomVerdict.REFUSED, str(error)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return AtomVerdict.CRASH, f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
    return judge_result(description, reference, declared, result)


def judge_result(
    description: TreeProgram, reference: CvxpyReference | None, declared: DeclaredTree, result: Result
) -> tuple[AtomVerdict, str]:
    """Return the verdict on one result, with a detail for messages."""
    certified = result.point is PointStatus.CERTIFIED
    if result.point is PointStatus.NONE:
        wrong = result.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED)
        return (
            AtomVerdict.WRONG_CERTIFIED if wrong else AtomVerdict.UNCERTIFIED
        ), f"{result.termination}: {result.message}"
    point = read_point(description, result)
    if certified:
        excess = violation(description, point)
        if excess > ROW_TOLERANCE:
            return AtomVerdict.WRONG_CERTIFIED, f"a row is violated by {excess:.1e}"
        wrong_value = find_wrong_value(description, declared, result, point)
        if wrong_value:
            return AtomVerdict.WRONG_VALUES, wrong_value
    if reference is None:
        return AtomVerdict.UNDECIDED, "cvxpy gives no reference"
    best, value = reference.solution.objective, objective(description, point)
    error = (value - best) / (1.0 + abs(best))
    if not certified:
        return (
            AtomVerdict.UNCERTIFIED,
            f"{result.termination}, error {error:.1e}, {result.certificate}; {result.message}",
        )
    if abs(error) > OBJECTIVE_TOLERANCE:
        return (
            AtomVerdict.WRONG_CERTIFIED,
            f"objective {value:.10g} instead of {best:.10g}: {error:.1e}; {result.certificate}",
        )
    if description.is_strict:
        max_distance = np.sqrt(4.0 * OBJECTIVE_TOLERANCE * (1.0 + abs(best)))
        distance = max(float(np.linalg.norm(point[name] - other)) for name, other in reference.solution.point.items())
        if distance > max_distance:
            return AtomVerdict.WRONG_CERTIFIED, f"the point is {distance:.1e} from the only optimum"
    if reference.is_dual_unique and "SCS" not in result.solver:
        for row in description.rows:
            theirs = reference.solution.duals[row.name] * (-1.0 if row.equality else 1.0)
            if _relative_difference(result.duals[row.name], theirs) > DUAL_TOLERANCE:
                return AtomVerdict.WRONG_DUALS, f"{row.name}: {result.duals[row.name]} instead of {theirs}"
    return AtomVerdict.EQUAL, ""


def read_point(description: TreeProgram, result: Result) -> Point:
    """Return the point of a result, with coordinates of each function that give the fitted values at its instances."""
    point = {variable.name: np.atleast_1d(result.values[variable.name]) for variable in description.variables}
    for function in description.functions:
        values = result.functions[function.name](function.instances)
        point[function.name] = np.linalg.solve(function.root, values)
    return point


def find_wrong_value(description: TreeProgram, declared: DeclaredTree, result: Result, point: Point) -> str:
    """Return a message about an atom whose value in the result differs from numpy; an empty text if there is none."""
    evaluator = TreeEvaluator(description.functions, point)
    nodes: dict[TreeNode, None] = {node: None for expression in description.expressions for node in expression.nodes()}
    for node in nodes:
        ours, theirs = np.atleast_1d(result.value(declared.atoms[node])), evaluator.atom(node)
        if _relative_difference(ours, theirs) > 1e-7:
            return f"{node.kind} is {theirs}, not {ours}"
    value = -result.objective if description.declare_negated else result.objective
    if abs(value - objective(description, point)) > 1e-7 * (1.0 + abs(value)):
        return f"the objective is {objective(description, point)}, not {value}"
    return ""
