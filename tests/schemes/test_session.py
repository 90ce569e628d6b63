"""A session speaks the language of the program, and leaves the program as it was."""

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
def test_a_session_returns_what_solve_returns(solver: str) -> None:
    program, x, need = diet()
    with Session(program, solver) as session:
        found = session.solve()
    alone = milopt.solve(program, solver)
    assert found.solver == alone.solver
    assert found.scheme == alone.scheme
    assert [one.solver for one in found.attempts] == [one.solver for one in alone.attempts]
    assert (found.termination, found.point) == (alone.termination, alone.point)
    assert found.objective == pytest.approx(alone.objective)
    assert found.values[x] == pytest.approx(alone.values["x"], abs=1e-6)
    assert found.duals[need] == pytest.approx(alone.duals["need"])
    assert found.reduced_costs[x] == pytest.approx(alone.reduced_costs["x"], abs=1e-6)
    assert found.value(x.sum() - 1) == pytest.approx(3.0)
    assert found.value(need) == pytest.approx(0.0, abs=1e-6)


def test_a_maximum_has_the_declared_sign() -> None:
    program = Program("most")
    x = program.variable("x", 2, lower=0)
    program.maximize(x[0] + 2 * x[1] + 1)
    cap = program.subject_to(x.sum() <= 3)
    with Session(program, "highs") as session:
        assert session.solve().objective == pytest.approx(7.0)
        session.set_cost(x[0], 5)
        found = session.solve()
        assert (found.objective, found.bound) == (pytest.approx(16.0), pytest.approx(16.0))
        session.delete(cap)
        assert session.solve().objective == np.inf
        session.subject_to(x.sum() <= -1)
        found = session.solve()
        assert (found.termination, found.objective) == (Termination.INFEASIBLE, -np.inf)


def test_an_older_result_stays_about_the_program_that_it_solved() -> None:
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
        with pytest.raises(DeclarationError, match="the function 'f' consists of it"):
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


def test_no_verb_changes_the_program_of_the_caller() -> None:
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
    assert all(one is other or one == other for one, other in zip(after[:4], before[:4], strict=True))
    assert after[4] is before[4]
    assert after[5] is before[5]
    assert milopt.solve(program, "highs").objective == pytest.approx(8.0)


def test_what_the_caller_does_to_the_program_does_not_reach_the_session() -> None:
    program, x, _ = diet()
    price = program.parameter("price")
    price.value = 1.0
    program.minimize(price * x.sum())
    with Session(program, "highs") as session:
        price.value = 7.0
        program.subject_to(x[0] >= 100)
        assert session.solve().objective == pytest.approx(4.0)
        assert session.solve().value(price * x.sum()) == pytest.approx(4.0)


