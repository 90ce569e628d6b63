"""`explain`: one line a solver, yes or the reason why not, and it agrees with what happens."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Bags, Program, as_bags, bag_max, bag_mean, norm, norm1, quad_form, sum_squares
from milopt.compilation import curvature_verdict
from milopt.compilation.status import Termination
from milopt.errors import ConvexityError, UnsupportedError
from milopt.schemes.automatic import automatic
from milopt.solving import explain as module
from milopt.solving import registry
from milopt.solving.explain import Explanation, explain
from milopt.solving.solver import Availability

Y = np.array([1.0, -1, 1, -1, 1, -1])


@pytest.fixture
def bags() -> Bags:
    rng = np.random.default_rng(3)
    return as_bags([rng.normal(size=(n, 2)) for n in (2, 3, 1, 4, 2, 3)])


def answers(program: Program) -> dict[str, Explanation]:
    return {one.solver: one for one in explain(program)}


def linear() -> Program:
    program = Program("linear")
    x = program.variable("x", 3, lower=0)
    program.minimize(x.sum())
    program.subject_to(x[0] + x[1] >= 1, name="cover")
    return program


def curved() -> Program:
    program = linear()
    program.minimize(sum_squares(program.variables["x"]))
    return program


def cone() -> Program:
    program = linear()
    program.subject_to(norm(program.variables["x"]) <= 2, name="ball")
    return program


def box() -> Program:
    program = Program("box")
    x = program.variable("x", 3, lower=0, upper=1)
    program.minimize(sum_squares(x - 2))
    return program


def saddle() -> Program:
    program = Program("saddle")
    x = program.variable("x", 2)
    program.minimize(quad_form(x, np.array([1.0, -1.0])))
    return program


def svm(bags: Bags, atom: str) -> Program:
    program = Program(atom)
    f = program.function("f", RBF(s=1.0))
    b = program.variable("b")
    slack = program.variable("slack", len(bags), lower=0)
    program.minimize(0.5 * f.norm_squared() + slack.sum())
    values = bag_max(f(bags)) if atom == "max" else bag_mean(f(bags))
    program.subject_to(Y * (values + b) >= 1 - slack, name="margin")
    return program


@pytest.mark.parametrize("name", ["linear", "cone", "box", "saddle", "max", "mean"])
@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native", "libsvm", "cvxpy:CLARABEL", "pyomo:highs"])
def test_yes_means_that_it_is_solved_and_no_that_it_is_refused(name: str, solver: str, bags: Bags) -> None:
    if not registry.get(solver).availability().installed:
        pytest.skip(f"{solver} is not installed here")
    makers = {"linear": linear, "cone": cone, "box": box, "saddle": saddle}
    program = makers[name]() if name in makers else svm(bags, name)
    said = answers(program)[solver]
    try:
        milopt.solve(program, solver)
    except (UnsupportedError, ConvexityError):
        assert not said.takes, said
    else:
        assert said.takes, said


def test_reasons_are_in_words(bags: Bags) -> None:
    assert answers(cone())["highs"].reason == (
        "it is of kind SOCP and has second-order cones; highs takes a convex quadratic objective, integer variables, "
        "linear rows"
    )
    assert answers(cone())["clarabel"].reason == "SOCP"
    assert "bends down, smallest eigenvalue -2 " in answers(saddle())["clarabel"].reason
    assert answers(linear())["native"].reason == "LP"
    assert "inequality row" in answers(curved())["native"].reason
    assert answers(svm(bags, "max"))["highs"].reason == "QP at each choice of witnesses, by the dual"
    assert answers(svm(bags, "mean"))["libsvm"].takes
    assert not answers(svm(bags, "max"))["libsvm"].takes


def test_families_answer_for_their_installed_variants() -> None:
    said = answers(linear())
    assert "cvxpy:NAME" not in said
    assert {"cvxpy:CLARABEL", "cvxpy:HIGHS", "pyomo:highs"} <= set(said)


def test_what_is_missing_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "ecos": Availability(False, None, "pip install ecos"),
        "cvxpy:NAME": Availability(False, None, "pip install cvxpy"),
        "mine": Availability(False, reason="ImportError: no module"),
    }
    monkeypatch.setattr(registry, "available", lambda: known)
    assert explain(linear()) == (
        Explanation("ecos", False, "not installed: pip install ecos"),
        Explanation("cvxpy:NAME", False, "not installed: pip install cvxpy"),
        Explanation("mine", False, "cannot be loaded: ImportError: no module"),
    )


def test_it_prints_as_a_table_and_lists_the_takers() -> None:
    said = explain(cone())
    lines = str(said).splitlines()
    assert lines[0].split() == ["solver", "takes", "it", "because"]
    assert any(line.split() == ["clarabel", "yes", "SOCP"] for line in lines)
    assert "clarabel" in said.takers
    assert "highs" not in said.takers
    assert len(lines) == len(said) + 1


def test_a_parameter_without_a_value_is_judged_by_features(bags: Bags) -> None:
    program = Program("open")
    x = program.variable("x", 2, lower=0)
    p = program.parameter("p", 2)
    program.minimize(p @ x)
    assert answers(program)["highs"].takes
    assert "Parameter 'p' has no value yet" in answers(program)["highs"].reason


def test_a_norm_on_its_other_side_makes_a_dc_program() -> None:
    program = Program("outside")
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(norm(x) >= 1, name="outside")
    said = explain(program)
    assert program.kind == "DC"
    assert {"clarabel", "highs"} <= set(said.takers)


class Counting(RBF):
    """A kernel that counts the values it was asked for."""

    asked = 0

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        type(self).asked += A.shape[0] * B.shape[0]
        return super().__call__(A, B)


def test_few_kernel_values_are_computed_for_many_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    many = as_bags([rng.normal(size=(100, 2)) for _ in range(6)])
    program = Program("many")
    f = program.function("f", Counting(s=1.0))
    slack = program.variable("slack", len(many), lower=0)
    program.minimize(0.5 * f.norm_squared() + slack.sum())
    program.subject_to(Y * bag_max(f(many)) >= 1 - slack, name="margin")
    assert answers(program)["clarabel"].takes
    assert 0 < Counting.asked <= 2 * 600 * 12
    Counting.asked = 0
    monkeypatch.setattr(module, "MAX_EXAMINED_POINTS", 5)
    monkeypatch.setattr(curvature_verdict, "MAX_EXAMINED_POINTS", 5)
    assert answers(program)["clarabel"].takes
    assert Counting.asked == 0
    assert "by its features" in answers(program)["clarabel"].reason


def test_a_session_shows_the_table() -> None:
    found = explain(linear())
    assert repr(found) == str(found)
    assert repr(found).splitlines()[0].split()[:1] == ["solver"]


def test_a_closed_form_is_chosen_without_a_look_at_the_kernel() -> None:
    """Looking means to evaluate it, which for squares over a dictionary is most of the solution's cost."""

    def untouched(a: object, b: object) -> object:
        raise AssertionError("the kernel was evaluated")

    program = Program("ridge")
    f = program.function("f", untouched, dictionary=np.zeros((3, 2)))
    program.minimize(sum_squares(f(np.ones((5, 2))) - 1) + f.norm_squared())
    assert automatic(program).name == "native"


