"""`explain` lists for each solver whether it supports a program and why, and agrees with `solve`."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Bags, Program, as_bags, bag_max, bag_mean, norm, norm1, quad_form, sum_squares
from milopt.compilation import program_curvature
from milopt.compilation.status import Termination
from milopt.errors import ConvexityError, UnsupportedError
from milopt.schemes.automatic import automatic_solver
from milopt.solving import explain as module
from milopt.solving import registry
from milopt.solving.explain import SolverSupport, explain
from milopt.solving.solver import Availability

Y = np.array([1.0, -1, 1, -1, 1, -1])


@pytest.fixture
def bags() -> Bags:
    rng = np.random.default_rng(3)
    return as_bags([rng.normal(size=(n, 2)) for n in (2, 3, 1, 4, 2, 3)])


def answers(program: Program) -> dict[str, SolverSupport]:
    return {entry.solver: entry for entry in explain(program)}


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
def test_supported_programs_are_solved_and_others_raise_an_error(name: str, solver: str, bags: Bags) -> None:
    if not registry.get_solver(solver).availability().installed:
        pytest.skip(f"{solver} is not installed here")
    makers = {"linear": linear, "cone": cone, "box": box, "saddle": saddle}
    program = makers[name]() if name in makers else svm(bags, name)
    support = answers(program)[solver]
    try:
        milopt.solve(program, solver)
    except (UnsupportedError, ConvexityError):
        assert not support.supports, support
    else:
        assert support.supports, support


def test_reasons_are_given_in_words(bags: Bags) -> None:
    assert answers(cone())["highs"].reason == (
        "the program is of kind SOCP and has second-order cones; highs supports a convex quadratic objective, integer "
        "variables, linear rows"
    )
    assert answers(cone())["clarabel"].reason == "SOCP"
    assert "; smallest eigenvalue -2 " in answers(saddle())["clarabel"].reason
    assert answers(linear())["native"].reason == "LP"
    assert "inequality row" in answers(curved())["native"].reason
    assert answers(svm(bags, "max"))["highs"].reason == "QP at each choice of witnesses, in dual form"
    assert answers(svm(bags, "mean"))["libsvm"].supports
    assert not answers(svm(bags, "max"))["libsvm"].supports


def test_families_are_expanded_into_their_installed_variants() -> None:
    support = answers(linear())
    assert "cvxpy:NAME" not in support
    assert {"cvxpy:CLARABEL", "cvxpy:HIGHS", "pyomo:highs"} <= set(support)


def test_missing_solvers_are_listed_with_their_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "ecos": Availability(False, None, "pip install ecos"),
        "cvxpy:NAME": Availability(False, None, "pip install cvxpy"),
        "mine": Availability(False, reason="ImportError: no module"),
    }
    monkeypatch.setattr(registry, "available_solvers", lambda: known)
    assert explain(linear()) == (
        SolverSupport("ecos", False, "not installed: pip install ecos"),
        SolverSupport("cvxpy:NAME", False, "not installed: pip install cvxpy"),
        SolverSupport("mine", False, "cannot be loaded: ImportError: no module"),
    )


def test_the_result_prints_as_a_table_and_lists_the_supporting_solvers() -> None:
    support = explain(cone())
    lines = str(support).splitlines()
    assert lines[0].split() == ["solver", "supported", "reason"]
    assert any(line.split() == ["clarabel", "yes", "SOCP"] for line in lines)
    assert "clarabel" in support.supporting_solvers
    assert "highs" not in support.supporting_solvers
    assert len(lines) == len(support) + 1


def test_a_parameter_without_a_value_is_judged_by_features(bags: Bags) -> None:
    program = Program("open")
    x = program.variable("x", 2, lower=0)
    p = program.parameter("p", 2)
    program.minimize(p @ x)
    assert answers(program)["highs"].supports
    assert "Parameter 'p' has no value yet" in answers(program)["highs"].reason


def test_a_norm_on_its_other_side_makes_a_dc_program() -> None:
    program = Program("outside")
    x = program.variable("x", 2)
    program.minimize(x.sum())
    program.subject_to(norm(x) >= 1, name="outside")
    support = explain(program)
    assert program.kind == "DC"
    assert {"clarabel", "highs"} <= set(support.supporting_solvers)


class EvaluationCountingKernel(RBF):
    """A kernel that counts the values that were computed."""

    evaluations = 0

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        type(self).evaluations += A.shape[0] * B.shape[0]
        return super().__call__(A, B)


def test_few_kernel_values_are_computed_for_many_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    many = as_bags([rng.normal(size=(100, 2)) for _ in range(6)])
    program = Program("many")
    f = program.function("f", EvaluationCountingKernel(s=1.0))
    slack = program.variable("slack", len(many), lower=0)
    program.minimize(0.5 * f.norm_squared() + slack.sum())
    program.subject_to(Y * bag_max(f(many)) >= 1 - slack, name="margin")
    assert answers(program)["clarabel"].supports
    assert 0 < EvaluationCountingKernel.evaluations <= 2 * 600 * 12
    EvaluationCountingKernel.evaluations = 0
    monkeypatch.setattr(module, "MAX_EXAMINED_POINTS", 5)
    monkeypatch.setattr(program_curvature, "MAX_EXAMINED_POINTS", 5)
    assert answers(program)["clarabel"].supports
    assert EvaluationCountingKernel.evaluations == 0
    assert "by its features" in answers(program)["clarabel"].reason


def test_a_session_shows_the_table() -> None:
    table = explain(linear())
    assert repr(table) == str(table)
    assert repr(table).splitlines()[0].split()[:1] == ["solver"]


def test_a_closed_form_is_chosen_without_evaluating_the_kernel() -> None:
    """Evaluating the kernel would be most of the cost of solving squares over a dictionary."""

    def untouched(a: object, b: object) -> object:
        raise AssertionError("the kernel was evaluated")

    program = Program("ridge")
    f = program.function("f", untouched, dictionary=np.zeros((3, 2)))
    program.minimize(sum_squares(f(np.ones((5, 2))) - 1) + f.norm_squared())
    assert automatic_solver(program).name == "native"


def test_choices_by_structure_agree_with_choices_by_the_flat_form(bags: Bags) -> None:
    program = Program("unit sphere")
    x = program.variable("x", 2)
    program.minimize(sum_squares(x - 1))
    program.subject_to(norm1(x) == 1, name="sphere")
    case = module.SupportChecker(program)
    for solver in map(registry.get_solver, ("native", "clarabel", "highs")):
        assert not case.is_supported_by(solver)
        assert not case.check(solver).supports


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
def test_a_solver_that_supports_a_program_solves_it_also_if_rows_are_empty(make) -> None:
    """Cvxpy cannot pass every solver a problem without constraints, or with rows that have no entries."""
    takers = explain(make()).supporting_solvers
    assert {"cvxpy:SCS", "cvxpy:ECOS"} & set(registry.family_variants("cvxpy")) <= set(takers)
    for name in takers:
        result = milopt.solve(make(), name)
        assert result.termination is Termination.OPTIMAL, str(result)
        assert result.objective == pytest.approx(2.0 if make is some_entries else 0.0, abs=1e-5)
        if make is not no_constraints:
            assert result.duals["tautology"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("bounds", "has_rows", "remedy"),
    [
        ({}, False, "Use native."),
        ({"lower": -1, "upper": 1}, False, "Use scheme='ccp'."),
        ({}, True, "Use scheme='ccp'."),
    ],
    ids=["no rows", "bounds", "inequalities"],
)
def test_a_non_convex_program_names_a_remedy_that_works(bounds: dict[str, float], has_rows: bool, remedy: str) -> None:
    program = Program("saddle")
    x = program.variable("x", 2, **bounds)
    program.minimize(quad_form(x, [[2.0, 0.0], [0.0, -1.0]]) + x[0])
    if has_rows:
        program.between(-1, x, 1)
    assert answers(program)["highs"].reason.endswith(remedy)
    with pytest.raises(ConvexityError, match="highs supports only convex programs"):
        milopt.solve(program, "highs")
    arguments = {"solver": "native"} if "native" in remedy else {"solver": "highs", "scheme": "ccp"}
    assert milopt.solve(program, **arguments).termination is Termination.STATIONARY


def test_a_non_convex_program_with_bounds_names_a_remedy_that_works_without_a_choice_of_solver() -> None:
    program = Program("saddle")
    x = program.variable("x", 2, lower=-1, upper=1)
    program.minimize(quad_form(x, [[2.0, 0.0], [0.0, -1.0]]) + x[0])
    with pytest.raises(ConvexityError, match="Use scheme='ccp'"):
        milopt.solve(program)
    assert milopt.solve(program, scheme="ccp").termination is Termination.STATIONARY


def test_a_concave_norm_of_a_function_with_rows_names_no_remedy(bags: Bags) -> None:
    program = Program("concave")
    f = program.function("f", RBF(s=1.0))
    program.minimize(-f.norm_squared())
    program.subject_to(f(bags) <= 1)
    assert answers(program)["highs"].reason.endswith("supports only convex programs.")
