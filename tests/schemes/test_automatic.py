"""`auto` uses the first solver in its order, and the next one only if that solver fails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from milopt import Program, Result, as_bags, bag_max, norm, solve, sum_squares
from milopt.compilation.answer import Answer
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ConvexityError, UnsupportedError
from milopt.schemes.solve import solve_each
from milopt.solvers.clarabel import ClarabelEngine
from milopt.solvers.highs.solver import HighsEngine
from milopt.solving.engine import Engine

Fails = Callable[[type[Engine], Termination], None]


@pytest.fixture
def make_solver_fail(monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Make every solve of an engine end with the given termination and without a point."""

    def fail(engine: type[Engine], termination: Termination) -> None:
        monkeypatch.setattr(engine, "solve", lambda self, time_limit: Answer(termination, "made to fail"))

    return fail


def quadratic(target: float = 1.0) -> Program:
    program = Program("quadratic")
    x = program.variable("x", 3, lower=0)
    program.minimize(sum_squares(x - target))
    program.subject_to(x.sum() <= 2, name="sum")
    return program


def tried_solvers(result: Result) -> list[str]:
    return [attempt.solver for attempt in result.attempts]


def test_no_other_solver_is_tried_after_a_certified_answer() -> None:
    result = solve(quadratic())
    assert (result.solver, tried_solvers(result)) == ("clarabel", ["clarabel"])


@pytest.mark.parametrize("termination", [Termination.STALLED, Termination.ERROR])
def test_the_next_solver_is_tried_if_one_fails(termination: Termination, make_solver_fail: Fails) -> None:
    make_solver_fail(ClarabelEngine, termination)
    result = solve(quadratic())
    assert (result.solver, result.point, tried_solvers(result)) == (
        "highs",
        PointStatus.CERTIFIED,
        ["clarabel", "highs"],
    )
    assert result.objective == pytest.approx(1 / 3)
    assert result.attempts[0].point is PointStatus.NONE


def test_linear_programs_fall_back_from_highs(make_solver_fail: Fails) -> None:
    make_solver_fail(HighsEngine, Termination.ERROR)
    program = Program("linear")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(x[0] + 2 * x[1] >= 1)
    assert tried_solvers(solve(program)) == ["highs", "clarabel"]


def test_solvers_that_do_not_support_the_program_are_not_tried(make_solver_fail: Fails) -> None:
    pytest.importorskip("ecos", reason="ECOS has no wheels for Python 3.13 and later")
    make_solver_fail(ClarabelEngine, Termination.ERROR)
    program = Program("cone")
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(norm(x) <= 1)
    assert tried_solvers(solve(program)) == ["clarabel", "ecos"]


def test_the_next_solver_is_tried_after_a_limit_of_the_solver(make_solver_fail: Fails) -> None:
    make_solver_fail(ClarabelEngine, Termination.LIMIT)
    result = solve(quadratic(), time_limit=60)
    assert (result.termination, tried_solvers(result)) == (Termination.OPTIMAL, ["clarabel", "highs"])
    assert result.attempts[0].termination is Termination.LIMIT


def test_the_time_limit_holds_for_all_solvers_together(make_solver_fail: Fails) -> None:
    make_solver_fail(ClarabelEngine, Termination.ERROR)
    result = solve(quadratic(), time_limit=1e-9)
    assert tried_solvers(result) == ["clarabel"]


def test_a_named_solver_has_no_fallback(make_solver_fail: Fails) -> None:
    make_solver_fail(ClarabelEngine, Termination.ERROR)
    assert tried_solvers(solve(quadratic(), "clarabel")) == ["clarabel"]


def test_a_scheme_starts_again_with_the_next_solver(make_solver_fail: Fails) -> None:
    bags = as_bags([np.array([[1.0], [2.0]]), np.array([[-1.0], [0.5]])])
    program = Program("witnesses")
    w = program.variable("w", 1)
    slack = program.variable("slack", 2, lower=0)
    program.minimize(sum_squares(w) + slack.sum())
    program.subject_to(np.array([1.0, -1.0]) * bag_max(bags.instances @ w, bags) >= 1 - slack)
    want = solve(program, "highs")
    make_solver_fail(ClarabelEngine, Termination.STALLED)
    result = solve(program)
    assert (result.scheme, result.solver, tried_solvers(result)) == ("ccp", "highs", ["clarabel", "highs"])
    assert result.objective == pytest.approx(want.objective)


def test_each_program_of_a_shared_session_falls_back_separately(make_solver_fail: Fails) -> None:
    make_solver_fail(ClarabelEngine, Termination.ERROR)
    results = list(solve_each([quadratic(), quadratic(0.5)]))
    assert [tried_solvers(result) for result in results] == [["clarabel", "highs"]] * 2
    assert [result.point for result in results] == [PointStatus.CERTIFIED] * 2


def test_the_error_for_an_unsupported_program_lists_all_reasons() -> None:
    program = Program("concave")
    x = program.variable("x", 2, lower=0, upper=1)
    program.minimize(-sum_squares(x))
    program.subject_to(x.sum() <= 1)
    with pytest.raises((UnsupportedError, ConvexityError), match=r"native.*clarabel.*highs"):
        solve(program)
