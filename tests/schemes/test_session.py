"""A session has the methods of a program, and does not change the program that it was given."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Program, Session, as_bags, bag_max, log_sum_exp, norm, norm1, square, sum_squares
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.programs.expression import Constraint
from milopt.declaration.programs.leaves import Variable
from milopt.errors import ConvexityError, DeclarationError, UnknownNameError, UnsupportedError

RNG = np.random.default_rng(5)
BAGS = as_bags([RNG.normal(size=(3, 2)) for _ in range(6)])
Y = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])


def diet() -> tuple[Program, Variable, Constraint]:
    program = Program("diet")
    x = program.variable("x", 2, lower=0)
    program.minimize(2 * x[0] + 3 * x[1])
    return program, x, program.subject_to(x.sum() >= 4, name="need")


# -- results -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native", "auto"])
def test_a_session_returns_the_same_result_as_solve(solver: str) -> None:
    program, x, need = diet()
    with Session(program, solver) as session:
        session_result = session.solve()
    alone = milopt.solve(program, solver)
    assert session_result.solver == alone.solver
    assert session_result.scheme == alone.scheme
    assert [attempt.solver for attempt in session_result.attempts] == [attempt.solver for attempt in alone.attempts]
    assert (session_result.termination, session_result.point) == (alone.termination, alone.point)
    assert session_result.objective == pytest.approx(alone.objective)
    assert session_result.values[x] == pytest.approx(alone.values["x"], abs=1e-6)
    assert session_result.duals[need] == pytest.approx(alone.duals["need"])
    assert session_result.reduced_costs[x] == pytest.approx(alone.reduced_costs["x"], abs=1e-6)
    assert session_result.value(x.sum() - 1) == pytest.approx(3.0)
    assert session_result.value(need) == pytest.approx(0.0, abs=1e-6)


def test_a_maximum_has_the_declared_sign() -> None:
    program = Program("most")
    x = program.variable("x", 2, lower=0)
    program.maximize(x[0] + 2 * x[1] + 1)
    cap = program.subject_to(x.sum() <= 3)
    with Session(program, "highs") as session:
        assert session.solve().objective == pytest.approx(7.0)
        session.set_cost(x[0], 5)
        session_result = session.solve()
        assert (session_result.objective, session_result.bound) == (pytest.approx(16.0), pytest.approx(16.0))
        session.delete(cap)
        assert session.solve().objective == np.inf
        session.subject_to(x.sum() <= -1)
        session_result = session.solve()
        assert (session_result.termination, session_result.objective) == (Termination.INFEASIBLE, -np.inf)


def test_an_older_result_still_refers_to_the_program_that_it_solved() -> None:
    program, x, need = diet()
    price = program.parameter("price")
    price.value = 1.0
    program.minimize(price * (2 * x[0] + 3 * x[1]))
    with Session(program, "highs") as session:
        y = session.variable("y", lower=0, upper=1, cost=1.0, rows={need: 1.0})
        first = session.solve()
        session.set_parameter(price, 10.0)
        session.delete(y)
        late = session.variable("late", lower=0)
        second = session.solve()
    assert first.value(price * x[0] + y) == pytest.approx(4.0)
    assert first.values[y] == pytest.approx(1.0)
    assert second.value(price * x[0]) == pytest.approx(40.0)
    with pytest.raises(UnknownNameError, match="no variable late; it has x, y"):
        first.values[late]
    with pytest.raises(UnknownNameError, match="no variable y; it has x, late"):
        second.values[y]
    with pytest.raises(DeclarationError, match="y in the expression to evaluate belongs to another program"):
        second.value(y + 1)
    assert second.duals[need] == pytest.approx(20.0)


def test_functions_of_kernels_are_in_the_result() -> None:
    program = Program("ridge")
    f, b = program.function("f", RBF(0.5)), program.variable("b")
    program.minimize(f.norm_squared() + sum_squares(f(BAGS.instances) + b - np.repeat(Y, 3)))
    program.score(lambda new: bag_max(f(new) + b))
    with Session(program, "clarabel") as session:
        free = session.solve()
        session.set_bounds(b, upper=-1.0)
        bound = session.solve()
    assert free.functions[f](BAGS.instances) == pytest.approx(milopt.solve(program).functions["f"](BAGS.instances))
    program.subject_to(b <= -1.0)
    fresh = milopt.solve(program, "clarabel")
    assert bound.values[b] == pytest.approx(-1.0, abs=1e-6)
    assert bound.objective == pytest.approx(fresh.objective)
    assert bound.objective > free.objective + 1e-3
    assert bound.score(BAGS) == pytest.approx(fresh.score(BAGS), abs=1e-5)


def test_a_function_over_a_dictionary_belongs_to_the_session_too() -> None:
    program = Program("dictionary")
    f = program.function("f", RBF(0.5), dictionary=BAGS.instances[:5])
    slack = program.variable("slack", 6, lower=0)
    program.minimize(norm1(f.coefficients) + 2 * slack.sum())
    near = program.subject_to(bag_max(f(BAGS)) <= 0.5 + slack)
    program.subject_to(f(BAGS.instances[:3]) >= 0.2)
    with Session(program, "highs") as session:
        first = session.solve()
        session.set_bounds(f.coefficients, lower=0, upper=0.2)
        session.set_rhs(near, 0.1)
        second = session.solve()
        with pytest.raises(DeclarationError, match="it has the coefficients of the function 'f'"):
            session.delete(f.coefficients)
    again = Program("dictionary")
    g = again.function("f", RBF(0.5), dictionary=BAGS.instances[:5])
    slack = again.variable("slack", 6, lower=0)
    again.minimize(norm1(g.coefficients) + 2 * slack.sum())
    again.subject_to(bag_max(g(BAGS)) <= 0.1 + slack)
    again.subject_to(g(BAGS.instances[:3]) >= 0.2)
    again.subject_to(g.coefficients >= 0)
    again.subject_to(g.coefficients <= 0.2)
    fresh = milopt.solve(again, "highs")
    assert first.objective == pytest.approx(milopt.solve(program, "highs").objective)
    assert (second.termination, second.objective) == (fresh.termination, pytest.approx(fresh.objective))
    assert second.objective > first.objective + 1e-3
    assert second.point is PointStatus.CERTIFIED
    assert second.functions[f](BAGS.instances[:3]) == pytest.approx(second.value(f(BAGS.instances[:3])))


# -- the program of the caller -------------------------------------------------------------------------------------


def test_no_method_changes_the_given_program() -> None:
    program, x, need = diet()
    price = program.parameter("price", 2)
    price.value = np.array([2.0, 3.0])
    program.minimize(price @ x)
    before = str(program), program.to_mps(), repr(need), price.value.tolist(), need.expression, program.objective
    with Session(program, "highs") as session:
        session.set_parameter(price, [5.0, 1.0])
        session.set_bounds(x, lower=1, upper=7)
        session.set_rhs(need, 6)
        session.set_coefficients(need, x, [1.0, 2.0])
        session.subject_to(x[0] - x[1] <= 2, name="apart")
        session.variable("y", 2, lower=0, cost=0.5, rows={"apart": [-1.0, 1.0], "need": [1.0, 1.0]})
        session.replace("apart", x[0] <= 3)
        session.maximize(-x.sum())
        session.delete(x)
        session.solve()
    after = str(program), program.to_mps(), repr(need), price.value.tolist(), need.expression, program.objective
    assert all(first is other or first == other for first, other in zip(after[:4], before[:4], strict=True))
    assert after[4] is before[4]
    assert after[5] is before[5]
    assert milopt.solve(program, "highs").objective == pytest.approx(8.0)


def test_changes_of_the_given_program_do_not_affect_the_session() -> None:
    program, x, _ = diet()
    price = program.parameter("price")
    price.value = 1.0
    program.minimize(price * x.sum())
    with Session(program, "highs") as session:
        price.value = 7.0
        program.subject_to(x[0] >= 100)
        assert session.solve().objective == pytest.approx(4.0)
        assert session.solve().value(price * x.sum()) == pytest.approx(4.0)


def test_two_sessions_of_one_program_are_independent() -> None:
    program, x, need = diet()
    with Session(program, "highs") as first, Session(program, "clarabel") as other:
        first.set_rhs(need, 8)
        other.set_bounds(x[0], upper=1)
        assert first.solve().objective == pytest.approx(16.0)
        assert other.solve().objective == pytest.approx(11.0)
        with Session(first.program, "native") as third:
            third.set_rhs("need", 1)
            assert third.solve().objective == pytest.approx(2.0)
        assert first.solve().objective == pytest.approx(16.0)


# -- signs as written ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "twice"),
    [
        (lambda x: 2 * x[0] - x[1] >= 3, lambda x: 4 * x[0] - x[1] >= 6),
        (lambda x: -2 * x[0] + x[1] <= -3, lambda x: -4 * x[0] + x[1] <= -6),
        (lambda x: 0 * x[0] - x[1] >= 3 - 2 * x[0], lambda x: -x[1] >= 6 - 4 * x[0]),
        (lambda x: x[1] + 3 <= 2 * x[0], lambda x: x[1] + 6 <= 4 * x[0]),
        (lambda x: 2 * x[0] == x[1] + 3, lambda x: 4 * x[0] == x[1] + 6),
    ],
)
@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_coefficients_and_right_hand_sides_have_the_sign_as_written(solver: str, write, twice) -> None:
    def declared(row) -> Program:
        program = Program("signs")
        x = program.variable("x", 2, lower=0, upper=5)
        program.minimize(x[0] + 2 * x[1] + sum_squares(x - 1))
        program.subject_to(row(x), name="row")
        return program

    program = declared(write)
    row = program.constraints["row"]
    _, sense, _ = row.compared
    sign = -1.0 if sense == "<=" else 1.0  # All rows mean 2 x0 - x1 >= 3, in several ways.
    x = program.variables["x"]
    with Session(program, solver) as session:
        session.solve()
        session.set_coefficients(row, x[0], sign * 4.0)
        session.set_rhs(row, sign * 6.0)
        session_result, fresh = session.solve(), milopt.solve(declared(twice), solver)
        assert repr(session.program.constraints["row"]).count(sense) == 1
    assert session_result.values[x] == pytest.approx(fresh.values["x"], abs=1e-5)
    assert session_result.duals[row] == pytest.approx(fresh.duals["row"], abs=1e-5)
    assert session_result.value(session.program.constraints["row"]) == pytest.approx(
        fresh.value(fresh.program.constraints["row"]), abs=1e-5
    )


def test_a_right_hand_side_with_a_parameter_is_set_by_the_parameter() -> None:
    program = Program("parametric")
    x, p = program.variable("x", 2, lower=0), program.parameter("p", 2)
    p.value = np.ones(2)
    program.minimize(x.sum())
    rows = program.subject_to(x >= p, name="rows")
    with Session(program, "highs") as session:
        with pytest.raises(DeclarationError, match="'rows' depends on parameter 'p': set the parameter"):
            session.set_rhs(rows, 3)
        session.set_parameter("p", [2.0, 3.0])
        assert session.solve().objective == pytest.approx(5.0)
        session.set_coefficients(rows, x, 2 * np.eye(2))
        assert session.solve().objective == pytest.approx(2.5)


# -- solvers -------------------------------------------------------------------------------------------------------


def test_a_session_accepts_a_name_a_solver_or_auto() -> None:
    program, _, _ = diet()
    for solver, name in (("highs", "highs"), (milopt.get_solver("clarabel"), "clarabel"), ("auto", "highs")):
        with Session(program, solver) as session:
            assert session.solver.name == name
            assert session.solve().solver == name
    with Session(program, time_limit=5.0, tolerance=1e-5) as session:
        assert (session.options.time_limit, session.options.tolerance) == (5.0, 1e-5)
        assert "'highs'" in repr(session)
    with pytest.raises(UnknownNameError, match="hihgs"):
        Session(program, "hihgs")


@pytest.mark.parametrize("solved_before", [False, True])
def test_auto_switches_to_another_solver_if_a_change_requires_it(solved_before: bool) -> None:
    program, x, _ = diet()
    with Session(program, "auto") as session:
        if solved_before:
            assert session.solve().solver == "highs"
        ball = session.subject_to(norm(x - 3) <= 2)
        session_result = session.solve()
        assert session_result.solver == session.solver.name == "clarabel"
        assert session_result.objective == pytest.approx(milopt.solve(session.program, "ecos").objective, abs=1e-5)
        session.delete(ball)
        assert session.solve().objective == pytest.approx(8.0, abs=1e-6)
    with Session(program, "highs") as session:
        if solved_before:
            session.solve()
            with pytest.raises(UnsupportedError, match="second-order"):
                session.subject_to(norm(x - 3) <= 2)
            assert session.solve().objective == pytest.approx(8.0)


def test_auto_undoes_a_change_that_no_solver_supports() -> None:
    program, x, _ = diet()
    with Session(program, "auto") as session:
        session.solve()
        session.subject_to(milopt.exp(x) <= 1e3, "curve")
        session.solve()
        with pytest.raises(UnsupportedError, match="No installed solver supports 'diet'"):
            session.variable("count", integer=True)
        assert list(session.program.variables) == ["x"]
        assert session.solve().objective == pytest.approx(8.0, abs=1e-6)


def test_a_session_of_highs_does_not_support_integers_with_a_quadratic() -> None:
    program, x, _ = diet()
    program.minimize(sum_squares(x))
    with Session(program, "highs") as session:
        assert session.solve().objective == pytest.approx(8.0)
        with pytest.raises(UnsupportedError, match="a convex quadratic objective with integer variables"):
            session.variable("count", integer=True)
        assert session.solve().objective == pytest.approx(8.0)


def test_integer_variables_can_be_added_to_a_linear_program() -> None:
    program, _, need = diet()
    with Session(program, "highs") as session:
        session.solve()
        y = session.variable("y", lower=0.5, upper=3.7, integer=True, cost=1.5, rows={need: 1.0})
        session_result = session.solve()
        assert session_result.values[y] == pytest.approx(3.0)
        assert session_result.objective == pytest.approx(6.5)
        session.set_bounds(y, upper=2.9)
        assert session.solve().objective == pytest.approx(7.0)
        session.delete(y)
        assert session.solve().objective == pytest.approx(8.0)


def test_a_program_that_needs_witnesses_raises_an_error() -> None:
    program = Program("dc")
    w = program.variable("w", 2, lower=-2, upper=2)
    program.minimize(norm1(w))
    with Session(program, "highs") as session:
        program.subject_to(bag_max(BAGS.instances @ w, BAGS) >= 1)
        with pytest.raises(ConvexityError, match=r'DC program.*scheme="ccp"'):
            Session(program, "highs")
        block = session.subject_to(bag_max(BAGS.instances @ w, BAGS) >= 1)
        with pytest.raises(ConvexityError, match=r'DC program.*scheme="ccp"'):
            session.solve()
        session.delete(block)
        assert session.solve().objective == pytest.approx(0.0, abs=1e-9)


# -- bounds, variables and atoms -----------------------------------------------------------------------------------


def test_changes_of_bounds_do_not_rebuild_the_model_of_highs() -> None:
    program, x, _ = diet()
    with Session(program, "highs") as session:
        session.solve()
        for upper, optimum in ((1.0, 11.0), (3.0, 9.0), (np.inf, 8.0), (0.0, 12.0)):
            session.set_bounds(x[0], upper=upper)
            assert session.solve().objective == pytest.approx(optimum)
        assert session.rebuilds == 0


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_changed_bounds_determine_how_atoms_inside_atoms_are_lowered(solver: str) -> None:
    def declared(lower: float) -> Program:
        program = Program("nested")
        x = program.variable("x", 2, lower=lower, upper=4)
        # The square of a log-sum-exp is convex only if the log-sum-exp is nonnegative.
        program.minimize(square(log_sum_exp(x)) - x.sum())
        return program

    with Session(declared(0.0), solver) as session:
        assert session.solve().point is PointStatus.CERTIFIED
        session.set_bounds("x", lower=1.0)
        fresh = milopt.solve(declared(1.0), solver)
        assert session.solve().objective == pytest.approx(fresh.objective, abs=1e-6)
        with pytest.raises(ConvexityError, match="not monotone"):
            session.set_bounds("x", lower=-3.0)
        assert session.program.variables["x"].lower.tolist() == [1.0, 1.0]
        assert session.solve().objective == pytest.approx(fresh.objective, abs=1e-6)


def test_a_variable_inside_an_atom_is_not_deleted() -> None:
    program, x, need = diet()
    t = program.variable("t", lower=0)
    program.subject_to(norm(x - 1) <= 5 + t, "near")
    with Session(program, "clarabel") as session:
        with pytest.raises(
            DeclarationError, match=r"'x' cannot be deleted: it occurs inside norm\(x - 1\) in constraint 'near'"
        ):
            session.delete(need, x)
        assert list(session.program.constraints) == ["need", "near"]
        session.delete(t)
        assert session.solve().objective == pytest.approx(8.0, abs=1e-6)
        session.delete("near", "x")
        session_result = session.solve()
        assert session_result.termination is Termination.INFEASIBLE  # 0 >= 4 is left of "need".


def test_a_deleted_variable_can_no_longer_be_used() -> None:
    program, x, need = diet()
    with Session(program, "highs") as session:
        y = session.variable("y", lower=0, cost=1.0, rows={need: 1.0})
        assert session.solve().objective == pytest.approx(4.0)
        session.delete(x)
        assert session.solve().objective == pytest.approx(4.0)
        with pytest.raises(DeclarationError, match="Variable 'x' was deleted from program 'diet'"):
            session.subject_to(x[0] + y >= 1)
        z = session.variable("x", lower=0, upper=1, cost=0.5, rows={need: 2.0})
        session_result = session.solve()
        assert (session_result.objective, session_result.values[z]) == (pytest.approx(2.5), pytest.approx(1.0))
        with pytest.raises(UnknownNameError):
            session_result.values[x]


def test_blocks_are_accepted_by_every_constraint_that_referred_to_them() -> None:
    program, x, _ = diet()
    with Session(program, "highs") as session:
        written = x[0] - x[1] <= 1
        added = session.subject_to(written)
        changed = session.replace(added, x[0] <= 2)
        session.set_rhs(written, 3)
        session.variable("y", lower=0, rows={changed: 1.0})
        session_result = session.solve()
        assert session_result.duals[written] is session_result.duals[added] is session_result.duals[changed]
        assert session_result.duals[session.program.constraints[added.name]] == pytest.approx(1.0)
        session.delete(changed)
        for block in (written, added, changed):
            with pytest.raises(UnknownNameError, match="no constraint block"):
                session.set_rhs(block, 1)
        assert session_result.duals[written] == pytest.approx(1.0)
