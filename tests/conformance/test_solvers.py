"""Every solver of the registry passes `milopt.testing.check_solver`, case by case, with the exceptions stated here."""

from __future__ import annotations

import pytest

import milopt
from milopt.compilation.features import Feature
from milopt.solving import registry
from milopt.solving.engine import What
from milopt.solving.refusal import takes_all
from milopt.testing import check_solver, solver_case_names
from milopt.testing.known_programs import KNOWN_PROGRAMS, KnownProgram
from milopt.testing.solver_sessions import CHANGES, ChangingProgram
from tests.conformance.solvers_under_test import EXCEPTIONS, exceptions_of, solver_names, takes_seconds

PAIRS = [(name, case) for name in solver_names() for case in solver_case_names(name)]
SHORT = [(name, case) for name, case in PAIRS if not takes_seconds(name, case)]
LONG = [(name, case) for name, case in PAIRS if takes_seconds(name, case)]


# Rounding decides whether some exceptions are needed, and it differs between processors.
@pytest.mark.filterwarnings("ignore:.*no exception is needed")
@pytest.mark.parametrize(("name", "case"), SHORT, ids=lambda value: value)
def test_case_passes(name: str, case: str) -> None:
    report = check_solver(name, except_for=exceptions_of(name), only=[case])
    if case in {known.name for known in KNOWN_PROGRAMS} and case in report.left_out:
        _check_refusal(name, case, report.left_out[case])


@pytest.mark.thorough(unless={"name": ["highs", "clarabel", "native"]})
@pytest.mark.filterwarnings("ignore:.*no exception is needed")
@pytest.mark.parametrize(("name", "case"), LONG, ids=lambda value: value)
def test_long_case_passes(name: str, case: str) -> None:
    check_solver(name, except_for=exceptions_of(name), only=[case])


def _check_refusal(name: str, case: str, message: str) -> None:
    """Check that a refusal is one sentence with everybody who could, and that somebody could."""
    known = next(one for one in KNOWN_PROGRAMS if one.name == case)
    general = [solver for solver in registry.plain_solvers() if not solver.recognises_patterns]
    able = [solver.name for solver in general if takes_all(solver, known.features, known.cones)]
    assert message.startswith(f"{name} cannot take")
    assert able
    for other in able:
        assert other in message.rpartition(";")[2], message


def test_registry_reaches_the_suite() -> None:
    names = solver_names()
    assert {"highs", "clarabel", "native", "libsvm"} <= set(names)
    assert any(name.startswith("cvxpy:") for name in names)
    assert any(name.startswith("pyomo:") for name in names)


@pytest.mark.parametrize("known", KNOWN_PROGRAMS, ids=str)
def test_some_solver_is_held_to_the_answer_of_every_program(known: KnownProgram) -> None:
    able = [
        solver.name
        for solver in registry.plain_solvers()
        if takes_all(solver, known.features, known.cones) and (solver.name, known.name) not in EXCEPTIONS
    ]
    assert able


def test_every_change_of_a_form_has_a_case() -> None:
    told = {change(ChangingProgram(is_curved=False)).what for changes in CHANGES.values() for change in changes}
    assert told == set(What)


def test_exceptions_name_solvers_and_cases_that_exist() -> None:
    prefixes = tuple(spelled.partition(":")[0] for spelled in registry.names())
    cases = set(solver_case_names("highs"))
    for solver, case in EXCEPTIONS:
        assert solver.startswith(prefixes)
        assert case in cases


@pytest.mark.parametrize("known", [one for one in KNOWN_PROGRAMS if one.needs == {Feature.LINEAR}], ids=str)
def test_auto_chooses_a_solver_that_takes_it(known: KnownProgram) -> None:
    expected = known.make()
    result = milopt.solve(expected.program, scheme=known.scheme)
    assert result.termination is known.termination
    assert result.attempts[0].solver == result.solver != "auto"
