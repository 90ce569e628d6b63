"""A solver's claim that a program is infeasible or unbounded is returned only if it is proved."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt import RBF, Program, norm, sum_squares
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.inertia import Inertia
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ParameterError, UnsupportedError
from milopt.solving.engine import Engine
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from tests.conformance.random_linear_programs import random_linear_program
from tests.conformance.solvers_under_test import solver_names

HONEST_ENDS = (Termination.STALLED, Termination.LIMIT, Termination.ERROR)
EXACT = ("highs", "native")
"""Simplex methods, which must find the status of every small linear program."""
MIXED_INTEGER = ("highs", "scip", "cvxpy:SCIP", "cvxpy:HIGHS", "cvxpy:SCIPY", "pyomo:highs", "pyomo:appsi_highs")
INTEGER_SOLVERS = [name for name in solver_names() if name in MIXED_INTEGER]


@pytest.mark.parametrize(
    ("name", "seed"), [(name, seed) for name in solver_names() for seed in range(8 if ":" in name else 24)]
)
def test_the_status_of_a_random_linear_program_is_correct_or_open(name: str, seed: int) -> None:
    program = random_linear_program(seed)
    termination, best = program.true_status()
    try:
        result = milopt.solve(program.declare(), name)
    except UnsupportedError:
        return
    if name not in EXACT and result.termination in HONEST_ENDS:
        assert result.point is not PointStatus.CERTIFIED
        return
    assert result.termination is termination, str(result)
    if termination is Termination.OPTIMAL:
        assert result.objective == pytest.approx(best, rel=1e-5, abs=1e-5)


def test_generated_programs_have_every_status() -> None:
    statuses = [random_linear_program(seed).true_status()[0] for seed in range(24)]
    assert all(statuses.count(status) >= 4 for status in (Termination.INFEASIBLE, Termination.UNBOUNDED))
    assert statuses.count(Termination.OPTIMAL) >= 6


@pytest.mark.parametrize("name", solver_names())
def test_infeasible_program_with_a_direction_of_descent_is_infeasible(name: str) -> None:
    """Interior-point methods may find the ray first, but a ray alone proves nothing."""
    program = Program("both")
    x = program.variable("x", 3, lower=0)
    program.minimize(-x[0] - 2 * x[1])
    program.subject_to(x[0] - x[1] <= 1, name="beside")
    program.subject_to(x[2] >= 2, name="above")
    program.subject_to(x[2] <= 1, name="below")
    result = _solve_or_none(program, name)
    if result is not None:
        assert result.termination is Termination.INFEASIBLE, str(result)
        assert "above" in result.message or "below" in result.message


@pytest.mark.parametrize("scale", [1e-7, 1e7])
@pytest.mark.parametrize("name", ["highs", "native", "clarabel", "pyomo:highs"])
def test_infeasibility_does_not_depend_on_the_units_of_the_rows(name: str, scale: float) -> None:
    program = Program("small rows")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    program.subject_to(scale * x.sum() >= 2 * scale, name="above")
    program.subject_to(scale * x.sum() <= scale, name="below")
    result = _solve_or_none(program, name)
    assert result is not None
    assert result.termination is Termination.INFEASIBLE, str(result)


@pytest.mark.parametrize("name", INTEGER_SOLVERS)
def test_integer_column_without_an_integer_between_its_bounds_is_infeasible(name: str) -> None:
    program = Program("gap")
    x = program.variable("x", lower=0.2, upper=0.5, integer=True)
    program.minimize(x)
    result = milopt.solve(program, name)
    assert result.termination is Termination.INFEASIBLE
    assert result.message == "No integer lies between the bounds of 'x'."


@pytest.mark.parametrize("name", INTEGER_SOLVERS)
def test_integer_program_is_infeasible_though_its_relaxation_is_not(name: str) -> None:
    program = Program("parity")
    x = program.variable("x", 2, lower=0, upper=5, integer=True)
    program.minimize(x.sum())
    program.subject_to(2 * x[0] + 4 * x[1] == 7, name="odd")
    result = milopt.solve(program, name)
    assert result.termination is Termination.INFEASIBLE, str(result)
    assert "'odd'" in result.message


def test_wrong_bound_of_a_mixed_integer_search_does_not_prove_infeasibility() -> None:
    """HiGHS 1.15 has called 0.4 the optimum of the elastic relaxation of this program, which is 0."""
    program = Program("point")
    infinite = np.inf
    x = program.variable(
        "x", 6, lower=np.array([-3.0] + [-infinite] * 5), upper=np.array([-0.4, 2, 3] + [infinite] * 3)
    )
    y = program.variable("y", 3, integer=True)
    program.minimize(np.array([1.0, 0, 3, -2, 0, 0]) @ x)
    program.subject_to(1.14416587 * x[2] <= 3.28833174, name="third")
    program.subject_to(x[np.array([0, 2, 3])] == y, name="whole")
    assert milopt.solve(program, "highs").termination is Termination.UNBOUNDED


@pytest.mark.parametrize("name", INTEGER_SOLVERS)
def test_mixed_integer_search_goes_on_to_the_gap_of_the_certificate(name: str) -> None:
    """At its own default gap of 1e-4 HiGHS stops early on this program."""
    rng = np.random.default_rng(2)
    program = Program("knapsack")
    x = program.variable("x", 30, lower=0, upper=1, integer=True)
    value, weight = rng.uniform(10, 20, 30), rng.uniform(1, 10, (5, 30))
    program.maximize(value @ x)
    program.subject_to(weight @ x <= 0.4 * weight.sum(axis=1), name="weight")
    result = milopt.solve(program, name)
    assert result.termination is Termination.OPTIMAL, str(result)
    assert result.certificate is not None
    assert result.certificate.gap <= 1e-6


def test_no_claim_is_accepted_for_a_strictly_convex_program_in_bad_units() -> None:
    """The curvature of one column is 1e-16 of that of another, but still bounds the objective."""
    result = milopt.solve(_badly_scaled_box(), FixedAnswerSolver(Termination.UNBOUNDED))
    assert result.termination is Termination.STALLED, str(result)


class FixedAnswerEngine(Engine):
    """An engine that returns the same answer for every form."""

    def __init__(self, form: StandardForm, options: Options, answer: Answer) -> None:
        super().__init__(form, options)
        self._answer = answer

    def solve(self, time_limit: float | None) -> Answer:
        return self._answer


class FixedAnswerSolver(Solver):
    """A solver that makes the same claim about every program."""

    name = "claimant"
    features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
    cones = frozenset({"second-order"})
    package = "milopt"

    def __init__(self, claim: Termination, x: np.ndarray | None = None, inertia: Inertia | None = None) -> None:
        self._answer = Answer(claim, "trust me", x=x, inertia=inertia)

    def engine(self, form: StandardForm, options: Options) -> Engine:
        return FixedAnswerEngine(form, options, self._answer)


CLAIMS = (Termination.INFEASIBLE, Termination.UNBOUNDED)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("extras", ["nothing", "a point", "an inertia"])
@pytest.mark.parametrize("kind", ["lp", "qp", "socp", "kernel"])
def test_wrong_claim_does_not_end_a_fallback(kind: str, extras: str, claim: Termination) -> None:
    x = np.ones(3) if extras == "a point" else None
    inertia = Inertia(1, 0, 1) if extras == "an inertia" else None
    program = _bounded(kind)
    result = milopt.solve(program, (FixedAnswerSolver(claim, x, inertia), "clarabel"))
    assert [attempt.termination for attempt in result.attempts] == [Termination.STALLED, Termination.OPTIMAL]
    assert result.solver == "clarabel"
    assert "trust me" in result.attempts[0].message


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("kind", ["lp", "qp", "socp"])
def test_proof_decides_between_two_claims(kind: str, claim: Termination) -> None:
    """A program is reported as infeasible or unbounded by the proof, whichever of the two a solver claims."""
    unbounded = _unbounded(kind)
    assert milopt.solve(unbounded, FixedAnswerSolver(claim)).termination is Termination.UNBOUNDED
    unbounded.subject_to(unbounded.variables["x"][2] <= -1, name="contradiction")
    assert milopt.solve(unbounded, FixedAnswerSolver(claim)).termination is Termination.INFEASIBLE


@pytest.mark.parametrize("end", [Termination.STALLED, Termination.ERROR], ids=str)
def test_the_status_is_proved_even_if_the_solver_gives_up_without_a_point(end: Termination) -> None:
    """ECOS gives up in this way with "close to primal infeasible", and scipy on unbounded integer programs."""
    program = _unbounded("lp")
    assert milopt.solve(program, FixedAnswerSolver(end)).termination is Termination.UNBOUNDED
    program.subject_to(program.variables["x"][2] <= -1, name="contradiction")
    assert milopt.solve(program, FixedAnswerSolver(end)).termination is Termination.INFEASIBLE
    assert milopt.solve(_bounded("lp"), FixedAnswerSolver(end)).termination is end


def test_a_certified_point_is_preferred_to_a_claim() -> None:
    program = Program("point")
    x = program.variable("x", 2, lower=1)
    program.minimize(x.sum())
    result = milopt.solve(program, FixedAnswerSolver(Termination.INFEASIBLE, np.ones(2)))
    assert result.termination is Termination.OPTIMAL
    assert result.point is PointStatus.CERTIFIED


def test_claim_about_lazy_rows_is_checked_on_all_rows() -> None:
    """Without the rows of a maximum the program is unbounded; with them it is not."""
    bags = milopt.as_bags([np.eye(2), -np.eye(2)])
    program = Program("lazy")
    w = program.variable("w", 2)
    program.minimize(milopt.bag_max(bags.instances @ w, bags).sum())
    result = milopt.solve(program, (FixedAnswerSolver(Termination.UNBOUNDED), "highs"), lazy=True)
    assert [attempt.termination for attempt in result.attempts] == [Termination.STALLED, Termination.OPTIMAL]


class RaisingSolver(FixedAnswerSolver):
    """A solver that raises an exception when its engine is built or when it solves."""

    name = "raising"

    def __init__(self, error: BaseException, when: str) -> None:
        super().__init__(Termination.OPTIMAL)
        self._error, self._when = error, when

    def engine(self, form: StandardForm, options: Options) -> Engine:
        if self._when == "open":
            raise self._error
        return RaisingEngine(form, options, self._error)


class RaisingEngine(Engine):
    """An engine that raises an exception when it solves."""

    def __init__(self, form: StandardForm, options: Options, error: BaseException) -> None:
        super().__init__(form, options)
        self._error = error

    def solve(self, time_limit: float | None) -> Answer:
        raise self._error


@pytest.mark.parametrize("when", ["open", "solve"])
@pytest.mark.parametrize("error", [ValueError("odd matrix"), RuntimeError("odd matrix"), MemoryError("odd matrix")])
def test_solver_that_raises_is_followed_by_the_next_one(error: Exception, when: str) -> None:
    result = milopt.solve(_bounded("lp"), (RaisingSolver(error, when), "highs"))
    assert result.termination is Termination.OPTIMAL
    first = result.attempts[0]
    assert (first.solver, first.termination, first.point) == ("raising", Termination.ERROR, PointStatus.NONE)
    assert first.message == f"raising raised {type(error).__name__}: odd matrix."


@pytest.mark.parametrize("when", ["open", "solve"])
def test_the_error_of_a_single_solver_is_reported_with_its_traceback(when: str) -> None:
    result = milopt.solve(_bounded("lp"), RaisingSolver(ValueError("odd matrix"), when))
    assert result.termination is Termination.ERROR
    assert result.message == "raising raised ValueError: odd matrix."
    assert "Traceback" in result.log


@pytest.mark.parametrize("when", ["open", "solve"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ParameterError("no option")], ids=["Ctrl-C", "user"])
def test_interrupts_and_errors_of_the_caller_are_raised(error: BaseException, when: str) -> None:
    with pytest.raises(type(error)):
        milopt.solve(_bounded("lp"), (RaisingSolver(error, when), "highs"))


def test_proof_outranks_the_failure_of_an_earlier_solver() -> None:
    result = milopt.solve(_unbounded("lp"), (RaisingSolver(ValueError("odd"), "solve"), "highs"))
    assert result.termination is Termination.UNBOUNDED
    assert result.solver == "highs"


def _solve_or_none(program: Program, name: str) -> milopt.Result | None:
    """Return the result, or None if the solver does not support the program."""
    try:
        return milopt.solve(program, name)
    except UnsupportedError:
        return None


def _bounded(kind: str) -> Program:
    program = Program(kind)
    x = program.variable("x", 3, lower=0)
    program.subject_to(x.sum() >= 2, name="total")
    if kind == "lp":
        program.minimize(np.array([3.0, 1.0, 2.0]) @ x)
    elif kind == "qp":
        program.minimize(sum_squares(x - np.array([1.0, 2.0, 3.0])))
    elif kind == "socp":
        program.minimize(np.array([3.0, -4.0, 12.0]) @ x)
        program.subject_to(norm(x) <= 2, name="ball")
    else:
        points = np.random.default_rng(0).normal(size=(4, 2))
        f = program.function("f", RBF(1.0))
        program.minimize(0.5 * f.norm_squared() + x.sum())
        program.subject_to(f(points) >= 1 - x.sum(), name="margin")
    return program


def _unbounded(kind: str) -> Program:
    program = Program(kind)
    x = program.variable("x", 3)
    program.subject_to(x[2] >= 1, name="third")
    linear = -x[0] + x[2]
    program.minimize(linear + sum_squares(x[1] - 1) if kind == "qp" else linear)
    if kind == "socp":
        program.subject_to(norm(x[1:]) <= x[0], name="cone")
    return program


def _badly_scaled_box() -> Program:
    program = Program("box")
    x = program.variable("x", 3, lower=-1e9)
    program.minimize(milopt.quad_form(x, np.array([1e8, 1.0, 1e-8])) - x.sum())
    return program
