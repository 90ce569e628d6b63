"""`compare(program)`: results of all solvers for one program, their agreement, and unsupported solvers."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Program, compare, norm1
from milopt.errors import ParameterError, UnknownNameError


def diet(rows: float = 4.0) -> Program:
    program = Program("diet")
    x = program.variable("x", 2, lower=0, upper=10)
    program.minimize(2 * x[0] + 3 * x[1])
    program.subject_to(x.sum() >= rows, name="need")
    return program


def test_each_row_has_the_numbers_of_solve() -> None:
    program = diet()
    comparison = compare(program, solvers=["highs", "clarabel", "native"])
    assert [row.solver for row in comparison.rows] == ["highs", "clarabel", "native"]
    for row in comparison.rows:
        alone = milopt.solve(diet(), row.solver)
        assert (row.termination, row.point) == (alone.termination, alone.point)
        assert row.objective == pytest.approx(alone.objective, abs=1e-9)
        assert row.certificate.worst <= 1e-6
        assert row.seconds > 0
        assert comparison.results[row.solver].duals[program.constraints["need"]] == pytest.approx(2.0)
    assert comparison.agreement.agree
    assert "3 solvers agree: relative difference at most" in str(comparison)
    assert "diet: LP, 1 rows, 2 columns" in str(comparison)


def test_unsupported_solvers_have_a_reason_and_no_result() -> None:
    integer = Program("integer")
    y = integer.variable("y", lower=0, upper=5, integer=True)
    integer.minimize(y)
    integer.subject_to(2 * y >= 3)
    comparison = compare(integer, solvers="highs, clarabel")
    reasons_not_run = {row.solver: row.reason for row in comparison.rows if row.is_not_run}
    assert reasons_not_run.keys() == {"clarabel"}
    assert "integer variables" in reasons_not_run["clarabel"]
    assert reasons_not_run["clarabel"] == {row.solver: row.reason for row in milopt.explain(integer)}["clarabel"]
    assert "clarabel  not supported [1]" in str(comparison)
    assert "[1] clarabel: the program is of kind MILP" in str(comparison)
    assert comparison.results["highs"].objective == pytest.approx(2.0)
    with pytest.raises(UnknownNameError, match="no solver 'clarabel'; it has highs"):
        comparison.results["clarabel"]
    assert str(comparison.agreement) == "only highs has a certified point"


def test_all_installed_solvers_are_compared_if_none_are_named() -> None:
    comparison = compare(diet())
    assert {row.solver for row in comparison.rows} >= {"highs", "clarabel", "ecos", "native", "libsvm"}
    assert {row.solver for row in comparison.rows if not row.is_not_run} == comparison.results.keys()
    assert comparison.agreement.agree


@pytest.mark.parametrize(("maximizes", "objective"), [(False, np.inf), (True, -np.inf)])
def test_solvers_agree_that_a_program_is_infeasible(maximizes: bool, objective: float) -> None:
    program = diet(rows=30.0)
    if maximizes:
        program.maximize(program.variables["x"].sum())
    comparison = compare(program, solvers=["highs", "clarabel"])
    assert [row.objective for row in comparison.rows] == [objective, objective]
    assert str(comparison.agreement) == "2 solvers agree: infeasible"


def test_objectives_that_differ_are_reported() -> None:
    from dataclasses import replace

    comparison = compare(diet(), solvers=["highs", "clarabel", "ecos"])
    off = replace(comparison.rows[1], objective=9.0)
    wrong = replace(comparison, rows=(comparison.rows[0], off, comparison.rows[2]))
    assert wrong.agreement.agree is False
    assert "objectives differ: clarabel by 1.2e-01 (relative to highs)" in str(wrong)
    lost = replace(comparison.rows[1], objective=np.inf, termination="infeasible", point="none")
    assert replace(comparison, rows=(comparison.rows[0], lost)).agreement.agree is False


def test_a_scheme_and_options_are_passed_on() -> None:
    program = Program("dc")
    y = program.variable("y", 2, lower=-1, upper=1)
    program.minimize(-norm1(y) + 0.1 * y.sum())
    comparison = compare(program, solvers=["highs", "clarabel"], scheme="ccp", options=milopt.Options(verbose=True))
    assert [row.termination for row in comparison.rows] == ["stationary", "stationary"]
    assert comparison.results["clarabel"].log
    failed = compare(program, solvers="highs", scheme="direct")
    assert "is a DC program" in failed.rows[0].reason
    assert not failed.rows[0].is_not_run


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: compare(p, "mi-svm"), "The comparison of a program has the arguments"),
        (lambda p: compare(p, folds=3), "The comparison of a program has the arguments"),
        (lambda p: compare(p, solvers=[]), "There is no solver to compare"),
        (lambda p: compare(p, solvers="hihgs"), "hihgs"),
        (lambda p: compare(p, solvers="highs", scheme="cpp"), "cpp"),
        (lambda p: compare(p, options=3), "options must be an Options object"),
        (lambda _: compare("musk1", "mi-svm", scheme="ccp"), "scheme= belongs to the comparison of a program"),
    ],
)
def test_bad_arguments_raise_errors(call, sentence: str) -> None:
    with pytest.raises((ParameterError, UnknownNameError), match=sentence):
        call(diet())
