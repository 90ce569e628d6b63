"""Constraints with two sides, with infinite sides, and with constants only."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt import Program
from milopt.errors import DeclarationError, UncertifiedError
from tests.conformance.solvers_under_test import solver_names

# cvxpy returns 0 for SCIP's multipliers of rows with one entry.
LINEAR = [name for name in solver_names() if name not in ("libsvm", "cvxpy:SCIP")]
ACCURATE = {"cvxpy:SCS": 1e-3, "cvxpy:OSQP": 1e-3}
"""What first-order methods reach; others reach 1e-6."""


def _interval_program() -> Program:
    """Return a program with interval constraints and the solution x = (1, 2, -1).

    max x_0 + 2 x_1 - 3 x_2,  1 <= x_0 + x_1 + x_2 <= 4,  -1 <= x <= (1, 2, inf)
    """
    program = Program("interval")
    x = program.variable("x", 3)
    program.maximize(x @ [1.0, 2.0, -3.0])
    program.between(1, x.sum(), 4, name="total")
    program.between(-1, x, [1, 2, np.inf], name="box")
    return program


@pytest.mark.parametrize("solver", LINEAR)
def test_an_interval_has_one_multiplier_per_row_with_the_sign_of_its_side(solver: str) -> None:
    program = _interval_program()
    result = milopt.solve(program, solver)
    tolerance = ACCURATE.get(solver, 1e-6)
    assert result.termination == "optimal"
    assert result.point == "certified"
    assert result.values["x"] == pytest.approx([1.0, 2.0, -1.0], abs=tolerance)
    # The program as a minimisation: q = (-1, -2, 3) = F'z.
    assert result.duals["box"] == pytest.approx([-1.0, -2.0, 3.0], abs=tolerance)
    assert result.duals[program.constraints["total"]] == pytest.approx(0.0, abs=tolerance)
    assert result.duals["total"].shape == ()
    assert result.value(program.constraints["total"]) == pytest.approx(1.0, abs=tolerance)
    assert result.value(program.constraints["box"]) == pytest.approx([0.0, 0.0, 0.0], abs=tolerance)


def test_intervals_of_random_programs_agree_with_pairs_of_rows() -> None:
    generator = np.random.default_rng(7)
    for _ in range(10):
        A, q = generator.normal(size=(6, 4)), generator.normal(size=4)
        middle = A @ generator.normal(size=4)
        low, high = middle - generator.uniform(0, 1, 6), middle + generator.uniform(0, 1, 6)
        low[generator.random(6) < 0.2], high[generator.random(6) < 0.2] = -np.inf, np.inf
        first, second = Program("one"), Program("two")
        for program in (first, second):
            x = program.variable("x", 4, lower=-3, upper=3)
            program.minimize(q @ x + milopt.sum_squares(x))
        first.between(low, A @ first.variables["x"], high, name="rows")
        second.subject_to(A @ second.variables["x"] >= low, name="above")
        second.subject_to(A @ second.variables["x"] <= high, name="below")
        mine, other = milopt.solve(first, "clarabel"), milopt.solve(second, "clarabel")
        assert mine.point == other.point == "certified"
        assert mine.objective == pytest.approx(other.objective, abs=1e-7)
        assert mine.duals["rows"] == pytest.approx(other.duals["above"] - other.duals["below"], abs=1e-6)


def test_equal_sides_are_an_equation() -> None:
    program = Program()
    x = program.variable("x", 2)
    program.minimize(milopt.sum_squares(x))
    program.between([1, 2], x, [1, 2], name="fixed")
    assert program.constraints["fixed"].equality
    result = milopt.solve(program, "clarabel")
    assert result.duals["fixed"] == pytest.approx([2.0, 4.0], abs=1e-6)


def test_the_sides_of_an_interval_may_contain_variables_and_parameters() -> None:
    program = Program()
    x, y, p = program.variable("x"), program.variable("y", lower=0, upper=3), program.parameter("p")
    p.value = 2.0
    program.maximize(x - 0.5 * y)
    program.between(y, x, p * y, name="cone")
    result = milopt.solve(program, "highs")
    assert result.objective == pytest.approx(4.5)
    assert result.duals["cone"] == pytest.approx(-1.0)


def test_an_atom_in_an_interval_is_convex_only_if_it_is_bounded_from_above() -> None:
    program = Program()
    x = program.variable("x", 2, lower=-5, upper=5)
    program.maximize(x.sum())
    program.between(-np.inf, milopt.norm(x), 1, name="ball")
    result = milopt.solve(program, "clarabel")
    assert result.objective == pytest.approx(np.sqrt(2))
    assert result.duals["ball"] == pytest.approx(-np.sqrt(2), abs=1e-6)
    other = Program()
    y = other.variable("y", 2, lower=-5, upper=5)
    other.between(1, milopt.norm(y), 2)
    assert other.kind == "DC"


@pytest.mark.parametrize("solver", LINEAR)
def test_infinite_sides_are_absent(solver: str) -> None:
    program = Program("absent")
    x = program.variable("x", 3, lower=[0, -np.inf, 0], upper=np.inf)
    program.minimize(x.sum())
    some = program.subject_to(x >= [1, 2, -np.inf], name="some")
    none = program.subject_to(x[:2] <= np.inf, name="none")
    scalar = program.subject_to(-np.inf <= x.sum(), name="scalar")
    result = milopt.solve(program, solver)
    tolerance = ACCURATE.get(solver, 1e-6)
    assert result.point == "certified"
    assert result.objective == pytest.approx(3.0, abs=tolerance)
    assert result.duals[some] == pytest.approx([1.0, 1.0, 0.0], abs=tolerance)
    assert result.duals[some][2] == 0.0
    np.testing.assert_array_equal(result.duals[none], [0.0, 0.0])
    assert result.duals[scalar].shape == ()
    assert result.value(some) == pytest.approx([0.0, 0.0, np.inf], abs=tolerance)
    np.testing.assert_array_equal(result.value(none), [np.inf, np.inf])


def test_absent_rows_stay_absent_in_a_session() -> None:
    program = Program()
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(x >= [1, -np.inf], name="rows")
    with milopt.Session(program, "highs") as session:
        session.variable("y", 1, rows={"rows": [[1.0], [5.0]]}, cost=0.25, lower=0)
        assert session.solve().objective == pytest.approx(0.25)
        session.replace("rows", x >= [-np.inf, 2])
        assert session.solve().objective == pytest.approx(2.0)


def test_new_columns_enter_both_sides_of_an_interval() -> None:
    program = Program()
    x = program.variable("x", lower=0)
    program.maximize(x)
    program.between(1, x, 3, name="rows")
    with milopt.Session(program, "highs") as session:
        session.variable("y", 1, rows={"rows": [-1.0]}, lower=0, upper=2)
        assert session.solve().objective == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda p, x: p.subject_to(x >= np.inf), r"No number satisfies x >= inf: .* in row 0"),
        (lambda p, x: p.subject_to(x <= [1, -np.inf]), r"No number satisfies x <= \[1, -inf\]: .* in row 1"),
        (lambda p, x: p.subject_to(x == [1, np.inf]), r"No number satisfies x == \[1, inf\]: .* in row 1"),
        (lambda p, x: p.between(np.inf, x, np.inf), "No number satisfies inf <= x <= inf"),
        (lambda p, x: p.between([0, 2], x, 1), r"No number satisfies \[0, 2\] <= x <= 1: .* in row 1"),
        (lambda p, x: p.subject_to(x <= np.nan), "NaN"),
        (lambda p, x: p.subject_to(x + np.inf <= 1), "NaN or infinite"),
        (lambda p, x: 0 <= x <= 1, r"write program\.between\(a, e, b\) for a <= e <= b"),
        (lambda p, x: np.zeros(2) <= x <= np.ones(2), r"program\.between"),
        (lambda p, x: p.variable("y", lower=np.inf), "no number is feasible"),
        (lambda p, x: p.between(0, x, np.ones(3)), "do not match"),
    ],
)
def test_sides_without_a_feasible_number_raise_an_error(declare: object, message: str) -> None:
    program = Program()
    x = program.variable("x", 2)
    with pytest.raises(DeclarationError, match=message):
        declare(program, x)  # type: ignore[operator]
    assert not program.constraints


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda p, x: p.subject_to(0 * x[0] <= -1, "c"), "Constraint 'c' has no variables and does not hold: 0 <= -1"),
        (lambda p, x: p.subject_to(x - x >= [0, 3], "c"), "Row 1 of constraint 'c' .* 0 >= 3"),
        (lambda p, x: p.subject_to(np.zeros((3, 2)) @ x == [0, 2, 0], "c"), "Row 1 of constraint 'c' .* 0 == 2"),
        (lambda p, x: p.subject_to(sp.csr_array((3, 2)) @ x == [0, 0, 1], "c"), "Row 2 of constraint 'c'"),
        (lambda p, x: p.between([0, 5], x * [1, 0], [1, 6], "c"), "Row 1 of constraint 'c' .* 5 <= 0 <= 6"),
        (lambda p, x: p.subject_to([0, 0] * x <= [np.inf, -1], "c"), "Row 1 of constraint 'c' .* 0 <= -1"),
        (lambda p, x: p.subject_to(0 * milopt.norm(x) >= 1, "c"), "Constraint 'c'"),
        (lambda p, x: p.replace("first", x[:1] - x[:1] >= 1), "Row 0 of constraint 'first'"),
    ],
)
def test_a_false_constant_row_raises_an_error_with_its_name(declare: object, message: str) -> None:
    program = Program()
    x = program.variable("x", 2)
    program.subject_to(x >= 0, name="first")
    with pytest.raises(DeclarationError, match=message):
        declare(program, x)  # type: ignore[operator]
    assert list(program.constraints) == ["first"]


@pytest.mark.parametrize("solver", LINEAR)
def test_true_constant_rows_have_multiplier_zero(solver: str) -> None:
    program = Program()
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to([1, 0] * x >= [1, -2], name="partly")
    program.subject_to(np.zeros((2, 2)) @ x == 0, name="wholly")
    program.subject_to(0.1 + 0.2 + 0 * x[0] == 0.3, name="rounded")
    program.subject_to(x[1] >= 0)
    result = milopt.solve(program, solver)
    tolerance = ACCURATE.get(solver, 1e-6)
    assert result.point == "certified"
    assert result.duals["partly"] == pytest.approx([1.0, 0.0], abs=tolerance)
    assert result.duals["wholly"] == pytest.approx([0.0, 0.0], abs=tolerance)


def test_parameters_may_make_a_row_true_later() -> None:
    program = Program()
    x, p = program.variable("x", lower=0), program.parameter("p")
    program.minimize(x)
    program.subject_to(p * x >= 1, name="rows")
    program.subject_to(p >= 1, name="parameter")
    p.value = 0.0
    assert milopt.solve(program, "highs").termination == "infeasible"
    p.value = 2.0
    assert milopt.solve(program, "highs").objective == pytest.approx(0.5)


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native"])
def test_an_unchecked_false_constant_row_makes_the_program_infeasible(solver: str) -> None:
    program = Program()
    x = program.variable("x", lower=0)
    program.minimize(x)
    program.add_unchecked(0 * x >= 1, name="false")
    result = milopt.solve(program, solver)
    assert result.termination == "infeasible"
    with pytest.raises(UncertifiedError):
        result.require_certified()


def test_constraints_print_as_they_were_written() -> None:
    program = Program()
    x = program.variable("x", 2)
    assert repr(program.between(0, x, [1, np.inf])) == "0 <= x <= [1, inf]  (2 rows)"
    assert repr(program.between(0, x.sum(), 1)) == "0 <= sum(x) <= 1"
    assert repr(program.subject_to(x >= [-np.inf, 0])) == "x >= [-inf, 0]  (2 rows)"


def test_several_constraints_are_added_at_once() -> None:
    program = Program()
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    low, total = program.subject_to([x[0] >= 2, x.sum() == 5])
    result = milopt.solve(program)
    assert result.objective == pytest.approx(5)
    assert list(program.constraints) == ["rows0", "rows1"]
    assert result.duals[low] == pytest.approx(0)
    assert result.duals[total] == pytest.approx(1)
    with pytest.raises(DeclarationError, match="A name can only be given for one constraint, not for a list of 2"):
        program.subject_to([x[0] >= 2, x.sum() == 5], name="both")  # type: ignore[call-overload]
    with pytest.raises(DeclarationError, match="must be a comparison of expressions"):
        program.subject_to("x >= 0")  # type: ignore[call-overload]