def test_two_sessions_of_one_program_are_apart() -> None:
    program, x, need = diet()
    with Session(program, "highs") as one, Session(program, "clarabel") as other:
        one.set_rhs(need, 8)
        other.set_bounds(x[0], upper=1)
        assert one.solve().objective == pytest.approx(16.0)
        assert other.solve().objective == pytest.approx(11.0)
        with Session(one.program, "native") as third:
            third.set_rhs("need", 1)
            assert third.solve().objective == pytest.approx(2.0)
        assert one.solve().objective == pytest.approx(16.0)


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
    sign = -1.0 if sense == "<=" else 1.0  # All rows say 2 x0 - x1 >= 3, in several ways.
    x = program.variables["x"]
    with Session(program, solver) as session:
        session.solve()
        session.set_coefficients(row, x[0], sign * 4.0)
        session.set_rhs(row, sign * 6.0)
        found, fresh = session.solve(), milopt.solve(declared(twice), solver)
        assert repr(session.program.constraints["row"]).count(sense) == 1
    assert found.values[x] == pytest.approx(fresh.values["x"], abs=1e-5)
    assert found.duals[row] == pytest.approx(fresh.duals["row"], abs=1e-5)
    assert found.value(session.program.constraints["row"]) == pytest.approx(
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


def test_a_session_takes_a_name_a_solver_or_auto() -> None:
    program, _, _ = diet()
    for solver, name in (("highs", "highs"), (milopt.get("clarabel"), "clarabel"), ("auto", "highs")):
        with Session(program, solver) as session:
            assert session.solver.name == name
            assert session.solve().solver == name
    with Session(program, time_limit=5.0, tolerance=1e-5) as session:
        assert (session.options.time_limit, session.options.tolerance) == (5.0, 1e-5)
        assert "'highs'" in repr(session)
    with pytest.raises(UnknownNameError, match="hihgs"):
        Session(program, "hihgs")


@pytest.mark.parametrize("solved_before", [False, True])
def test_auto_goes_to_another_solver_if_a_change_asks_for_it(solved_before: bool) -> None:
    program, x, _ = diet()
    with Session(program, "auto") as session:
        if solved_before:
            assert session.solve().solver == "highs"
        ball = session.subject_to(norm(x - 3) <= 2)
        found = session.solve()
        assert found.solver == session.solver.name == "clarabel"
        assert found.objective == pytest.approx(milopt.solve(session.program, "ecos").objective, abs=1e-5)
        session.delete(ball)
        assert session.solve().objective == pytest.approx(8.0, abs=1e-6)
    with Session(program, "highs") as session:
        if solved_before:
            session.solve()
            with pytest.raises(UnsupportedError, match="second-order"):
                session.subject_to(norm(x - 3) <= 2)
            assert session.solve().objective == pytest.approx(8.0)


def test_auto_takes_a_change_back_that_no_solver_takes() -> None:
    program, x, _ = diet()
    with Session(program, "auto") as session:
        session.solve()
        session.subject_to(milopt.exp(x) <= 1e3, "curve")
        session.solve()
        with pytest.raises(UnsupportedError, match="No installed solver takes 'diet'"):
            session.variable("count", integer=True)
        assert list(session.program.variables) == ["x"]
        assert session.solve().objective == pytest.approx(8.0, abs=1e-6)


def test_highs_refuses_integers_beside_a_quadratic_in_a_session_too() -> None:
    program, x, _ = diet()
    program.minimize(sum_squares(x))
    with Session(program, "highs") as session:
        assert session.solve().objective == pytest.approx(8.0)
        with pytest.raises(UnsupportedError, match="a convex quadratic objective with integer variables"):
            session.variable("count", integer=True)
        assert session.solve().objective == pytest.approx(8.0)


def test_integer_variables_join_a_linear_program() -> None:
    program, _, need = diet()
    with Session(program, "highs") as session:
        session.solve()
        y = session.variable("y", lower=0.5, upper=3.7, integer=True, cost=1.5, rows={need: 1.0})
        found = session.solve()
        assert found.values[y] == pytest.approx(3.0)
        assert found.objective == pytest.approx(6.5)
        session.set_bounds(y, upper=2.9)
        assert session.solve().objective == pytest.approx(7.0)
        session.delete(y)
        assert session.solve().objective == pytest.approx(8.0)


def test_a_program_that_needs_witnesses_is_refused() -> None:
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


def test_bounds_stay_in_the_model_of_highs() -> None:
    program, x, _ = diet()
    with Session(program, "highs") as session:
        session.solve()
        for upper, optimum in ((1.0, 11.0), (3.0, 9.0), (np.inf, 8.0), (0.0, 12.0)):
            session.set_bounds(x[0], upper=upper)
            assert session.solve().objective == pytest.approx(optimum)
        assert session.rebuilds == 0


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_bounds_decide_how_atoms_inside_atoms_are_lowered(solver: str) -> None:
    def declared(lower: float) -> Program:
        program = Program("nested")
        x = program.variable("x", 2, lower=lower, upper=4)
        # The square of a sum of exponentials' logarithm is convex only where it is not negative.
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
            DeclarationError, match=r"'x' cannot be deleted: it stands inside norm\(x\) in constraint 'near'"
        ):
            session.delete(need, x)
        assert list(session.program.constraints) == ["need", "near"]
        session.delete(t)
        assert session.solve().objective == pytest.approx(8.0, abs=1e-6)
        session.delete("near", "x")
        found = session.solve()
        assert found.termination is Termination.INFEASIBLE  # 0 >= 4 is left of "need".


def test_a_deleted_variable_is_gone() -> None:
    program, x, need = diet()
    with Session(program, "highs") as session:
        y = session.variable("y", lower=0, cost=1.0, rows={need: 1.0})
        assert session.solve().objective == pytest.approx(4.0)
        session.delete(x)
        assert session.solve().objective == pytest.approx(4.0)
        with pytest.raises(DeclarationError, match="Variable 'x' was deleted from program 'diet'"):
            session.subject_to(x[0] + y >= 1)
        z = session.variable("x", lower=0, upper=1, cost=0.5, rows={need: 2.0})
        found = session.solve()
        assert (found.objective, found.values[z]) == (pytest.approx(2.5), pytest.approx(1.0))
        with pytest.raises(UnknownNameError):
            found.values[x]


def test_blocks_are_known_by_every_object_that_stood_for_them() -> None:
    program, x, _ = diet()
    with Session(program, "highs") as session:
        written = x[0] - x[1] <= 1
        added = session.subject_to(written)
        changed = session.replace(added, x[0] <= 2)
        session.set_rhs(written, 3)
        session.variable("y", lower=0, rows={changed: 1.0})
        found = session.solve()
        assert found.duals[written] is found.duals[added] is found.duals[changed]
        assert found.duals[session.program.constraints[added.name]] == pytest.approx(1.0)
        session.delete(changed)
        for block in (written, added, changed):
            with pytest.raises(UnknownNameError, match="no constraint block"):
                session.set_rhs(block, 1)
        assert found.duals[written] == pytest.approx(1.0)
