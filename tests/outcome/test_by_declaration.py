"""Declared objects are keys of a result: multipliers by constraint, values and reduced costs by variable."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import Program, Termination, norm
from milopt.errors import UnknownNameError


def production() -> Program:
    """Return max 3a + 5b  s.t.  a <= 4, 2b <= 12, 3a + 2b <= 18, with a = 2, b = 6 and multipliers 0, 3/2, 1."""
    program = Program("production")
    x = program.variable("x", 2, lower=0)
    program.maximize(3 * x[0] + 5 * x[1])
    program.subject_to(x[0] <= 4, "first")
    program.subject_to(2 * x[1] <= 12, "second")
    program.subject_to(3 * x[0] + 2 * x[1] <= 18, "third")
    return program


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos"])
def test_multipliers_and_slacks_are_found_by_constraint(solver: str) -> None:
    program = production()
    result = milopt.solve(program, solver)
    for name, multiplier, slack in (("first", 0.0, 2.0), ("second", 1.5, 0.0), ("third", 1.0, 0.0)):
        constraint = program.constraints[name]
        assert constraint.name == name
        assert result.duals[constraint] == pytest.approx(multiplier, abs=1e-6)
        assert result.duals[constraint] is result.duals[name]
        assert result.value(constraint) == pytest.approx(slack, abs=1e-6)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_reduced_costs_are_the_multipliers_of_bounds(solver: str) -> None:
    program = Program("bounds")
    x = program.variable("x", 3, lower=[0, -np.inf, -1], upper=[2, 1, 1])
    program.minimize(2 * x[0] - 3 * x[1] + norm(x[2:] - 3))
    result = milopt.solve(program, solver)
    assert result.reduced_costs[x] == pytest.approx([2.0, -3.0, -1.0], abs=1e-6)
    assert result.reduced_costs["x"] is result.reduced_costs[x]
    assert result.values[x] == pytest.approx([0.0, 1.0, 1.0], abs=1e-6)


def test_each_call_of_subject_to_returns_a_named_block() -> None:
    program = Program("twice")
    x = program.variable("x", lower=0)
    program.minimize(x)
    row = x >= 1
    first, second = program.subject_to(row), program.subject_to(row, "again")
    assert (first.name, second.name) == ("rows0", "again")
    result = milopt.solve(program, "highs")
    assert float(result.duals[first] + result.duals[second]) == pytest.approx(1.0)


def test_an_unknown_constraint_raises_an_error_that_lists_the_names() -> None:
    program = production()
    x = program.variables["x"]
    result = milopt.solve(program, "highs")
    with pytest.raises(UnknownNameError, match="it has first, second, third"):
        result.duals[x[0] <= 4]
    with pytest.raises(UnknownNameError, match="it has x"):
        result.values[Program("other").variable("x", 2)]


def test_scalars_have_the_empty_shape() -> None:
    program = production()
    x = program.variables["x"]
    result = milopt.solve(program, "highs")
    assert result.value(x.sum()).shape == result.value(program.constraints["first"]).shape == ()
    assert result.duals["first"].shape == ()
    assert result.value(x).shape == result.reduced_costs[x].shape == (2,)


def test_statuses_are_equal_to_their_names() -> None:
    result = milopt.solve(production(), "highs")
    assert result.termination == "optimal"
    assert result.termination is Termination.OPTIMAL
    assert result.point == "certified"
    assert f"{result.termination}, {result.point}" == "optimal, certified"


@pytest.mark.parametrize(("maximize", "infeasible", "unbounded"), [(False, np.inf, -np.inf), (True, -np.inf, np.inf)])
def test_the_objective_of_an_infeasible_or_unbounded_program_is_infinite(
    maximize: bool, infeasible: float, unbounded: float
) -> None:
    program = Program("limits")
    t = program.variable("t")
    (program.maximize if maximize else program.minimize)(t)
    assert milopt.solve(program, "highs").objective == unbounded
    program.subject_to(t >= 1)
    program.subject_to(t <= 0)
    result = milopt.solve(program, "highs")
    assert result.objective == infeasible
    assert "No point satisfies all constraints" in str(result)
