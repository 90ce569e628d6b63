"""Arguments that `solve` rejects, and the state after a rejected change or a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import milopt
from milopt import ConvexConcave, Exact, Program, Representatives, norm1
from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import ConvexityError, DeclarationError, MiloptError, ParameterError
from milopt.outcome.outcome import Outcome
from milopt.solving import proof
from milopt.solving.clock import Clock
from milopt.solving.engine import Engine
from milopt.solving.solver import Solver
from milopt.solving.step_session import StepSession


def _maximum() -> Program:
    program = Program("maximum")
    x = program.variable("x", 2, lower=0, upper=[3.0, 1.0])
    program.maximize(x.sum())
    return program


@pytest.mark.parametrize(
    "arguments",
    [{"options": {"time_limit": 3}}, {"scheme": 3}, {"solver": 3}, {"solver": ()}, {"solver": ("highs", 3)}],
    ids=str,
)
def test_arguments_of_the_wrong_type_raise_an_error_of_one_sentence(arguments: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=r"^\w.*\.$"):
        milopt.solve(_maximum(), **arguments)  # type: ignore[arg-type]  # that is what is tested


def test_only_programs_are_solved() -> None:
    with pytest.raises(ParameterError, match="solve requires a Program"):
        milopt.solve(3)  # type: ignore[arg-type]  # that is what is tested


@pytest.mark.parametrize("scheme", [ConvexConcave, Representatives])
def test_schemes_make_at_least_one_step(scheme: type) -> None:
    with pytest.raises(ParameterError, match="max_steps"):
        scheme(max_steps=0)
    with pytest.raises(ParameterError, match="max_nodes"):
        Exact(max_nodes=0)


@pytest.mark.parametrize("solver", ["highs", "clarabel", "native"])
def test_bounds_have_the_declared_sense(solver: str) -> None:
    result = milopt.solve(_maximum(), solver)
    assert result.objective == pytest.approx(4.0)
    assert result.bound == pytest.approx(4.0)
    assert result.history[0].bound == pytest.approx(4.0)


def test_rejected_changes_leave_the_session_as_it_was() -> None:
    program = Program("linear")
    x = program.variable("x", 3, lower=0, upper=1)
    program.minimize(-x.sum())
    program.subject_to(x[0] + x[1] <= 1, name="pair")
    with milopt.Session(program, "highs") as session:
        assert session.solve().objective == pytest.approx(-2.0)
        with pytest.raises(ConvexityError):
            session.subject_to(norm1(x) >= 1, name="bad")
        with pytest.raises(ConvexityError):
            session.replace("pair", norm1(x) >= 1)
        with pytest.raises(MiloptError):
            session.variable("y", 2, lower=0, upper=1, cost=-1.0, rows={"pair": np.ones((5, 3))})
        with pytest.raises(ConvexityError):
            session.minimize(-1.0 * norm1(x))
        assert list(session.program.constraints) == ["pair"]
        assert list(session.program.variables) == ["x"]
        assert session.solve().objective == pytest.approx(-2.0)
        session.subject_to(x.sum() <= 1.5, name="bad")
        assert session.solve().objective == pytest.approx(-1.5)


def test_a_changed_offset_keeps_the_model_of_a_persistent_solver() -> None:
    program = Program("offset")
    x = program.variable("x", 3, lower=0)
    room = program.parameter("room", 2)
    room.value = np.array([1.0, 2.0])
    program.minimize(np.array([-1.0, -2.0, 1.0]) @ x)
    program.subject_to(np.array([[1.0, 1.0, -1.0], [1.0, -1.0, 0.0]]) @ x <= room, name="rows")
    program.subject_to(x.sum() <= 3, name="total")
    with StepSession(program, milopt.get_solver("highs")) as session:
        for value in ([1.0, 2.0], [2.0, 0.5], [0.0, 0.0]):
            session.set_parameter(room, np.array(value))
            assert session.solve().objective == pytest.approx(milopt.solve(program, "clarabel").objective, abs=1e-7)
        assert session.rebuilds == 0


def test_a_rejected_block_does_not_occupy_its_name() -> None:
    program = Program("names")
    x = program.variable("x", 2, lower=0)
    with pytest.raises(DeclarationError):
        program.subject_to(x >= np.zeros(3), name="rows")
    program.subject_to(x >= 0, name="rows")


@pytest.mark.parametrize("solver", ["auto", "highs", "clarabel", "ecos", "native"])
def test_a_function_that_is_never_evaluated_is_zero(solver: str) -> None:
    program = Program("idle function")
    f = program.function("f", milopt.RBF(1.0))
    program.minimize(f.norm_squared())
    result = milopt.solve(program, solver).require_certified()
    assert result.objective == 0
    assert result.functions["f"](np.ones((2, 3))).tolist() == [0.0, 0.0]


def test_a_change_of_the_form_is_reported() -> None:
    """A solver that fails on the dual form gets the primal form, and the result reports it, also through a scheme."""
    rng = np.random.default_rng(0)
    bags = milopt.as_bags([rng.normal(size=(3, 2)) for _ in range(6)])
    y = np.array([1.0, -1.0] * 3)
    model = milopt.models.MISVM(kernel=milopt.RBF(0.5))
    result = milopt.solve(model.program(bags, y), _FailsOnDualForms())
    assert result.termination is Termination.STATIONARY
    assert result.point is PointStatus.CERTIFIED
    assert "The dual ended as 'broken'; solved in primal form." in result.message
    assert result.objective == pytest.approx(milopt.solve(model.program(bags, y), "clarabel").objective, rel=1e-6)


@pytest.mark.parametrize("is_point", [False, True], ids=["no point", "a point that is not proved"])
def test_after_a_failed_step_the_last_certified_step_is_kept(monkeypatch: pytest.MonkeyPatch, is_point: bool) -> None:
    rng = np.random.default_rng(0)
    bags = milopt.as_bags([rng.normal(size=(3, 2)) for _ in range(12)])
    program = milopt.models.MISVM(kernel=milopt.RBF(0.5), C=10).program(bags, np.array([1.0, -1.0] * 6))
    whole = milopt.solve(program, "clarabel")
    assert len(whole.history) > 2
    honest, calls = StepSession.solve, []

    def fails_later(self: StepSession, clock: Clock | None = None) -> Outcome:
        calls.append(honest(self, clock))
        if len(calls) <= 2:
            return calls[-1]
        if is_point:
            # A solver calls a saddle point stationary, whether that is proved or not.
            stationary = Termination.STATIONARY
            return replace(calls[-1], termination=stationary, status=PointStatus.FEASIBLE, raw_status="broken")
        return Outcome.without_point(self.form, Termination.ERROR, "broken", "It broke.")

    monkeypatch.setattr(StepSession, "solve", fails_later)
    cut = milopt.solve(program, "clarabel")
    ended = Termination.STALLED if is_point else Termination.ERROR
    assert (cut.termination, cut.point) == (ended, PointStatus.FEASIBLE)
    assert cut.objective == pytest.approx(cut.history[-1].objective, rel=1e-12)
    assert cut.objective == pytest.approx(whole.history[len(cut.history) - 1].objective)
    assert cut.message == "A step is not certified (broken); the last certified step is kept."


def test_polishing_does_not_violate_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The point x = 1.5 with a suitable multiplier has smaller residuals than x = 0, but is infeasible."""
    program = Program("capped")
    x = program.variable("x", 1)
    program.minimize(1e4 * milopt.sum_squares(x - 3))
    program.subject_to(x <= 1, name="cap")
    monkeypatch.setattr(
        proof, "POLISH_METHODS", proof.POLISH_METHODS[:1]
    )  # in other units these numbers describe another point
    monkeypatch.setattr(proof, "polish", lambda form, x, z, by: (np.array([1.5]), np.array([3e4])))
    result = milopt.solve(program, _ZeroSolver())
    assert (result.point, result.polished) == (PointStatus.FEASIBLE, None)
    assert result.values["x"].tolist() == [0.0]


