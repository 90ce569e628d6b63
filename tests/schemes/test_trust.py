"""Programs for which a wrong answer was once certified as optimal."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Precomputed, Program, as_bags, bag_max, bag_mean, norm1, quad_form, sum_squares
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ConvexityError
from milopt.solving.step_session import StepSession


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos"])
def test_an_unbounded_choice_of_witnesses_is_not_ignored(solver: str) -> None:
    program = Program("one witness falls for ever")
    u, t = program.variable("u", lower=0, upper=2), program.variable("t")
    pair = as_bags([np.zeros((2, 1))])
    program.minimize(t)
    inner = np.array([1.0, 0.0]) * u + np.array([0.0, 1.0]) * t + np.array([-1.0, -5.0])
    program.subject_to(bag_max(inner, pair) >= 0, name="either")
    result = milopt.solve(program, solver, "exact")
    assert result.termination is Termination.UNBOUNDED
    assert result.point is not PointStatus.CERTIFIED


@pytest.mark.parametrize("idle", [1e3, 1e8])
@pytest.mark.parametrize("lazy", [True, False])
def test_a_large_number_elsewhere_does_not_hide_a_violation(idle: float, lazy: bool) -> None:
    rng = np.random.default_rng(0)
    bags = as_bags([rng.normal(size=(8, 2)) for _ in range(5)])
    program = Program("idle")
    f, t = program.function("f", RBF(0.5)), program.variable("t")
    program.minimize(0.5 * f.norm_squared() - bag_mean(f(bags)).sum())
    program.subject_to(bag_max(f(bags)) <= 0.1, name="low")
    program.subject_to(t <= idle, name="idle")
    for solver in ("highs", "clarabel", "ecos"):
        result = milopt.solve(program, solver, lazy=lazy).require_certified()
        assert result.objective == pytest.approx(-0.4713088, abs=2e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_the_error_for_an_indefinite_kernel_gives_its_eigenvalue(form: str) -> None:
    gram = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    bags = as_bags([[[0.0], [1.0]], [[2.0]]])
    program = Program("indefinite")
    f = program.function("f", Precomputed(gram))
    program.minimize(0.5 * f.norm_squared() + bag_max(f(bags)).sum())
    program.subject_to(f(np.array([[0.0], [2.0]])) >= np.array([1.0, -2.0]), name="rows")
    with pytest.raises(ConvexityError, match=r"kernel of 'f' is not positive semidefinite: smallest eigenvalue -"):
        milopt.solve(program, "clarabel", form=form)


def test_convexity_is_checked_again_when_the_objective_changes() -> None:
    program = Program("turning")
    x = program.variable("x", 2, lower=-3, upper=4)
    weight = program.parameter("weight")
    weight.value = 1.0
    program.minimize(sum_squares(x))
    with StepSession(program, milopt.get_solver("clarabel")) as session:
        session.solve()
        session.set_objective(quad_form(x, np.array([1.0, -1.0])))
        with pytest.raises(ConvexityError, match="eigenvalue -2"):
            session.solve()
        session.set_objective(weight * sum_squares(x))
        assert session.solve().objective == pytest.approx(0.0, abs=1e-9)
        session.set_parameter(weight, -1.0)
        with pytest.raises(ConvexityError, match="eigenvalue -2"):
            session.solve()


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native"])
def test_slight_negative_curvature_is_still_negative(solver: str) -> None:
    program = Program("slight")
    x = program.variable("x", 2, lower=-1e6, upper=1e6)
    program.minimize(quad_form(x, np.array([1e4, -1e-6])))
    with pytest.raises(ConvexityError, match="-2e-06"):
        milopt.solve(program, solver)


def test_names_of_the_program_do_not_clash_with_those_of_its_milp() -> None:
    program = Program("names")
    a = program.variable("bag_max.0.height", 2, lower=-1, upper=1)
    bags = as_bags([np.zeros((2, 1)), np.zeros((1, 1))])
    inner = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]) @ a
    program.maximize(bag_max(inner, bags).sum())
    program.subject_to(norm1(a) <= 1, name="ball")
    result = milopt.solve(program, "highs", "exact").require_certified()
    assert result.objective == pytest.approx(1.0)


def test_auto_continues_if_a_pattern_cannot_be_recognised() -> None:
    rng = np.random.default_rng(0)
    bags = as_bags([rng.normal(size=(150, 2)) for _ in range(20)])
    program = Program("many points")
    f, c = program.function("f", RBF(0.5)), program.variable("c", lower=0)
    program.minimize(0.5 * f.norm_squared() - bag_mean(f(bags)).sum() + c)
    program.subject_to(bag_max(f(bags)) <= 1, name="low")
    assert milopt.solve(program).solver == "clarabel"
