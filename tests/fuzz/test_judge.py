"""Test the judge: equal seeds give equal programs, and wrong answers are detected."""

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
from tests.fuzz.as_milopt import declare
from tests.fuzz.as_script import script
from tests.fuzz.descriptions import (
    Affine,
    ExpressionSpec,
    ProgramDescription,
    RowSpec,
    TermSpec,
    VariableSpec,
    apply_scaling,
)
from tests.fuzz.draw import THEMES, draw
from tests.fuzz.judge import FuzzVerdict, judge
from tests.fuzz.reference import solve_reference

FREE = VariableSpec("x", np.full(2, -np.inf), np.full(2, np.inf))
ABOVE = RowSpec("above", ExpressionSpec(Affine(-np.ones(2), (TermSpec("x", np.eye(2)),))), ">=")
BELOW = RowSpec("below", ExpressionSpec(Affine(np.ones(2), (TermSpec("x", np.eye(2)),))), "<=")
TOTAL = ExpressionSpec(Affine(np.zeros(1), (TermSpec("x", np.ones((1, 2))),)))

OPTIMAL = ProgramDescription(0, "small", (FREE,), TOTAL, (ABOVE,))
INFEASIBLE = ProgramDescription(0, "small", (FREE,), TOTAL, (ABOVE, BELOW))
UNBOUNDED = ProgramDescription(0, "small", (FREE,), TOTAL, (BELOW,))

Falsification = Callable[[Result], Result]


def _answer(description: ProgramDescription) -> Result:
    return milopt.solve(declare(apply_scaling(description)).program, "highs")


@pytest.mark.parametrize(
    ("description", "verdict"),
    [(OPTIMAL, FuzzVerdict.OPTIMAL), (INFEASIBLE, FuzzVerdict.INFEASIBLE), (UNBOUNDED, FuzzVerdict.UNBOUNDED)],
)
def test_true_answers_are_accepted(description: ProgramDescription, verdict: FuzzVerdict) -> None:
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
    ("falsify", "verdict"),
    [
        (_worse, FuzzVerdict.WRONG_CERTIFIED),
        (_outside, FuzzVerdict.WRONG_CERTIFIED),
        (_another_objective, FuzzVerdict.WRONG_CERTIFIED),
        (_infeasible, FuzzVerdict.WRONG_STATUS),
        (_stationary, FuzzVerdict.WRONG_STATUS),
    ],
)
def test_wrong_answers_are_detected(falsify: Falsification, verdict: FuzzVerdict) -> None:
    assert judge(OPTIMAL, 0, falsify(_answer(OPTIMAL)))[0] is verdict


def test_a_certified_point_of_an_infeasible_program_is_wrong() -> None:
    assert judge(INFEASIBLE, 0, _answer(OPTIMAL))[0] is FuzzVerdict.WRONG_CERTIFIED


def test_every_theme_is_drawn_and_most_programs_have_a_reference() -> None:
    descriptions = [draw(seed) for seed in range(200)]
    assert {description.theme for description in descriptions} == set(THEMES)
    decided = [solve_reference(description, 0).verdict != "undecided" for description in descriptions[:60]]
    assert np.mean(decided) > 0.9


def test_equal_seeds_give_equal_programs() -> None:
    first = [script(draw(seed), "clarabel") for seed in range(40)]
    draw.cache_clear()
    assert [script(draw(seed), "clarabel") for seed in range(40)] == first


def test_the_script_of_a_seed_finds_the_same_optimum() -> None:
    description = next(draw(seed) for seed in range(100) if draw(seed).theme == "box" and not draw(seed).maximize)
    run = subprocess.run(
        [sys.executable, "-c", script(description, "clarabel")], capture_output=True, text=True, check=True
    )
    result = milopt.solve(declare(apply_scaling(description)).program, "clarabel")
    assert f"objective {result.objective:.8g}" in run.stdout
