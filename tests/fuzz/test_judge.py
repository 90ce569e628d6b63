"""The judge itself: the same seed gives the same program, and planted lies are found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import milopt
from milopt.compilation.status import PointStatus, Termination
from milopt.outcome.result import Result
from tests.fuzz.as_milopt import declared
from tests.fuzz.as_script import script
from tests.fuzz.descriptions import Affine, Description, Expression, Row, Term, Variable, scaled
from tests.fuzz.draw import THEMES, draw
from tests.fuzz.judge import Verdict, judge
from tests.fuzz.reference import refer

FREE = Variable("x", np.full(2, -np.inf), np.full(2, np.inf))
ABOVE = Row("above", Expression(Affine(-np.ones(2), (Term("x", np.eye(2)),))), ">=")
BELOW = Row("below", Expression(Affine(np.ones(2), (Term("x", np.eye(2)),))), "<=")
TOTAL = Expression(Affine(np.zeros(1), (Term("x", np.ones((1, 2))),)))

OPTIMAL = Description(0, "small", (FREE,), TOTAL, (ABOVE,))
INFEASIBLE = Description(0, "small", (FREE,), TOTAL, (ABOVE, BELOW))
UNBOUNDED = Description(0, "small", (FREE,), TOTAL, (BELOW,))

Lie = Callable[[Result], Result]


def _answer(description: Description) -> Result:
    return milopt.solve(declared(scaled(description)).program, "highs")


@pytest.mark.parametrize(
    ("description", "verdict"),
    [(OPTIMAL, Verdict.OPTIMAL), (INFEASIBLE, Verdict.INFEASIBLE), (UNBOUNDED, Verdict.UNBOUNDED)],
)
def test_true_answers_are_accepted(description: Description, verdict: Verdict) -> None:
    assert judge(description, 0, _answer(description)) == (verdict, "")


def _worse(result: Result) -> Result:
    return replace(result, values={"x": np.array([1.0, 1.001])}, objective=2.001)


def _outside(result: Result) -> Result:
    return replace(result, values={"x": np.array([1.0, 0.999])}, objective=1.999)


def _another_objective(result: Result) -> Result:
    return replace(result, objective=1.999)


def _infeasible(result: Result) -> Result:
    return replace(result, termination=Termination.INFEASIBLE, point=PointStatus.NONE)


def _stationary(result: Result) -> Result:
    return replace(result, termination=Termination.STATIONARY)


@pytest.mark.parametrize(
    ("lie", "verdict"),
    [
        (_worse, Verdict.WRONG_CERTIFIED),
        (_outside, Verdict.WRONG_CERTIFIED),
        (_another_objective, Verdict.WRONG_CERTIFIED),
        (_infeasible, Verdict.WRONG_STATUS),
        (_stationary, Verdict.WRONG_STATUS),
    ],
)
def test_lies_are_found(lie: Lie, verdict: Verdict) -> None:
    assert judge(OPTIMAL, 0, lie(_answer(OPTIMAL)))[0] is verdict


def test_point_of_an_infeasible_program_is_a_lie() -> None:
    assert judge(INFEASIBLE, 0, _answer(OPTIMAL))[0] is Verdict.WRONG_CERTIFIED


def test_every_theme_is_drawn_and_most_programs_have_a_reference() -> None:
    descriptions = [draw(seed) for seed in range(200)]
    assert {one.theme for one in descriptions} == set(THEMES)
    decided = [refer(one, 0).verdict != "undecided" for one in descriptions[:60]]
    assert np.mean(decided) > 0.9


def test_same_seed_gives_the_same_program() -> None:
    first = [script(draw(seed), "clarabel") for seed in range(40)]
    draw.cache_clear()
    assert [script(draw(seed), "clarabel") for seed in range(40)] == first


def test_script_of_a_seed_runs_and_finds_the_same() -> None:
    description = next(draw(seed) for seed in range(100) if draw(seed).theme == "box" and not draw(seed).maximize)
    run = subprocess.run(
        [sys.executable, "-c", script(description, "clarabel")], capture_output=True, text=True, check=True
    )
    result = milopt.solve(declared(scaled(description)).program, "clarabel")
    assert f"objective {result.objective:.8g}" in run.stdout
