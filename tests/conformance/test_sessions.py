"""After every change of a session, it has the optimum of a fresh solve of the changed program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt import RBF, Program, Session, as_bags, bag_max, quad_form, sum_squares
from milopt.compilation.minorant import one_hot_minorant
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.maximum import BagMax
from milopt.outcome.result import Result
from milopt.solving import registry
from milopt.solving.options import Options
from milopt.solving.step_session import StepSession

SOLVERS = ("highs", "clarabel", "ecos", "piqp")
RNG = np.random.default_rng(81)
A, B, C = RNG.normal(size=(6, 5)), RNG.normal(size=(3, 5)), 4 * RNG.normal(size=5)
BAGS = as_bags([RNG.normal(size=(size, 2)) for size in (3, 4, 2, 5, 3, 4)])
Y = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
NEAR = np.full(5, 0.3)


def _declare(curved: bool) -> Program:
    program = Program("changing")
    x = program.variable("x", 5, lower=-2, upper=2)
    p = program.parameter("p", 6)
    p.value = np.zeros(6)
    program.minimize(C @ x + (0.5 * quad_form(x, np.eye(5)) if curved else 0.0))
    program.subject_to(A @ x >= A @ NEAR - 0.5 + p, name="rows")
    program.subject_to(B @ x <= B @ NEAR + 0.5, name="caps")
    return program


Verb = Callable[[Session], None]


def _set_parameter(session: Session) -> None:
    session.set_parameter(session.program.parameters["p"], np.linspace(0.0, 0.4, 6))


def _set_parameter_twice(session: Session) -> None:
    _set_parameter(session)
    session.solve()
    session.set_parameter(session.program.parameters["p"], np.linspace(0.3, -0.2, 6))


def _set_objective(session: Session) -> None:
    x = session.program.variables["x"]
    curved = session.program.kind == "QP"
    session.minimize(-2 * (C @ x) + x[0] + (0.5 * quad_form(x, np.eye(5)) if curved else 0.0))


def _maximize(session: Session) -> None:
    x = session.program.variables["x"]
    session.maximize(C @ x - x[1])


def _add_rows(session: Session) -> None:
    x = session.program.variables["x"]
    session.subject_to(x.sum() >= 1.6, name="total")
    session.solve()
    session.subject_to(x[0] - x[1] == 0.25, name="tie")


def _replace_rows(session: Session) -> None:
    x = session.program.variables["x"]
    session.replace("caps", B[::-1].copy() @ x <= B[::-1].copy() @ NEAR + 0.1)


def _replace_by_fewer_rows(session: Session) -> None:
    x = session.program.variables["x"]
    session.replace("rows", A[:2] @ x >= A[:2] @ NEAR)


def _add_columns(session: Session) -> None:
    entering = np.linspace(-1, 1, 12).reshape(6, 2)
    rows = {"rows": entering, "caps": -np.ones((3, 2))}
    session.variable("new", 2, lower=0, upper=1, cost=[-0.3, 0.2], rows=rows)


def _delete_rows(session: Session) -> None:
    session.delete("rows")


def _delete_and_add_rows(session: Session) -> None:
    session.delete("rows")
    session.solve()
    session.subject_to(session.program.variables["x"].sum() >= 1.0, name="rows")
    session.solve()
    session.delete("caps")


def _apply_all_changes(session: Session) -> None:
    for verb in (_set_parameter, _add_rows, _add_columns, _replace_rows, _set_objective):
        verb(session)
        session.solve()
    session.delete("total")


VERBS: list[Verb] = [
    _set_parameter,
    _set_parameter_twice,
    _set_objective,
    _maximize,
    _add_rows,
    _replace_rows,
    _replace_by_fewer_rows,
    _add_columns,
    _delete_rows,
    _delete_and_add_rows,
    _apply_all_changes,
]
NO_REBUILD = [verb for verb in VERBS if verb is not _replace_by_fewer_rows]


def _assert_same_optimum(result: Result, session: Session) -> None:
    """Assert that the result is certified and has the objective of a fresh solve by another solver."""
    fresh = milopt.solve(session.program, "clarabel" if session.solver.name != "clarabel" else "highs")
    fresh.require_certified()
    assert result.termination is Termination.OPTIMAL, result.message
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(fresh.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("curved", [False, True], ids=["lp", "qp"])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__.strip("_"))
def test_changed_session_has_the_optimum_of_a_fresh_solve(verb: Verb, curved: bool, solver: str) -> None:
    with Session(_declare(curved), registry.get_solver(solver)) as session:
        before = session.solve().objective
        verb(session)
        after = session.solve()
        _assert_same_optimum(after, session)
        assert after.objective != pytest.approx(before, rel=1e-4), "a change that changes nothing proves nothing"


@pytest.mark.parametrize("verb", NO_REBUILD, ids=lambda verb: verb.__name__.strip("_"))
@pytest.mark.parametrize("solver", ["highs", "native"])
def test_linear_models_stay_alive(solver: str, verb: Verb) -> None:
    with Session(_declare(False), registry.get_solver(solver)) as session:
        session.solve()
        verb(session)
        _assert_same_optimum(session.solve(), session)
        assert session.rebuilds == 0


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__.strip("_"))
def test_a_change_before_the_first_solve_counts(verb: Verb) -> None:
    with Session(_declare(True), registry.get_solver("clarabel")) as session:
        verb(session)
        _assert_same_optimum(session.solve(), session)


# -- functions, witnesses, lazy rows -------------------------------------------------------------------------------


def _bags_program() -> Program:
    program = Program("bags")
    f, b = program.function("f", RBF(0.5)), program.variable("b")
    slack = program.variable("slack", 6, lower=0)
    program.minimize(0.5 * f.norm_squared() + 3 * slack.sum() + 0.01 * sum_squares(b))
    program.subject_to(Y * (bag_max(f(BAGS)) + b) >= 1 - slack, name="margin")
    return program


def _witnesses(program: Program, seed: int) -> dict[BagMax, sp.csr_array]:
    (atom,) = program.maxima()
    rng = np.random.default_rng(seed)
    ends = zip(BAGS.offsets[:-1], BAGS.offsets[1:], strict=True)
    return {atom: one_hot_minorant(atom, np.array([rng.integers(a, b) for a, b in ends]))}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("lazy", [False, True], ids=["all rows", "lazy rows"])
def test_witnesses_change_in_place(solver: str, form: str, lazy: bool) -> None:
    program = _bags_program()
    options = Options(form=form, lazy=lazy)
    seen = set()
    with StepSession(program, registry.get_solver(solver), options, witnesses=_witnesses(program, 0)) as session:
        session.solve()
        for seed in (1, 2, 0):
            session.set_witnesses(_witnesses(program, seed))
            changed = session.solve()
            other = registry.get_solver("clarabel" if solver != "clarabel" else "highs")
            with StepSession(program, other, Options(lazy=False), witnesses=_witnesses(program, seed)) as fresh:
                of_fresh = fresh.solve()
            assert of_fresh.status is changed.status is PointStatus.CERTIFIED
            assert changed.objective == pytest.approx(of_fresh.objective, rel=1e-6)
            seen.add(round(changed.objective, 6))
    assert len(seen) == 3, "the selections must differ in their optimum"


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_lazy_rows_change_nothing(solver: str, form: str) -> None:
    rng = np.random.default_rng(82)
    bags = as_bags([rng.normal(size=(12, 3)) for _ in range(10)])
    target = rng.normal(size=10)

    def declared() -> Program:
        program = Program("caps")
        f, slack = program.function("f", RBF(0.3)), program.variable("slack", 10, lower=0)
        program.minimize(0.5 * f.norm_squared() - 2 * f(bags).sum() / bags.instances.shape[0] + 5 * slack.sum())
        program.subject_to(bag_max(f(bags)) <= 0.1 * np.abs(target) + slack, name="cap")
        return program

    whole, lazy = (milopt.solve(declared(), solver, lazy=lazy, form=form).require_certified() for lazy in (False, True))
    assert lazy.objective == pytest.approx(whole.objective, rel=1e-6)
    assert lazy.functions["f"](bags.instances) == pytest.approx(whole.functions["f"](bags.instances), abs=1e-4)
    with StepSession(declared(), registry.get_solver(solver), Options(lazy=True, form=form)) as session:
        session.solve()
        assert 10 <= session.live.rows.active.size < 120, "lazy means fewer rows than there are"
        assert session.live.rows.is_lazy


def test_closed_session_and_unknown_blocks() -> None:
    with Session(_declare(False), registry.get_solver("highs")) as session:
        session.solve()
        with pytest.raises(milopt.MiloptError, match="it has rows, caps"):
            session.delete("row")
        with pytest.raises(milopt.MiloptError, match="it has rows, caps"):
            session.replace("cap", session.program.variables["x"] >= 0)
        _assert_same_optimum(session.solve(), session)
