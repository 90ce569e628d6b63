"""Every solver of the registry on every family: the known optimum with its certificate, or an honest refusal."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt.errors import UnsupportedError
from milopt.outcome.result import Result
from milopt.outcome.status import PointStatus, Termination
from milopt.solving import registry
from milopt.solving.solver import Feature, Solver
from tests.conformance.families import FAMILIES
from tests.conformance.family import Expected, Family
from tests.conformance.solvers_under_test import HONEST, SLOW, solver_names, too_slow

PATTERNS = ("native", "libsvm")
"""Solvers that take only what they recognise; everybody else takes all that its features say."""

PAIRS = [
    pytest.param(name, family, id=f"{family}-{name}")
    for family in FAMILIES
    for name in solver_names()
    if not too_slow(name, family.name)
]

HONEST_ENDS = (Termination.STALLED, Termination.LIMIT, Termination.ERROR)


@pytest.mark.parametrize(("name", "family"), PAIRS)
def test_optimum_is_found_and_proved_or_the_program_is_refused(name: str, family: Family) -> None:
    expected = family.make()
    solver = registry.get(name)
    lacking = family.needs - _taken(solver, family)
    result, refused = _attempt(expected, name, family)
    if result is None:
        assert lacking or name in PATTERNS, f"{name} has all that {family} needs, and refused: {refused}"
        _check_refusal(name, family, refused)
        return
    assert not lacking, f"{name} lacks {lacking} and did not refuse"
    if (name, family.name) in HONEST and result.termination in HONEST_ENDS:
        assert result.point is not PointStatus.CERTIFIED
        assert result.exit_code == 3
        return
    assert result.termination is family.termination, str(result)
    if family.termination is Termination.OPTIMAL:
        _check_optimum(expected, result)
    else:
        assert result.point is PointStatus.NONE
        assert not result.values
        far = np.inf if family.termination is Termination.INFEASIBLE else -np.inf
        known = family.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED)
        turned = -far if result.program.maximizes else far
        assert result.objective == turned if known else np.isnan(result.objective)
        assert family.blames in result.message


def _taken(solver: Solver, family: Family) -> frozenset[Feature | str]:
    """Return what a solver takes of a family; an exact search may work with or without integers."""
    if Feature.INTEGER in family.needs:
        return solver.features | solver.integer_cones
    return solver.features | solver.cones | (solver.integer_cones if family.scheme == "exact" else frozenset())


def _attempt(expected: Expected, name: str, family: Family) -> tuple[Result | None, str]:
    """The result, or None and the words of the refusal."""
    try:
        return milopt.solve(expected.program, name, scheme=family.scheme), ""
    except UnsupportedError as refusal:
        return None, str(refusal)


def _check_refusal(name: str, family: Family, message: str) -> None:
    """Said in one sentence, with everybody who could, and at least one of them."""
    plain = [solver for solver in registry.plain_solvers() if solver.name not in PATTERNS]
    integer = Feature.INTEGER in family.needs
    able = [s.name for s in plain if family.needs <= s.features | (s.integer_cones if integer else s.cones)]
    assert message.startswith(f"{name} cannot take")
    assert able
    for other in able:
        assert other in message.rpartition(";")[2], message


def _check_optimum(expected: Expected, result: Result) -> None:
    assert result.point is PointStatus.CERTIFIED
    assert result.certificate is not None
    assert result.certificate.worst <= 1e-6
    assert result.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-6)
    assert result.objective == pytest.approx(float(result.value(expected.program.objective)), rel=1e-9, abs=1e-9)
    # Certificates of 1e-6 leave the points of flat optima and the multipliers that much freer.
    for block, values in expected.values.items():
        assert result.values[block] == pytest.approx(values, rel=1e-4, abs=1e-4), block
    integer = any(variable.integer for variable in expected.program.variables.values())
    for block, multipliers in expected.duals.items() if not integer else ():
        assert result.duals[block] == pytest.approx(multipliers, rel=1e-4, abs=1e-4), block


def test_registry_reaches_the_suite() -> None:
    names = solver_names()
    assert {"highs", "clarabel", "native", "libsvm"} <= set(names)
    assert any(name.startswith("cvxpy:") for name in names)
    assert any(name.startswith("pyomo:") for name in names)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_some_solver_takes_every_family(family: Family) -> None:
    plain = registry.plain_solvers()
    able = [s.name for s in plain if family.needs <= _taken(s, family) and (s.name, family.name) not in HONEST]
    assert able, "no solver is held to the optimum of this family"


def test_exclusions_name_solvers_and_families_that_exist() -> None:
    families = {family.name for family in FAMILIES}
    prefixes = tuple(spelled.partition(":")[0] for spelled in registry.names())
    for solver, family in (*HONEST, *SLOW):
        assert solver.startswith(prefixes)
        assert family in families


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.needs == frozenset({Feature.LINEAR})], ids=str)
def test_auto_chooses_a_solver_that_takes_it(family: Family) -> None:
    expected = family.make()
    result = milopt.solve(expected.program, scheme=family.scheme)
    assert result.termination is family.termination
    assert result.attempts[0].solver == result.solver != "auto"
