"""Sessions of programs with matrices, rows with two sides, conditions and semicontinuous variables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

import milopt
from milopt import Program, Session
from milopt.errors import DeclarationError
from milopt.outcome.result import Result

COST = np.array([[3.0, -1.0], [2.0, 5.0], [-4.0, 1.0]])


def _declared(share: npt.ArrayLike = 2.0, upper: float = 3.0) -> Program:
    program = Program("rows")
    x = program.variable("x", (3, 2), lower=0, upper=upper)
    amount = program.variable("amount", 2, lower=[1, 2], upper=4, semicontinuous=True)
    open_ = program.variable("open", 3, binary=True)
    assert amount.active is not None
    program.maximize((COST * x).sum() - amount.sum() - 2 * open_.sum())
    program.between(1, x.sum(axis=0) - amount, [2.5, np.inf], name="balance")
    program.implies(1 - open_, x.sum(axis=1) <= 0.5, name="closed")
    program.subject_to(x <= np.broadcast_to(share, (3, 2)), name="share")
    program.subject_to(open_.sum() + amount.active.sum() <= 4, name="count")
    return program


def _state(program: Program) -> list[object]:
    bounds = [
        (variable.name, variable.lower.tolist(), variable.upper.tolist(), variable.active)
        for variable in program.variables.values()
    ]
    rows = [(name, block, block.describe(), block.layout, block.shape) for name, block in program.constraints.items()]
    return [bounds, rows, program.objective, program.maximizes, program.labels]


def _assert_same_result(session_result: Result, fresh: Result) -> None:
    for result in (session_result, fresh):
        result.require_certified()
    assert session_result.objective == pytest.approx(fresh.objective)
    assert list(session_result.values) == list(fresh.values)
    for part in ("values", "duals", "reduced_costs"):
        for name, expected in getattr(fresh, part).items():
            assert getattr(session_result, part)[name].shape == expected.shape
    for name, block in fresh.program.core.constraints.items():
        slack = session_result.value(session_result.program.core.constraints[name])
        assert slack.shape == block.shape
        assert (slack > -1e-6).all()


def test_a_session_agrees_with_a_fresh_solve_and_does_not_change_the_program() -> None:
    program = _declared()
    x, before = program.variables["x"], _state(program)
    with Session(program, "highs") as session:
        _assert_same_result(session.solve(), milopt.solve(program, "highs"))
        copied = session.program.variables["amount"]
        assert copied.active is session.program.variables["amount.active"]
        assert copied is not program.variables["amount"]
        share = np.array([[1.0, 2.0], [0.5, 1.5], [np.pi, 0.25]])
        session.set_rhs("share", share)
        session_result = session.solve()
        _assert_same_result(session_result, milopt.solve(_declared(share), "highs"))
        assert session_result.value(x).shape == (3, 2)
        assert session_result.value(program.constraints["balance"])[1] >= 0
        assert session.rebuilds == 0
    assert _state(program) == before
    _assert_same_result(milopt.solve(program, "highs"), milopt.solve(_declared(), "highs"))


def test_bounds_can_change_after_rows_that_depend_on_them_are_deleted() -> None:
    program = _declared(5.0)
    x, open_ = program.variables["x"], program.variables["open"]
    with Session(program, "highs") as session:
        with pytest.raises(DeclarationError, match="'closed' holds under a condition, with the bounds that 'x' has"):
            session.set_bounds(x, upper=4)
        with pytest.raises(DeclarationError, match="with the bounds that 'open' has"):
            session.set_bounds(open_[0], lower=1)
        with pytest.raises(DeclarationError, match=r"'amount' is semicontinuous: its bounds are in .* 'amount.range'"):
            session.set_bounds("amount", upper=9)
        session.delete("closed")
        session.set_bounds(x, upper=5)
        session.set_bounds(x[:, 1], upper=4.5)
        session.set_bounds(x[:, 1], upper=np.full(3, 5.0))
        with pytest.raises(DeclarationError, match="add it by session"):
            session.subject_to(program.constraints["closed"])
        block = session.implies(1 - open_, x.sum(axis=1) <= 0.5, name="closed")
        session_result = session.solve()
        _assert_same_result(session_result, milopt.solve(_declared(5.0, upper=5.0), "highs"))
        assert (session_result.value(block) >= -1e-6).all()
    assert milopt.solve(program, "highs").objective < session_result.objective - 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: s.set_rhs("closed", 1), "hold under a condition, and depend on the bounds of their variables"),
        (lambda s: s.set_coefficients("closed", "x", np.ones((3, 3, 2))), "hold under a condition"),
        (lambda s: s.variable("y", rows={"closed": np.ones(3)}), "hold under a condition"),
        (lambda s: s.delete("x"), "hold under a condition"),
        (lambda s: s.set_rhs("balance", 1), "The rows of 'balance' have two sides, not one right-hand side"),
        (lambda s: s.set_coefficients("amount.range", "amount.active", np.eye(2)), "occurs in a bound of the rows"),
        (lambda s: s.set_coefficients("share", "x", np.ones((6, 6))), r"must have shape \(3, 2, 3, 2\), not \(6, 6\)"),
        (lambda s: s.set_rhs("share", np.ones(6)), r"has shape \(3, 2\), not \(6,\)"),
        (lambda s: s.between(3, "x", 1), "Expected numbers or an expression"),
        (lambda s: s.implies(s.program.variables["open"][0], 3), "must be a comparison of expressions"),
    ],
)
def test_a_rejected_change_leaves_the_session_as_it_was(change, sentence) -> None:
    with Session(_declared(), "highs") as session:
        before = _state(session.program)
        with pytest.raises(DeclarationError, match=sentence):
            change(session)
        assert _state(session.program) == before
        _assert_same_result(session.solve(), milopt.solve(_declared(), "highs"))


def test_coefficients_of_rows_with_two_sides_are_those_of_the_middle() -> None:
    program = Program("interval")
    x = program.variable("x", 2, lower=0, upper=10)
    program.maximize(x.sum())
    rows = program.between([1, -np.inf], x, [3, 4.3], name="rows")
    with Session(program, "highs") as session:
        session.set_coefficients(rows, x, [[1.0, 0.0], [1.0, 2.0]])
        y = session.variable("y", (2, 1), lower=0, upper=1, cost=[[1.0], [2.0]], rows={rows: -np.ones((2, 2, 1))})
        session.between(0, x[0] - x[1], 0.5, name="near")
        result = session.solve().require_certified()
        fresh = Program("interval")
        u, v = fresh.variable("x", 2, lower=0, upper=10), fresh.variable("y", 2, lower=0, upper=1)
        fresh.maximize(u.sum() + v[0] + 2 * v[1])
        fresh.between(1, u[0] - v.sum(), 3, name="first")
        fresh.subject_to(u[0] + 2 * u[1] - v.sum() <= 4.3, name="second")
        fresh.between(0, u[0] - u[1], 0.5, name="near")
        expected = milopt.solve(fresh, "clarabel").require_certified()
        assert result.objective == pytest.approx(expected.objective)
        first, second = float(expected.duals["first"]), -float(expected.duals["second"])
        assert result.duals[rows] == pytest.approx([first, second], abs=1e-6)
        assert result.values[y].shape == (2, 1)
        assert (result.value(y.sum() + x[0]) >= 1).all()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_array, sp.csc_array])
def test_sparse_coefficients_have_one_row_per_row_and_one_column_per_entry(kind) -> None:
    matrix = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, -1.0, 0.0, 3.0]])
    objectives = []
    for values in (matrix.reshape(2, 2, 2), kind(matrix)):
        program = Program("sparse")
        x = program.variable("x", 2, lower=0)
        program.minimize(x.sum())
        program.subject_to(x >= [3, 4], name="rows")
        with Session(program, "highs") as session:
            session.variable("z", (2, 2), lower=0, upper=1.5, cost=[[0.3, 0.0], [0.0, 0.2]], rows={"rows": values})
            objectives.append(session.solve().require_certified().objective)
    # z = [[0, 0], [1.5, 4 / 3]]
    assert objectives == pytest.approx([4 / 3 * 0.2, 4 / 3 * 0.2])