def test_an_exact_search_sums_the_work_of_all_nodes() -> None:
    rng = np.random.default_rng(0)
    bags = milopt.as_bags([rng.normal(size=(3, 2)) for _ in range(6)])
    program = milopt.models.MIORDM(kernel=milopt.RBF(0.5), scheme="exact").program(bags, np.array([1.0, -1.0] * 3))
    result = milopt.solve(program, "clarabel", scheme="exact")
    assert len(result.history) > 5
    assert result.iterations >= 5 * len(result.history)
    assert 0 < result.seconds.build + result.seconds.solve <= result.seconds.total


class _FailsOnDualForms(Solver):
    """Clarabel, except that it fails on dual forms."""

    name = "breaks on the dual"
    features = milopt.get_solver("clarabel").features
    package = "milopt"

    def engine(self, form: StandardForm, options: milopt.Options) -> Engine:
        return _FailingDualEngine(form, options)


class _FailingDualEngine(Engine):
    def solve(self, time_limit: float | None) -> Answer:
        if self.form.name.endswith("(dual)"):
            return Answer(Termination.ERROR, "broken")
        return milopt.get_solver("clarabel").engine(self.form, self.options).solve(time_limit)


class _ZeroSolver(_FailsOnDualForms):
    """A solver that returns x = 0 for every program."""

    name = "says zero"

    def engine(self, form: StandardForm, options: milopt.Options) -> Engine:
        return _ZeroPointEngine(form, options)


class _ZeroPointEngine(Engine):
    def solve(self, time_limit: float | None) -> Answer:
        return Answer(Termination.OPTIMAL, "zero", np.zeros(self.form.n), np.zeros(self.form.m))
