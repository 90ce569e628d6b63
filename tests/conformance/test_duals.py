"""Signs and values of multipliers: slopes of the optimum, and equal in both forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import milopt
from milopt import RBF, Linear, Program, as_bags, bag_max, bag_mean, quad_form, sum_squares
from milopt.outcome.result import Result
from milopt.testing.known_programs.planted import plant_program

SOLVERS = ("highs", "clarabel", "ecos", "piqp")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("maximize", [False, True], ids=["min", "max"])
@pytest.mark.parametrize("rank", [None, 8], ids=["lp", "qp"])
def test_signs_and_reduced_costs(solver: str, rank: int | None, maximize: bool) -> None:
    plan = plant_program(71, rank=rank)
    result = milopt.solve(plan.declare("planted", maximize=maximize), solver).require_certified()
    z = result.duals
    assert z["above"].min() >= -1e-8
    assert z["below"].min() >= -1e-8
    x = result.values["x"]
    gradient = plan.q if plan.P is None else plan.P @ x + plan.q
    reduced = gradient - plan.A.T @ z["above"] + plan.B.T @ z["below"] - plan.E.T @ z["equal"]
    at_lower, at_upper = np.isclose(x, plan.lower, atol=1e-6), np.isclose(x, plan.upper, atol=1e-6)
    assert at_lower.any()
    assert at_upper.any()
    assert (reduced[at_lower] > 0.1).all()
    assert (reduced[at_upper] < -0.1).all()
    assert reduced[~at_lower & ~at_upper] == pytest.approx(0, abs=1e-6)
    assert reduced == pytest.approx(plan.reduced, abs=1e-5)


def _rhs(kind: str, shift: float, maximize: bool) -> Program:
    rng = np.random.default_rng(72)
    A, c = rng.normal(size=(3, 5)), rng.normal(size=5)
    program = Program("slope")
    x = program.variable("x", 5, lower=-3, upper=3)
    objective = 0.5 * sum_squares(x) + c @ x
    (program.maximize if maximize else program.minimize)(-objective if maximize else objective)
    rhs = A @ np.ones(5) + np.array([shift, 0.0, 0.0])
    if kind == "==":
        program.subject_to(A @ x == rhs, name="rows")
    elif kind == "== turned":
        program.subject_to(-(A @ x) == -rhs, name="rows")
    elif kind == ">=":
        program.subject_to(A @ x >= rhs + 3, name="rows")
    else:
        program.subject_to(A @ x <= rhs - 4, name="rows")
    return program


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("maximize", [False, True], ids=["min", "max"])
@pytest.mark.parametrize(("kind", "slope"), [("==", 1.0), ("== turned", -1.0), (">=", 1.0), ("<=", -1.0)])
def test_multiplier_is_the_slope_of_the_optimum(solver: str, kind: str, slope: float, maximize: bool) -> None:
    """The slope d optimum / d rhs of the minimisation is z for >= and ==, and -z for <= and for a reversed equation."""
    step = 1e-3
    here = milopt.solve(_rhs(kind, 0.0, maximize), solver).require_certified()
    up, down = (milopt.solve(_rhs(kind, s, maximize), solver).require_certified() for s in (step, -step))
    sense = -1.0 if maximize else 1.0
    measured = sense * (up.objective - down.objective) / (2 * step)
    assert abs(measured) > 1e-2, "a flat optimum would prove nothing"
    assert slope * here.duals["rows"][0] == pytest.approx(measured, rel=1e-4)


# -- one program, two forms --------------------------------------------------------------------------------------

X = np.random.default_rng(73).normal(size=(10, 2))
Y = np.where(X[:, 0] + 0.4 * X[:, 1] ** 2 > 0.2, 1.0, -1.0)
BAGS = as_bags(np.split(X, [3, 5, 8]))


def _svm() -> Program:
    program = Program("svm: one-sided columns, a free one")
    f, b = program.function("f", RBF(0.6)), program.variable("b")
    slack = program.variable("slack", 10, lower=0)
    program.minimize(0.5 * f.norm_squared() + 2 * slack.sum())
    program.subject_to(Y * (f(X) + b) >= 1 - slack, name="margin")
    return program


def _upper_sided() -> Program:
    program = Program("columns with an upper bound alone")
    f = program.function("f", RBF(0.6))
    gain = program.variable("gain", 10, upper=0.5)
    program.minimize(0.5 * f.norm_squared() - 2 * gain.sum())
    program.subject_to(Y * f(X) >= 1 + gain, name="margin")
    return program


def _two_sided() -> Program:
    program = Program("columns with both bounds")
    f, b = program.function("f", RBF(0.6)), program.variable("b", lower=-0.1, upper=0.1)
    slack = program.variable("slack", 10, lower=0, upper=3)
    program.minimize(0.5 * f.norm_squared() + 2 * slack.sum() + 0.3 * b)
    program.subject_to(Y * (f(X) + b) >= 1 - slack, name="margin")
    return program


def _shared_columns() -> Program:
    program = Program("one-sided columns in several rows")
    f, b = program.function("f", RBF(0.6)), program.variable("b", lower=-5)
    slack = program.variable("slack", 4, lower=0)
    program.minimize(0.5 * f.norm_squared() + 2 * slack.sum())
    program.subject_to(Y * (f(X) + b) >= 1 - BAGS.membership @ slack, name="margin")
    return program


def _shared_upper_columns() -> Program:
    program = Program("columns with an upper bound alone, in several rows")
    f = program.function("f", RBF(0.6))
    gain = program.variable("gain", 4, upper=0.5)
    program.minimize(0.5 * f.norm_squared() - 2 * gain.sum())
    program.subject_to(Y * f(X) >= 1 + BAGS.membership @ gain, name="margin")
    return program


def _squared_slack() -> Program:
    program = Program("strictly convex columns")
    f, b = program.function("f", RBF(0.6)), program.variable("b")
    slack = program.variable("slack", 10)
    program.minimize(0.5 * f.norm_squared() + sum_squares(slack))
    program.subject_to(Y * (f(X) + b) >= 1 - slack, name="margin")
    return program


def _bounded_squared() -> Program:
    program = Program("strictly convex columns with bounds")
    f = program.function("f", RBF(0.6))
    slack = program.variable("slack", 10, lower=0.05, upper=0.4)
    W = np.eye(10) + 0.05
    program.minimize(0.5 * f.norm_squared() + quad_form(slack, W) - 0.1 * slack.sum())
    program.subject_to(Y * f(X) >= 0.5 - slack, name="margin")
    return program


def _square_of_function() -> Program:
    program = Program("squares of a function")
    f, b = program.function("f", RBF(0.6)), program.variable("b")
    program.minimize(0.5 * f.norm_squared() + sum_squares(bag_mean(f(BAGS)) + b - np.array([1.0, -1, 0.5, 2])))
    program.subject_to(f(X) + b <= 0.8, name="cap")
    return program


def _equations() -> Program:
    program = Program("interpolation")
    f = program.function("f", RBF(0.6))
    program.minimize(0.5 * f.norm_squared())
    program.subject_to(f(X[:4]) == Y[:4], name="exactly")
    program.subject_to(f(X[4:]) >= -1.5, name="floor")
    return program


def _linear_term() -> Program:
    program = Program("a function in the linear part")
    f = program.function("f", Linear())
    program.maximize(f(X).sum() - 1.5 * f.norm_squared())
    program.subject_to(bag_max(f(BAGS)) <= 1, name="cap")
    return program


def _two_functions() -> Program:
    program = Program("two functions")
    f, h, b = program.function("f", RBF(0.6)), program.function("h", Linear()), program.variable("b")
    slack = program.variable("slack", 10, lower=0)
    program.minimize(0.5 * f.norm_squared() + 2 * h.norm_squared() + slack.sum())
    program.subject_to(Y * (f(X) + h(X) + b) >= 1 - slack, name="margin")
    return program


DECLARED: list[Callable[[], Program]] = [
    _svm,
    _upper_sided,
    _two_sided,
    _shared_columns,
    _shared_upper_columns,
    _squared_slack,
    _bounded_squared,
    _square_of_function,
    _equations,
    _linear_term,
    _two_functions,
]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("declare", DECLARED, ids=lambda f: f.__name__.strip("_"))
def test_primal_and_dual_form_have_the_same_optimum(solver: str, declare: Callable[[], Program]) -> None:
    a, b = (
        milopt.solve(declare(), solver, form=form, tolerance=1e-7).require_certified() for form in ("primal", "dual")
    )
    assert a.objective == pytest.approx(b.objective, rel=1e-6, abs=1e-7)
    for name, function in a.functions.items():
        assert function(X) == pytest.approx(b.functions[name](X), abs=1e-3)
    for name, value in a.values.items():
        if name != "b":  # the bias of an SVM may move within an interval
            assert value == pytest.approx(b.values[name], abs=1e-3), name
    for name, multiplier in a.duals.items():
        assert multiplier == pytest.approx(b.duals[name], abs=1e-3), name
        if name != "exactly":
            assert multiplier.min() >= -1e-6
    assert any(np.abs(z).max() > 1e-2 for z in a.duals.values())
    _check_stationary(a)
    _check_stationary(b)


def _check_stationary(result: Result) -> None:
    """Check by the norm of f that f is the sum of multipliers times kernels."""
    for function in result.functions.values():
        if function.weights is not None:
            assert function.norm_squared == pytest.approx(float(function.weights @ function.weights), rel=1e-12)
            continue
        assert function.norm_squared == pytest.approx(
            float(function.coefficients @ function(function.points)), rel=1e-12
        )
    assert result.bound is None or abs(result.bound - result.objective) <= 1e-5 * (1 + abs(result.objective))


@pytest.mark.parametrize("solver", SOLVERS)
def test_function_is_the_sum_of_its_multipliers(solver: str) -> None:
    """Stationarity of an SVM in f: f = sum_i z_i y_i K(x_i, .), in both forms."""
    gram = np.exp(-0.6 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for form in ("primal", "dual"):
        result = milopt.solve(_svm(), solver, form=form).require_certified()
        z = result.duals["margin"]
        assert result.functions["f"](X) == pytest.approx(gram @ (Y * z), abs=1e-5)
        assert z.max() <= 2 + 1e-6
        assert Y @ z == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_multipliers_of_a_maximum_are_summed_over_its_instances(solver: str) -> None:
    """In bag_max(x) <= u, the cost of u goes to the rows of the instances; the multiplier of the block is their sum."""
    program = Program("maximum")
    w = program.variable("w", 2, lower=[1, 2], upper=[1, 2])
    cap = program.variable("cap", 4)
    program.minimize(np.array([1.0, 2.0, 3.0, 4.0]) @ cap)
    program.subject_to(bag_max(X @ w, BAGS) <= cap, name="epigraph")
    for lazy in (True, False):
        result = milopt.solve(program, solver, lazy=lazy).require_certified()
        assert result.duals["epigraph"] == pytest.approx([1, 2, 3, 4], abs=1e-6)
        assert result.values["cap"] == pytest.approx(BAGS.max(X @ [1.0, 2.0]), abs=1e-6)
