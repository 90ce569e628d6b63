"""After each of many random changes, a session has the result of a fresh declaration of the changed program."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import milopt
from milopt import Session
from milopt.compilation.status import PointStatus, Termination
from milopt.outcome.result import Result
from tests.conformance.session_mirror import Mirror

CHANGES = 12
CASES = [("highs", False), ("highs", True), ("clarabel", False), ("clarabel", True), ("native", False), ("auto", True)]


def mirror(seed: int, curved: bool) -> Mirror:
    """Return a mirror with two variables and two blocks with random numbers."""
    numbers = Mirror(np.random.default_rng(seed), curved, maximizes=seed % 2 == 1)
    for name in ("u", "v"):
        numbers.columns[name] = numbers.new_column(3)
    for name in ("first", "second"):
        numbers.blocks[name] = numbers.new_rows(2)
    return numbers


def assert_same_result(result: Result, fresh: Result, story: str) -> None:
    """Assert that two results agree in status, objective, values, multipliers and reduced costs."""
    assert result.termination is fresh.termination, f"{story}: {result} -- {fresh}"
    assert result.point is fresh.point, story
    if fresh.termination is not Termination.OPTIMAL:
        assert result.objective == fresh.objective, story
        return
    assert result.point is PointStatus.CERTIFIED, story
    assert result.objective == pytest.approx(fresh.objective, rel=1e-6, abs=1e-6), story
    assert result.bound == pytest.approx(fresh.bound, rel=1e-5, abs=1e-5), story
    # The numbers are random, so that optima and multipliers are unique.
    for part in ("values", "duals", "reduced_costs"):
        mine, its = getattr(result, part), getattr(fresh, part)
        assert mine.keys() == its.keys(), story
        for name, numbers in its.items():
            np.testing.assert_allclose(mine[name], numbers, rtol=1e-4, atol=1e-4, err_msg=f"{part} {name}: {story}")


def declaration_text(program: milopt.Program) -> str:
    """Return everything that a program declares, as text."""
    return str(program) + program.to_lp() + repr([(c.name, c) for c in program.constraints.values()])


@pytest.mark.parametrize(("solver", "curved"), CASES, ids=lambda case: str(case))
@pytest.mark.parametrize("seed", range(6))
def test_a_session_has_the_result_of_a_fresh_declaration_after_each_change(
    solver: str, curved: bool, seed: int
) -> None:
    numbers = mirror(seed, curved)
    declared = numbers.declared()
    before, ended = declaration_text(declared), Counter[Termination]()
    with Session(declared, solver) as session:
        story = "as declared"
        for _ in range(CHANGES):
            result = session.solve()
            fresh = milopt.solve(numbers.declared(), solver)
            assert_same_result(result, fresh, story)
            ended[result.termination] += 1
            for name, constraint in declared.constraints.items():
                if name in numbers.blocks and result.duals:
                    assert result.duals[constraint] is result.duals[name]
            story += f", {numbers.change(session, declared)}"
    assert declaration_text(declared) == before
    assert ended[Termination.OPTIMAL] > 1


@pytest.mark.parametrize("solver", ["highs", "clarabel", "native"])
def test_the_changes_lead_through_infeasible_and_unbounded_programs(solver: str) -> None:
    ended = Counter[Termination]()
    for seed in range(3):
        numbers = mirror(seed, curved=False)
        declared = numbers.declared()
        with Session(declared, solver) as session:
            numbers._contradiction(session, declared)
            ended[session.solve().termination] += 1
            numbers._delete_rows(session, declared)
            for name in declared.variables:
                session.set_bounds(name, lower=-np.inf, upper=np.inf)
            session.delete(*numbers.blocks)
            result = session.solve()
            assert result.objective == (np.inf if numbers.maximizes else -np.inf)
            ended[result.termination] += 1
    assert ended == {Termination.INFEASIBLE: 3, Termination.UNBOUNDED: 3}