def test_what_is_chosen_unseen_is_what_would_be_taken(bags: Bags) -> None:
    program = Program("unit sphere")
    x = program.variable("x", 2)
    program.minimize(sum_squares(x - 1))
    program.subject_to(norm1(x) == 1, name="sphere")
    case = module.Case(program)
    for solver in map(registry.get, ("native", "clarabel", "highs")):
        assert not case.takes(solver)
        assert not case.asked(solver).takes


def no_constraints() -> Program:
    program = Program("no constraints")
    program.variable("x", 2)
    program.minimize(0 * program.variables["x"].sum())
    return program


def no_entries() -> Program:
    program = Program("no entries")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(x == x, name="tautology")
    return program


def some_entries() -> Program:
    program = no_entries()
    x = program.variables["x"]
    program.subject_to(np.diag([1.0, 0.0]) @ x == np.array([2.0, 0.0]), name="half")
    return program


@pytest.mark.parametrize("make", [no_constraints, no_entries, some_entries])
def test_solver_that_takes_a_program_solves_it_also_if_rows_are_empty(make) -> None:
    """cvxpy does not hand every solver a problem without constraints, or with rows that have no entries."""
    takers = explain(make()).takers
    assert {"cvxpy:SCS", "cvxpy:ECOS"} & set(registry.variants("cvxpy")) <= set(takers)
    for name in takers:
        result = milopt.solve(make(), name)
        assert result.termination is Termination.OPTIMAL, str(result)
        assert result.objective == pytest.approx(2.0 if make is some_entries else 0.0, abs=1e-5)
        if make is not no_constraints:
            assert result.duals["tautology"].tolist() == [0.0, 0.0]
