"""Schemes by name: which problems they support, the steps that they yield, and the seconds of their results."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

import milopt
from milopt import ColumnGeneration, ConvexConcave, Direct, Exact, Options, Program, Representatives, Result, Scheme
from milopt.compilation.answer import Answer
from milopt.compilation.status import Termination
from milopt.declaration.programs.problem import Problem
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError, ParameterError, UnknownNameError
from milopt.schemes.registered import scheme_class, scheme_names
from milopt.schemes.scheme import Steps
from milopt.solvers.clarabel import ClarabelEngine
from milopt.solving import registry
from milopt.solving.clock import Clock
from milopt.solving.solver import Solver

OWN = {
    "direct": Direct,
    "ccp": ConvexConcave,
    "representatives": Representatives,
    "exact": Exact,
    "column-generation": ColumnGeneration,
}


def witnesses() -> Program:
    rng = np.random.default_rng(0)
    bags = milopt.as_bags([rng.normal(size=(3, 2)) for _ in range(12)])
    program = milopt.models.MISVM(kernel=milopt.RBF(0.5), C=10).program(bags, np.array([1.0, -1.0] * 6))
    assert isinstance(program, Program)
    return program


def boosted() -> SemiInfinite:
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(5, 2)) + 2 * (k % 2) for k in range(8)]
    program = milopt.models.ShapeletBoost(ball="one-hot").program(bags, np.array([-1, 1] * 4))
    assert isinstance(program, SemiInfinite)
    return program


def test_milopts_own_schemes_are_registered() -> None:
    assert {name: scheme_class(name) for name in OWN} == OWN
    assert set(OWN) <= set(scheme_names())
    assert all(issubclass(entry, Scheme) for entry in OWN.values())


def test_a_problem_has_a_default_scheme_and_parts() -> None:
    convex, dc, several = Program("convex"), witnesses(), boosted()
    problems: list[Problem] = [convex, dc, several]
    assert [entry.default_scheme for entry in problems] == ["direct", "ccp", "column-generation"]
    assert [list(entry.parts) for entry in problems] == [["program"], ["program"], list(several.parts)]
    assert [entry.core for entry in problems] == [convex, dc, several.master]
    assert [len(entry.oracles) > 0 for entry in problems] == [False, False, True]


def test_the_error_for_an_unknown_scheme_suggests_similar_names() -> None:
    with pytest.raises(UnknownNameError, match='No scheme is called "cpp"; did you mean "ccp"'):
        milopt.solve(witnesses(), scheme="cpp")


def test_a_scheme_raises_an_error_for_a_problem_of_the_other_kind() -> None:
    with pytest.raises(ParameterError, match=r"has no oracles: its scheme is ccp, not column-generation\.$"):
        milopt.solve(witnesses(), scheme="column-generation")
    with pytest.raises(ParameterError, match=r"is semi-infinite: its scheme is column-generation, not ccp\.$"):
        milopt.solve(boosted(), scheme=ConvexConcave())


def test_a_scheme_registered_under_another_name_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConvexConcave, "name", "other")
    with pytest.raises(DeclarationError, match="The scheme \"ccp\" calls itself 'other'"):
        scheme_class("ccp")


def test_an_entry_point_that_is_not_a_scheme_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    wrong = {"wrong": EntryPoint("wrong", "milopt.solvers.highs.solver:HiGHS", "milopt.schemes")}
    monkeypatch.setattr(registry, "_entry_points", lambda group: wrong)
    with pytest.raises(
        DeclarationError, match=r"milopt\.solvers\.highs\.solver:HiGHS is not a subclass of milopt\.Scheme"
    ):
        scheme_class("wrong")


@pytest.mark.parametrize("scheme", ["ccp", "representatives", "exact"])
def test_steps_are_yielded_as_they_are_made(scheme: str) -> None:
    program, clock = witnesses(), Clock(None)
    steps = scheme_class(scheme)().steps(program, milopt.get_solver("clarabel"), Options(), clock)
    first = next(steps)
    assert first.seconds <= clock.elapsed()
    time.sleep(0.05)
    assert next(steps).seconds >= first.seconds + 0.05
    steps.close()


@pytest.mark.parametrize("scheme", ["direct", "ccp", "representatives", "exact", "column-generation"])
def test_a_result_has_all_steps_and_their_seconds(scheme: str) -> None:
    problem = boosted() if scheme == "column-generation" else Program("convex") if scheme == "direct" else witnesses()
    result = milopt.solve(problem, "clarabel", scheme=scheme)
    times = [step.seconds for step in result.history]
    assert times
    assert times == sorted(times)
    seconds = result.seconds
    assert min(seconds.build, seconds.solve) > 0
    assert seconds.scheme >= 0
    assert seconds.build + seconds.solve + seconds.scheme + seconds.jit == pytest.approx(seconds.total)


@dataclass(frozen=True)
class SlowScheme(Scheme):
    """A scheme with two solves and a pause between them."""

    name = "slow"
    pause: float = 0.2

    def steps(self, problem: Program, solver: Solver, options: Options, clock: Clock) -> Steps[Result]:
        yield from Direct().steps(problem, solver, options, clock)
        time.sleep(self.pause)
        result = yield from Direct().steps(problem, solver, options, clock)
        return replace(result, scheme=self.name)


def test_time_between_solves_is_not_counted_as_solving() -> None:
    program = Program("linear")
    x = program.variable("x", 2, lower=1)
    program.minimize(x.sum())
    result = milopt.solve(program, "highs", scheme=SlowScheme())
    assert (result.scheme, len(result.history)) == ("slow", 2)
    assert 0.2 <= result.seconds.scheme <= result.seconds.total
    assert result.history[1].seconds - result.history[0].seconds >= 0.2


def test_the_seconds_of_all_attempts_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_failure(self: ClarabelEngine, limit: float | None) -> Answer:
        time.sleep(0.2)
        return Answer(Termination.STALLED, "made to fail")

    program = Program("linear")
    x = program.variable("x", 2, lower=1)
    program.minimize(x.sum())
    monkeypatch.setattr(ClarabelEngine, "solve", slow_failure)
    result = milopt.solve(program, ("clarabel", "highs"))
    assert result.solver == "highs"
    assert 0.2 <= result.seconds.solve <= result.seconds.total


def test_the_next_solver_is_tried_if_a_step_ends_at_a_limit_of_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClarabelEngine, "solve", lambda self, limit: Answer(Termination.LIMIT, "MaxIterations"))
    assert milopt.solve(witnesses(), "clarabel").termination is Termination.LIMIT
    result = milopt.solve(witnesses(), ("clarabel", "highs"))
    assert [entry.solver for entry in result.attempts] == ["clarabel", "highs"]
    assert result.point == "certified"


def test_no_other_solver_is_tried_after_a_limit_of_the_scheme() -> None:
    result = milopt.solve(witnesses(), scheme=ConvexConcave(max_steps=1))
    assert (result.termination, len(result.attempts)) == (Termination.LIMIT, 1)


def test_an_extended_clock_adds_to_the_work_of_the_original_clock() -> None:
    """Completions of an alternation may exceed the time limit, and count as work of its solves."""
    clock = Clock(1e-3)
    program = Program("linear")
    x = program.variable("x", 2, lower=1)
    program.minimize(x.sum())
    Direct().run(program, milopt.get_solver("highs"), Options(), clock.with_at_least(10.0))
    assert min(clock.work.build, clock.work.solve) > 0
