"""A wrong point that a solver reports as optimal is not accepted: the certificate is recomputed and does not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import milopt
from milopt import RBF, Program, norm, sum_squares
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import UncertifiedError
from milopt.solving import registry
from milopt.solving.engine import Engine
from milopt.solving.options import Options
from milopt.solving.solver import Solver

Lie = Callable[[Answer], Answer]


class LyingEngine(Engine):
    """An engine that returns a falsified answer of Clarabel as optimal."""

    def __init__(self, form: StandardForm, options: Options, lie: Lie) -> None:
        super().__init__(form, options)
        self._honest = registry.get_solver("clarabel").engine(form, options)
        self._lie = lie

    def solve(self, time_limit: float | None) -> Answer:
        answer = self._honest.solve(time_limit)
        assert answer.termination is Termination.OPTIMAL
        return replace(self._lie(answer), termination=Termination.OPTIMAL, raw_status="trust me")


class Liar(Solver):
    """A solver with falsified answers, which is not registered."""

    name = "liar"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    cones = frozenset({"second-order"})
    package = "milopt"

    def __init__(self, lie: Lie) -> None:
        self._lie = lie

    def engine(self, form: StandardForm, options: Options) -> Engine:
        return LyingEngine(form, options, self._lie)


def _lp() -> Program:
    program = Program("lp")
    x = program.variable("x", 3, lower=0)
    program.minimize(np.array([3.0, 1.0, 2.0]) @ x)
    program.subject_to(x.sum() >= 2, name="total")
    program.subject_to(x[0] - x[1] >= -1.5, name="tilt")
    return program


def _qp() -> Program:
    program = Program("qp")
    x = program.variable("x", 3)
    program.minimize(sum_squares(x - np.array([1.0, 2.0, 3.0])))
    program.subject_to(x.sum() == 1, name="plane")
    return program


def _socp() -> Program:
    program = Program("socp")
    x = program.variable("x", 3)
    program.minimize(np.array([3.0, -4.0, 12.0]) @ x)
    program.subject_to(norm(x) <= 2, name="ball")
    return program


def _kernel() -> Program:
    X = np.random.default_rng(0).normal(size=(6, 2))
    program = Program("kernel")
    f, b = program.function("f", RBF(1.0)), program.variable("b")
    slack = program.variable("slack", 6, lower=0)
    program.minimize(0.5 * f.norm_squared() + slack.sum())
    program.subject_to(np.array([1.0, -1, 1, -1, 1, -1]) * (f(X) + b) >= 1 - slack, name="margin")
    return program


def _moved(step: float) -> Lie:
    return lambda answer: replace(answer, x=_array(answer.x) + step)


def _array(x: object) -> np.ndarray:
    assert isinstance(x, np.ndarray)
    return x


LIES: dict[str, Lie] = {
    "another point": lambda answer: replace(answer, x=np.ones_like(_array(answer.x)) * 7),
    "off by 1e-3": _moved(1e-3),
    "below by 1e-3": _moved(-1e-3),
    "the point zero": lambda answer: replace(answer, x=np.zeros_like(_array(answer.x))),
    "wrong multipliers": lambda answer: replace(answer, z=_array(answer.z) + 0.5),
    "multipliers of the wrong sign": lambda answer: replace(answer, z=-_array(answer.z)),
    "no multipliers": lambda answer: replace(answer, z=None),
    "not a number": lambda answer: replace(answer, x=np.full_like(_array(answer.x), np.nan)),
    "one NaN": lambda answer: replace(
        answer, x=np.where(np.arange(_array(answer.x).size) == 0, np.nan, _array(answer.x))
    ),
    "NaN multipliers": lambda answer: replace(answer, z=np.full_like(_array(answer.z), np.nan)),
    "infinity": lambda answer: replace(answer, x=np.full_like(_array(answer.x), np.inf)),
}

PROGRAMS = {"lp": _lp, "qp": _qp, "socp": _socp, "kernel": _kernel}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_answer_is_detected(program: str, lie: str) -> None:
    result = milopt.solve(PROGRAMS[program](), Liar(LIES[lie]), polish=False)
    assert result.point is not PointStatus.CERTIFIED, str(result)
    assert result.termination is not Termination.OPTIMAL
    assert result.exit_code == 3
    with pytest.raises(UncertifiedError, match="liar"):
        result.require_certified()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_correct_answer_of_the_same_solver_is_certified(program: str) -> None:
    result = milopt.solve(PROGRAMS[program](), Liar(lambda answer: answer))
    assert result.point is PointStatus.CERTIFIED
    assert result.exit_code == 0
    assert result.require_certified() is result


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", ["lp", "qp", "kernel"])
@pytest.mark.parametrize("lie", LIES)
def test_polish_only_ever_repairs(program: str, lie: str) -> None:
    """Polishing may turn a wrong answer into a correct one; the result then has both certificates."""
    expected = milopt.solve(PROGRAMS[program](), "clarabel")
    result = milopt.solve(PROGRAMS[program](), Liar(LIES[lie]))
    if result.point is PointStatus.CERTIFIED:
        assert result.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-6)
        assert result.polished is not None
        assert not result.polished.holds(1e-6)
    else:
        assert result.exit_code == 3


class UnconfirmedClaimEngine(Engine):
    """An engine that reports the declared program as infeasible or unbounded, and solves any other program."""

    def __init__(self, form: StandardForm, options: Options, claim: Termination) -> None:
        super().__init__(form, options)
        self._claim = claim

    def solve(self, time_limit: float | None) -> Answer:
        if self.form.n == 3 and self.form.g.any():
            return Answer(self._claim, "trust me")
        return registry.get_solver("clarabel").engine(self.form, self.options).solve(time_limit)


class UnconfirmedClaimant(Liar):
    """A solver that makes a claim without a point."""

    name = "claimant"

    def __init__(self, claim: Termination) -> None:
        self._claim = claim

    def engine(self, form: StandardForm, options: Options) -> Engine:
        return UnconfirmedClaimEngine(form, options, self._claim)


@pytest.mark.parametrize("claim", [Termination.INFEASIBLE, Termination.UNBOUNDED], ids=str)
def test_an_unconfirmed_claim_is_not_returned(claim: Termination) -> None:
    """The cheapest relaxation violates nothing, and there is no ray, so the claim has no proof."""
    result = milopt.solve(_lp(), UnconfirmedClaimant(claim))
    assert result.point is PointStatus.NONE
    assert result.exit_code == 3
    assert result.termination is Termination.STALLED


def test_a_fallback_replaces_a_solver_with_wrong_answers() -> None:
    result = milopt.solve(_lp(), (Liar(LIES["off by 1e-3"]), "highs"), polish=False)
    assert result.solver == "highs"
    assert [attempt.point for attempt in result.attempts] == [PointStatus.FEASIBLE, PointStatus.CERTIFIED]
