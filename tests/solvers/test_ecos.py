"""ECOS: optima compared with other solvers, quadratics through the cone bridge, and a time limit by a child process."""

from __future__ import annotations

import numpy as np
import pytest

import milopt
from milopt.compilation.status import Termination
from milopt.cones import NONNEGATIVE, ZERO
from milopt.errors import ParameterError
from milopt.solvers.clarabel import Clarabel
from milopt.solvers.ecos.call import EcosReply
from milopt.solvers.ecos.solver import ECOS
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.options import Options

pytest.importorskip("ecos", reason="ECOS has no wheels for Python 3.13 and later")

LINEAR = ["one row", "no rows", "degenerate", "badly scaled", "random linear", "second-order"]
QUADRATIC = ["no rows, quadratic", "singular quadratic", "definite quadratic"]


def solve(form, time_limit=None, **options):
    return ECOS().engine(form, Options(**options)).solve(time_limit)


@pytest.mark.parametrize("family", LINEAR)
def test_the_optimum_satisfies_the_kkt_conditions(family, program, kkt_residuals):
    form = program(family)
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-8


@pytest.mark.parametrize("family", QUADRATIC)
def test_quadratics_are_solved_through_the_cone(family, program, kkt_residuals):
    form = program(family)
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-7


def test_recentring_makes_large_quadratics_accurate(build_form, kkt_residuals):
    rng = np.random.default_rng(3)
    root = rng.normal(size=(10, 30))
    form = build_form(100 * rng.normal(size=30), P=root.T @ root, lower=-10.0, upper=10.0)
    answer = solve(form)
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-7


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("units", [1.0, 1e2])
def test_accuracy_does_not_depend_on_the_units_of_objective_and_columns(size, units, build_form, kkt_residuals):
    """Solve one planted program in several units; without scaling, ECOS stops at an absolute gap or breaks down."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        d = units ** rng.uniform(-1, 1, 12)
        root, rows, x, z = rng.normal(size=(6, 12)), rng.normal(size=(8, 12)), rng.normal(size=12), np.zeros(8)
        z[:4] = rng.uniform(0.5, 1.5, 4)
        slack = np.concatenate([np.zeros(4), rng.uniform(0.5, 1.5, 4)])
        P, q = root.T @ root, rows.T @ z - root.T @ (root @ x)
        rows_of = [(NONNEGATIVE, rows * d, slack - rows @ x)]
        answer = solve(build_form(size * d * q, rows_of, P=size * d[:, None] * P * d))
        unscaled = build_form(q, [(NONNEGATIVE, rows, slack - rows @ x)], P=P)
        assert kkt_residuals(unscaled, d * answer.x, answer.z / size).worst < 1e-7


@pytest.mark.parametrize("family", LINEAR + QUADRATIC)
def test_objectives_agree_with_clarabel(family, program):
    form = program(family)
    ours, other = solve(form), Clarabel().engine(form, Options()).solve(None)
    assert form.value(ours.x) == pytest.approx(form.value(other.x), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("family", ["one row", "random linear", "second-order", "definite quadratic"])
def test_unique_multipliers_agree_with_clarabel_in_sign_and_size(family, program):
    form = program(family)
    other = Clarabel().engine(form, Options()).solve(None)
    assert solve(form).z == pytest.approx(other.z, abs=1e-5)


@pytest.mark.parametrize(
    ("family", "termination"),
    [
        ("infeasible", Termination.INFEASIBLE),
        ("infeasible quadratic", Termination.INFEASIBLE),
        ("unbounded", Termination.UNBOUNDED),
        ("unbounded quadratic", Termination.UNBOUNDED),
    ],
)
def test_infeasible_and_unbounded_programs_have_no_point(family, termination, program):
    answer = solve(program(family))
    assert (answer.termination, answer.x, answer.z) == (termination, None, None)


def test_programs_without_columns_rows_or_entries(build_form):
    assert solve(build_form([])).termination is Termination.OPTIMAL
    assert solve(build_form([1.0, 0.0])).termination is Termination.UNBOUNDED
    empty = build_form([0.0, 0.0], [(NONNEGATIVE, np.zeros((1, 2)), [1.0])])
    assert solve(empty).termination is Termination.OPTIMAL
    equalities = build_form([1.0, 1.0], [(ZERO, np.eye(2), [-1.0, -2.0])])
    assert solve(equalities).x == pytest.approx([1.0, 2.0])


def test_every_change_is_counted_as_a_rebuild(program):
    engine = ECOS().engine(program("one row"), Options())
    engine.solve(None)
    engine.update(program("second-order"), Change(ChangeKind.EVERYTHING))
    assert engine.solve(None).termination is Termination.OPTIMAL
    assert engine.rebuilds == 1


def test_a_sufficient_time_limit_does_not_change_the_result(program):
    form = program("definite quadratic")
    limited, free = solve(form, time_limit=20.0, verbose=True), solve(form)
    assert limited.termination is Termination.OPTIMAL
    assert limited.x == pytest.approx(free.x, abs=1e-12)
    assert limited.z == pytest.approx(free.z, abs=1e-12)
    assert "ECOS" in limited.log


def test_an_insufficient_time_limit_ends_the_solve(build_form, monkeypatch):
    monkeypatch.setattr("milopt.solving.engine_process.REPLY_GRACE_SECONDS", 0.0)
    rng = np.random.default_rng(0)
    form = build_form(rng.uniform(size=500), [(NONNEGATIVE, rng.uniform(size=(700, 500)), -np.ones(700))], lower=0)
    answer = solve(form, time_limit=0.01)  # shorter than one iteration
    assert (answer.termination, answer.x) == (Termination.LIMIT, None)


def test_an_iteration_limit_returns_the_last_point(program):
    form = program("random linear")
    answer = solve(form, extra={"max_iters": 3})
    assert answer.termination is Termination.LIMIT
    assert answer.x.shape == (form.n,)
    assert answer.z.shape == (form.m,)


def test_the_log_is_returned_if_verbose_and_not_printed(program, capfd):
    assert "ECOS" in solve(program("one row"), verbose=True).log
    assert solve(program("one row")).log == ""
    assert "ECOS" not in capfd.readouterr().out


@pytest.mark.parametrize("extra", [{"tolerance": 1e-3}, {"max_iters": "ten"}, {"feastol": -1.0}])
def test_a_wrong_extra_setting_is_named(extra, program):
    with pytest.raises(ParameterError, match=next(iter(extra))):
        solve(program("one row"), extra=extra)


@pytest.mark.parametrize(("flag", "words"), [(11, "Close to primal infeasible"), (12, "Close to dual infeasible")])
def test_nearly_infeasible_programs_are_diagnosed(flag: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = np.zeros(0)
    monkeypatch.setattr(
        "milopt.solvers.ecos.solver.call_ecos",
        lambda program, settings: EcosReply(flag, words, empty, empty, empty, 9),
    )
    program = milopt.Program("near")
    x = program.variable("x", 2, lower=0)
    program.minimize(x.sum())
    assert milopt.solve(program, "ecos").termination is Termination.STALLED
    program.subject_to(x.sum() <= -1, name="below")
    result = milopt.solve(program, "ecos")
    assert result.termination is Termination.INFEASIBLE
    assert result.raw_status == words
