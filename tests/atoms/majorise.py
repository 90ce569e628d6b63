"""The convex-concave procedure by hand, step by step beside that of milopt.

The slopes are those of `slopes`, in numpy; cvxpy solves each convex program; milopt takes part in neither. Both start
from the point after milopt's first step. The objective contains ||x - a||^2 / 2 over everything, so that the optimum of
every step is unique, and the objectives of the steps must be equal.

Where an atom has a kink at the point (a tie between entries, a norm at 0), any of several tangents may be taken: the
comparison ends there. At the end of milopt's steps, one more step by hand must not lower the objective.
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
from tests.atoms.as_cvxpy import Model, Solved
from tests.atoms.as_milopt import declare
from tests.atoms.evaluate import Evaluator, objective
from tests.atoms.grow_dc import StrictDCGrower
from tests.atoms.judge import Judgement, Verdict, point_of
from tests.atoms.judge_dc import possible_decrease
from tests.atoms.slopes import SLOPES
from tests.atoms.trees import Description, Point

STEP_TOLERANCE = 1e-6
"""Largest difference of the objectives of a step, relative to 1 + its size."""
COMPARED_STEPS = 6
KINK_DISTANCE, KINK_JUMP = 1e-5, 1e-2
"""Slopes that jump by more within this distance are those of a kink."""


def draw_strict(seed: int) -> Description:
    """Draw a DC program whose steps have unique optima; every kind of atom in turn is on its other side."""
    return StrictDCGrower(seed).program()


def judged_by_hand(description: Description, solvers: list[str] | None = None) -> Iterator[Judgement]:
    """Solve a DC program by milopt and by hand, and compare the steps."""
    for solver in solvers or ["clarabel"]:
        verdict, detail, steps = _judge(description, solver)
        kinds = frozenset(description.kinds)
        yield Judgement(description.seed, description.focus, kinds, solver, verdict, detail, steps)


def _judge(description: Description, solver: str) -> tuple[Verdict, str, int]:
    try:
        first, last = (_solved(description, solver, steps) for steps in (1, 100))
    except (ConvexityError, UnsupportedError) as error:
        return Verdict.REFUSED, str(error), 0
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict.CRASH, f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})", 0
    if last.point is PointStatus.NONE or first.point is PointStatus.NONE:
        return Verdict.UNCERTIFIED, f"{last.termination}: {last.message}", 0
    sign = -1.0 if description.turned else 1.0
    found = [sign * step.objective for step in last.history[1:COMPARED_STEPS]]
    by_hand = objectives_by_hand(description, point_of(description, first), len(found))
    steps = len(by_hand)
    for k, (ours, theirs) in enumerate(zip(found, by_hand, strict=False), 2):
        differs = abs(ours - theirs) > STEP_TOLERANCE * (1.0 + abs(theirs))
        if differs and not solves_step(description, solver, k):
            return Verdict.WRONG_VALUES, f"step {k} ends at {ours:.10g}, and at {theirs:.10g} by hand", steps
    if last.point is not PointStatus.CERTIFIED:
        return Verdict.UNCERTIFIED, f"{last.termination}: {last.message}", steps
    decrease = possible_decrease(description, point_of(description, last), STEP_TOLERANCE)
    if decrease is None:
        return Verdict.UNDECIDED, "cvxpy does not solve the step from the end", steps
    if decrease > STEP_TOLERANCE:
        return Verdict.WRONG_CERTIFIED, f"a step by hand from the end lowers the objective by {decrease:.1e}", steps
    return Verdict.STATIONARY, "", steps


def objectives_by_hand(description: Description, start: Point, count: int) -> list[float]:
    """Return the objectives after at most `count` steps by hand; fewer if a point has a kink, or cvxpy gives up."""
    point, found = start, []
    while len(found) < count and not has_kink(description, point):
        solved = step_by_hand(description, point)
        if solved is None:
            break
        point = solved.point
        found.append(objective(description, point))
    return found


def step_by_hand(description: Description, point: Point) -> Solved | None:
    """Replace each atom on its other side by its tangent at the point, and solve."""
    model = Model(description, point)
    return model.solve("CLARABEL") or model.solve("ECOS")


def solves_step(description: Description, solver: str, k: int) -> bool:
    """Return True if the point after step k solves the convex program that is linearised at the point before it.

    The objective of the program is steep at the optimum of a step: points that are as good for the step to 1e-12 may
    have objectives that differ by 1e-6.
    """
    before, after = (point_of(description, _solved(description, solver, steps)) for steps in (k - 1, k))
    model = Model(description, before)
    solved = model.solve("CLARABEL") or model.solve("ECOS")
    if solved is None:
        return True
    return abs(model.objective_at(after) - solved.objective) <= STEP_TOLERANCE * (1.0 + abs(solved.objective))


def has_kink(description: Description, point: Point) -> bool:
    """Return True if slopes of an atom jump near the point."""
    evaluator, rng = Evaluator(description.functions, point), np.random.default_rng(0)
    for node in {node: None for one in description.expressions for node in one.nodes()}:
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


def _solved(description: Description, solver: str, max_steps: int) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return milopt.solve(declare(description).program, solver, ConvexConcave(max_steps=max_steps))
