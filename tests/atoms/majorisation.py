"""Compare the convex-concave procedure of milopt, step by step, with a hand-written reference.

The reference uses no code of milopt: its slopes are those of `slopes`, in numpy, and cvxpy solves each convex program.
Both start from the point after the first step of milopt. The objective contains ||x - a||^2 / 2 over all variables and
functions, so that the optimum of every step is unique and the objectives of the steps must be equal.

If an atom has a kink at the point (a tie between entries, a norm at 0), there are several tangents, and the comparison
ends. After the last step of milopt, one more step of the reference must not lower the objective.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator

import numpy as np

import milopt
from milopt import ConvexConcave
from milopt.compilation.status import PointStatus
from milopt.errors import ConvexityError, UnsupportedError
from milopt.outcome.result import Result
from tests.atoms.as_cvxpy import CvxpySolution, CvxpyTreeModel
from tests.atoms.as_milopt import declare
from tests.atoms.dc_sampling import StrictDCProgramSampler
from tests.atoms.evaluate import TreeEvaluator, objective
from tests.atoms.judge import AtomJudgement, AtomVerdict, read_point
from tests.atoms.judge_dc import possible_decrease
from tests.atoms.slopes import SLOPES
from tests.atoms.trees import Point, TreeProgram

STEP_TOLERANCE = 1e-6
"""Largest difference of the objectives of a step, relative to 1 + their size."""
COMPARED_STEPS = 6
"""Largest number of steps that are compared."""
KINK_DISTANCE, KINK_JUMP = 1e-5, 1e-2
"""A point is a kink if slopes change by more than KINK_JUMP within KINK_DISTANCE."""


def draw_strict(seed: int) -> TreeProgram:
    """Draw a DC program whose steps have unique optima; consecutive seeds put every kind of atom on its other side."""
    return StrictDCProgramSampler(seed).program()


def judge_by_hand(description: TreeProgram, solvers: list[str] | None = None) -> Iterator[AtomJudgement]:
    """Solve a DC program by milopt and by the reference, and yield a judgement of the steps for each solver."""
    for solver in solvers or ["clarabel"]:
        verdict, detail, steps = _judge(description, solver)
        kinds = frozenset(description.kinds)
        yield AtomJudgement(description.seed, description.focus, kinds, solver, verdict, detail, steps)


def _judge(description: TreeProgram, solver: str) -> tuple[AtomVerdict, str, int]:
    """Return the verdict, a detail for messages, and the number of compared steps."""
    try:
        first, last = (_solve_with(description, solver, steps) for steps in (1, 100))
    except (ConvexityError, UnsupportedError) as error:
        return AtomVerdict.REFUSED, str(error), 0
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return AtomVerdict.CRASH, f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})", 0
    if last.point is PointStatus.NONE or first.point is PointStatus.NONE:
        return AtomVerdict.UNCERTIFIED, f"{last.termination}: {last.message}", 0
    sign = -1.0 if description.declare_negated else 1.0
    objectives = [sign * step.objective for step in last.history[1:COMPARED_STEPS]]
    by_hand = objectives_by_hand(description, read_point(description, first), len(objectives))
    steps = len(by_hand)
    for k, (ours, theirs) in enumerate(zip(objectives, by_hand, strict=False), 2):
        differs = abs(ours - theirs) > STEP_TOLERANCE * (1.0 + abs(theirs))
        if differs and not solves_step(description, solver, k):
            return AtomVerdict.WRONG_VALUES, f"step {k} ends at {ours:.10g}, and at {theirs:.10g} by hand", steps
    if last.point is not PointStatus.CERTIFIED:
        return AtomVerdict.UNCERTIFIED, f"{last.termination}: {last.message}", steps
    decrease = possible_decrease(description, read_point(description, last), STEP_TOLERANCE)
    if decrease is None:
        return AtomVerdict.UNDECIDED, "cvxpy does not solve the step from the end", steps
    if decrease > STEP_TOLERANCE:
        return AtomVerdict.WRONG_CERTIFIED, f"a step by hand from the end lowers the objective by {decrease:.1e}", steps
    return AtomVerdict.STATIONARY, "", steps


def objectives_by_hand(description: TreeProgram, start: Point, count: int) -> list[float]:
    """Return the objectives of the first `count` reference steps; fewer if a point has a kink or cvxpy fails."""
    point, objectives = start, []
    while len(objectives) < count and not has_kink(description, point):
        solution = step_by_hand(description, point)
        if solution is None:
            break
        point = solution.point
        objectives.append(objective(description, point))
    return objectives


def step_by_hand(description: TreeProgram, point: Point) -> CvxpySolution | None:
    """Solve the program in which each atom on its other side is replaced by its tangent at the point."""
    model = CvxpyTreeModel(description, point)
    return model.solve("CLARABEL") or model.solve("ECOS")


def solves_step(description: TreeProgram, solver: str, k: int) -> bool:
    """Return True if the point after step k solves the convex program that is linearised at the point before step k.

    The declared objective is steep at the optimum of a step: two points whose linearised objectives agree to 1e-12 may
    have declared objectives that differ by 1e-6.
    """
    before, after = (read_point(description, _solve_with(description, solver, steps)) for steps in (k - 1, k))
    model = CvxpyTreeModel(description, before)
    solved = model.solve("CLARABEL") or model.solve("ECOS")
    if solved is None:
        return True
    return abs(model.objective_at(after) - solved.objective) <= STEP_TOLERANCE * (1.0 + abs(solved.objective))


def has_kink(description: TreeProgram, point: Point) -> bool:
    """Return True if the slopes of an atom jump close to the point."""
    evaluator, rng = TreeEvaluator(description.functions, point), np.random.default_rng(0)
    for node in {node: None for expression in description.expressions for node in expression.nodes()}:
        parts = evaluator.parts(node)
        here = SLOPES[node.kind](node, parts)
        for _ in range(8):
            moved = [part + KINK_DISTANCE * np.sign(rng.normal(size=part.size)) for part in parts]
            if node.kind in ("log1mexp", "entropy", "relative_entropy"):
                moved = [np.maximum(part, 0.5 * old) for part, old in zip(moved, parts, strict=True)]
            there = SLOPES[node.kind](node, moved)
            if any(np.abs(a - b).max(initial=0.0) > KINK_JUMP for a, b in zip(here, there, strict=True)):
                return True
    return False


def _solve_with(description: TreeProgram, solver: str, max_steps: int) -> Result:
    """Solve a program by at most `max_steps` steps of the convex-concave procedure of milopt."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return milopt.solve(declare(description).program, solver, ConvexConcave(max_steps=max_steps))
