"""check_solver rejects solvers that are wrong in one way, and describes the error."""

from __future__ import annotations

import re

import pytest

from milopt.errors import MiloptWarning, ParameterError, UnknownNameError
from milopt.solving.solver import Solver
from milopt.testing import ConformanceError, check_solver, solver_case_names
from tests.testing import wrong_solvers as wrong

WRONG = {
    wrong.NegatedMultipliers: {
        "answer, linear": "its multipliers have the opposite sign of milopt's: P x \\+ q = F'z",
        "answer, second-order cone": "opposite sign",
        "answer, quadratic": "opposite sign",
    },
    wrong.OptimalAlways: {
        "claim, infeasible linear": "the program is infeasible, and its raw status is 'PrimalInfeasible', .* optimal",
        "claim, unbounded linear": "the program is unbounded",
    },
    wrong.InfeasibleIfUnsure: {"claim, unbounded linear": "returns as infeasible; return UNBOUNDED if both"},
    wrong.Relaxing: {"answer, integers": r"its point has x\[\d\] = 0\.\d+, which must be an integer"},
    wrong.EndingEarly: {
        "milp, knapsack": "the optimum of the program is 124, and it was called optimal with",
        "answer, integers": "its bound -?[0-9.]+ is above the optimum",
    },
    wrong.IgnoringTimeLimit: {
        "time limit": "with a time limit of .* it took .*: pass the limit on to the solver, or state in"
    },
    wrong.UnknownStatus: {"time limit": "at a time limit, it returns error .*; return Termination.LIMIT"},
    wrong.DroppingConeRow: {
        "answer, second-order cone": "the program has an optimum, and it ended as unbounded",
        "socp, ball": "the optimum of the program is -43, and it ended as",
    },
    wrong.WithoutBounds: {"answer, linear": "P x . q - F'z|whose bounds are|has an optimum, and it ended as"},
    wrong.WithoutCurvature: {"answer, quadratic": "it calls the program optimal, but P x \\+ q - F'z is"},
    wrong.Stale: {"session, other offsets, linear": "after update with OFFSET .*its answer is not that of the changed"},
    wrong.Writing: {"engine, the form stays as it is": "changes q of the form, which milopt needs"},
    wrong.Sharing: {"engine, two at the same time": "after another engine of the solver has solved another program"},
    wrong.Loud: {"options, quiet unless verbose": "it prints without verbose; put its output into Answer.log"},
    wrong.IgnoringOptions: {"options, unknown extra": "it ignores an unknown option in `extra`"},
    wrong.RankedByText: {"members, rank": "rank must return a number or None, not 'first'"},
    wrong.RefusingWithoutWords: {
        "members, unsupported reason": "unsupported_reason must return a sentence or None, not ''"
    },
    wrong.RefusingMuch: {"qp": "it states that it supports a convex quadratic objective, linear rows, and rejects"},
    wrong.Importing: {"availability without an import": "its module or availability imports clarabel"},
    wrong.UnknownCone: {"members, features and cones": "cones names second order, which milopt does not support"},
    wrong.WithoutBound: {"answer, integers": "it returns no bound for an integer program"},
    wrong.ReturningTuples: {"answer, linear": "solve must return an Answer, not tuple"},
}
TAKING_SECONDS = ("time limit", "Ctrl-C")
QUICK = [case for case in solver_case_names("highs") if case not in TAKING_SECONDS]


def test_correct_wrapped_solver_passes() -> None:
    scaled = {"lp, columns scaled by 1e6": "stops as AlmostSolved"}
    report = check_solver(wrong.Honest(), except_for=scaled, only=QUICK)
    assert not report.failed
    assert len(report.passed) > 80
    assert report.excepted == scaled
    assert "milp, knapsack" in report.left_out


@pytest.mark.parametrize("cls", WRONG, ids=lambda cls: cls.__name__)
def test_wrong_solver_is_rejected_with_a_description(cls: type[Solver]) -> None:
    expected = WRONG[cls]
    with pytest.raises(ConformanceError) as caught:
        check_solver(cls(), only=list(expected))
    failed = caught.value.report.failed
    assert list(failed) == [case for case in solver_case_names(cls()) if case in expected]
    for case, pattern in expected.items():
        assert re.search(pattern, failed[case]), failed[case]
        assert failed[case] in str(caught.value)


@pytest.mark.parametrize("cls", [wrong.Relaxing, wrong.DroppingConeRow, wrong.WithoutBounds, wrong.OptimalAlways])
def test_wrong_solver_fails_in_a_run_of_all_quick_cases(cls: type[Solver]) -> None:
    with pytest.raises(ConformanceError) as caught:
        check_solver(cls(), only=QUICK)
    report = caught.value.report
    assert report.failed
    assert report.passed, "correct cases are still reported"
    assert str(report).startswith(f"wrong: {len(report.passed)} cases passed, {len(report.failed)} failed")


def test_no_exception_covers_a_wrong_answer() -> None:
    exceptions = {"milp, knapsack": "stops early", "answer, integers": "stops early"}
    with pytest.raises(ConformanceError, match="no exception covers a wrong answer") as caught:
        check_solver(wrong.EndingEarly(), except_for=exceptions, only=list(exceptions))
    assert set(caught.value.report.failed) == set(exceptions)


def test_exception_that_is_not_needed_is_reported() -> None:
    with pytest.warns(MiloptWarning, match="highs passes 'lp': no exception is needed"):
        report = check_solver("highs", except_for={"lp": "a guess"}, only=["lp"])
    assert report.unneeded == {"lp": "a guess"}
    assert "excepted and passed: lp (a guess)" in str(report)


def test_exceptions_need_a_case_and_a_reason() -> None:
    with pytest.raises(UnknownNameError, match='No case is called "qp, badly scaled"'):
        check_solver("highs", except_for={"qp, badly scaled": "first-order method"})
    with pytest.raises(ParameterError, match="The exception for 'lp' needs a reason as text, not ' '"):
        check_solver("highs", except_for={"lp": " "})
    with pytest.raises(ParameterError, match="except_for must map names of cases to reasons"):
        check_solver("highs", except_for=["lp"])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"only must be a list of names of cases: write \['lp'\]"):
        check_solver("highs", only="lp")


def test_subject_must_be_a_solver() -> None:
    with pytest.raises(ParameterError, match=r"check_solver needs a solver, as in check_solver\(MySolver\(\)\)"):
        check_solver(wrong.Honest)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match='No solver is called "higs"; did you mean "highs"'):
        check_solver("higs")
