"""Every solver of the registry passes `milopt.testing.check_solver`, case by case, with the exceptions stated here."""

from __future__ import annotations

import pytest

import milopt
from milopt.compilation.features import Feature
from milopt.solving import registry
from milopt.solving.engine import ChangeKind
from milopt.solving.solver_support import supports_features
from milopt.testing import check_solver, solver_case_names
from milopt.testing.known_programs import KNOWN_PROGRAMS, KnownProgram
from milopt.testing.solver_sessions import CHANGE_SEQUENCES, ChangingProgram
from tests.conformance.solvers_under_test import EXCEPTIONS, exceptions_of, is_slow, solver_names

PAIRS = [(name, case) for name in solver_names() for case in solver_case_names(name)]
SHORT = [(name, case) for name, case in PAIRS if not is_slow(name, case)]
LONG = [(name, case) for name, case in PAIRS if is_slow(name, case)]


# Rounding decides whether some exceptions are needed, and it differs between processors.
@pytest.mark.filterwarnings("ignore:.*no exception is needed")
@pytest.mark.parametrize(("name", "case"), SHORT, ids=lambda value: value)
def test_case_passes(name: str, case: str) -> None:
    report = check_solver(name, except_for=exceptions_of(name), only=[case])
    if case in {known.name for known in KNOWN_PROGRAMS} and case in report.left_out:
        _check_unsupported_message(name, case, report.left_out[case])


@pytest.mark.thorough(unless={"name": ["highs", "native"]})
@pytest.mark.filterwarnings("ignore:.*no exception is needed")
@pytest.mark.parametrize(("name", "case"), LONG, ids=lambda value: value)
def test_long_case_passes(name: str, case: str) -> None:
    check_solver(name, except_for=exceptions_of(name), only=[case])


def _check_unsupported_message(name: str, case: str, message: str) -> None:
    """Check that the message is one sentence that lists all solvers which support the program."""
    known = next(known_program for known_program in KNOWN_PROGRAMS if known_program.name == case)
    general = [solver for solver in registry.installed_solvers() if not solver.recognises_patterns]
    able = [solver.name for solver in general if supports_features(solver, known.features, known.cones)]
    assert message.startswith(f"{name} cannot solve")
    assert able
    for other in able:
        assert other in message.rpartition(";")[2], message


def test_all_registered_solvers_are_tested() -> None:
    names = solver_names()
    assert {"highs", "clarabel", "native", "libsvm"} <= set(names)
    assert any(name.startswith("cvxpy:") for name in names)
    assert any(name.startswith("pyomo:") for name in names)


@pytest.mark.parametrize("known", KNOWN_PROGRAMS, ids=str)
def test_every_known_program_is_required_of_some_solver(known: KnownProgram) -> None:
    able = [
        solver.name
        for solver in registry.installed_solvers()
        if supports_features(solver, known.features, known.cones) and (solver.name, known.name) not in EXCEPTIONS
    ]
    assert able


def test_every_change_of_a_form_has_a_case() -> None:
    kinds = {
        change(ChangingProgram(is_curved=False)).kind for changes in CHANGE_SEQUENCES.values() for change in changes
    }
    assert kinds == set(ChangeKind)


def test_exceptions_name_solvers_and_cases_that_exist() -> None:
    prefixes = tuple(spelled.partition(":")[0] for spelled in registry.solver_names())
    cases = set(solver_case_names("highs"))
    for solver, case in EXCEPTIONS:
        assert solver.startswith(prefixes)
        assert case in cases


@pytest.mark.parametrize(
    "known", [known_program for known_program in KNOWN_PROGRAMS if known_program.needs == {Feature.LINEAR}], ids=str
)
def test_auto_chooses_a_solver_that_supports_the_program(known: KnownProgram) -> None:
    expected = known.make()
    result = milopt.solve(expected.program, scheme=known.scheme)
    assert result.termination is known.termination
    assert result.attempts[0].solver == result.solver != "auto"
