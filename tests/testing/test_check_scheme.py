"""check_scheme accepts every scheme of milopt, and describes the error of wrong schemes."""

from __future__ import annotations

import re

import pytest

from milopt import Scheme
from milopt.errors import ParameterError, UnknownNameError
from milopt.schemes.registered import scheme_class, scheme_names
from milopt.testing import ConformanceError, check_scheme, scheme_case_names
from tests.testing import wrong_schemes as wrong

WRONG: list[tuple[Scheme, dict[str, str]]] = [
    (
        wrong.ClaimsOptimal(),
        {"solves dc, two ends": 'it calls 1 optimal, and the optimum is 1.5: a fixed point .* is "stationary"'},
    ),
    (wrong.ClaimsStationary(), {"stationary points": "one convex step from its point leads from .* to "}),
    (wrong.ClaimsInfeasible(), {"solves dc, two ends": "the optimum is 1.5, and the result is infeasible"}),
    (
        wrong.ReportsTheStep(),
        {"solves dc, margins on a line": "it reports the objective .*, and the declared objective at its point is"},
    ),
    (wrong.IgnoresTheClock(), {"time limit, between steps": "after the time was over: pass the clock on to every"}),
    (
        wrong.ChangesTheProgram(),
        {"the problem stays as it is": "it changes the constraints of the program that it gets .*: solve a copy"},
    ),
    (wrong.KeepsNoSteps(), {"steps, one after the other": "no step is recorded .*: yield a Step after each step"}),
    (wrong.RisesAgain(), {"descent": "it states that it descends, and its objective goes from"}),
    (wrong.DrawsWithoutASeed(), {"the same result twice": "two runs end with .*must start from a seed"}),
    (wrong.RefusesWithoutWords(), {"unsupported reason": "unsupported_reason must return a sentence or None, not ''"}),
    (wrong.NeedsAParameter(3), {"members": "every parameter needs a default, .* made by its name"}),
]


@pytest.mark.parametrize("name", scheme_names())
def test_every_registered_scheme_passes(name: str) -> None:
    report = check_scheme(scheme_class(name)())
    assert len(report.passed) >= 10
    assert "saved by its name" in report.passed


def test_schemes_pass_with_another_solver_of_the_steps() -> None:
    report = check_scheme(scheme_class("exact")(), solver="highs")
    assert "solves milp, knapsack" in report.passed
    assert "solves dc, Hilbert ball" in report.left_out


def test_the_procedure_under_another_name_passes() -> None:
    assert len(check_scheme(wrong.RenamedProcedure()).passed) >= 17


@pytest.mark.parametrize(("scheme", "expected"), WRONG, ids=lambda scheme: type(scheme).__name__)
def test_wrong_scheme_is_rejected_with_a_description(scheme: Scheme, expected: dict[str, str]) -> None:
    with pytest.raises(ConformanceError) as caught:
        check_scheme(scheme, only=list(expected))
    failed = caught.value.report.failed
    assert list(failed) == list(expected)
    for case, pattern in expected.items():
        assert re.search(pattern, failed[case]), failed[case]


def test_no_exception_covers_a_wrong_optimum() -> None:
    case = "solves dc, two ends"
    with pytest.raises(ConformanceError, match="no exception covers a wrong answer"):
        check_scheme(wrong.ClaimsOptimal(), except_for={case: "good enough"}, only=[case])


def test_exceptions_are_stated_by_the_author() -> None:
    reason = {"descent": "it restarts"}
    assert check_scheme(wrong.RisesAgain(), except_for=reason, only=["descent"]).excepted == reason
    with pytest.raises(UnknownNameError, match='No case is called "monotone"'):
        check_scheme(wrong.RisesAgain(), except_for={"monotone": "it restarts"})


def test_subject_must_be_a_scheme() -> None:
    with pytest.raises(ParameterError, match=r"check_scheme needs a scheme, as in check_scheme\(MyScheme\(\)\)"):
        check_scheme("ccp")  # type: ignore[arg-type]
    assert "descent" in scheme_case_names()
