"""Clarabel: optima and multipliers compared with other solvers, cones included."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import cvxpy
import numpy as np
import pytest

from milopt.compilation.status import Termination
from milopt.cones import SECOND_ORDER
from milopt.errors import ParameterError
from milopt.solvers import clarabel as clarabel_engine
from milopt.solvers.clarabel import Clarabel
from milopt.solvers.highs.solver import HiGHS
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.options import Options

FAMILIES = [
    "one row",
    "no rows",
    "no rows, quadratic",
    "degenerate",
    "badly scaled",
    "random linear",
    "singular quadratic",
    "definite quadratic",
    "second-order",
]


def solve(form, time_limit=None, **options):
    return Clarabel().engine(form, Options(**options)).solve(time_limit)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_optimum_satisfies_the_kkt_conditions(family, program, kkt_residuals):
    form = program(family)
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-8


@pytest.mark.parametrize("family", FAMILIES[:-1])
def test_objectives_agree_with_highs(family, program):
    form = program(family)
    ours, other = solve(form), HiGHS().engine(form, Options()).solve(None)
    assert form.value(ours.x) == pytest.approx(form.value(other.x), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("family", ["one row", "random linear", "definite quadratic"])
def test_unique_multipliers_agree_with_highs_in_sign_and_size(family, program):
    form = program(family)
    other = HiGHS().engine(form, Options()).solve(None)
    assert np.abs(other.z).max() > 1e-3
    assert solve(form).z == pytest.approx(other.z, abs=1e-6)


def test_a_cone_program_agrees_with_cvxpy(program):
    form = program("second-order")
    x = cvxpy.Variable(6)
    constraints = [cvxpy.norm(x) <= 2, cvxpy.sum(x) >= 1, x <= 1]
    reference = cvxpy.Problem(cvxpy.Minimize(form.q @ x), constraints).solve(solver="SCS", eps=1e-9)
    assert form.value(solve(form).x) == pytest.approx(reference, abs=1e-6)


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


def test_programs_without_columns_or_constraints(build_form):
    assert solve(build_form([])).termination is Termination.OPTIMAL
    fails = build_form([], [(SECOND_ORDER, np.zeros((2, 0)), [1.0, 2.0])])
    assert solve(fails).termination is Termination.INFEASIBLE
    assert solve(build_form([1.0, 0.0])).termination is Termination.UNBOUNDED
    assert solve(build_form([0.0, 0.0])).termination is Termination.OPTIMAL


@pytest.mark.parametrize("what", [ChangeKind.LINEAR, ChangeKind.OFFSET])
def test_new_costs_and_offsets_are_written_in_place(what, program, kkt_residuals):
    form = program("definite quadratic")
    engine = Clarabel().engine(form, Options())
    engine.solve(None)
    new = replace(form, q=-2 * form.q) if what is ChangeKind.LINEAR else replace(form, g=form.g * 1.1)
    engine.update(new, Change(what))
    answer = engine.solve(10.0)
    assert engine.rebuilds == 0
    assert kkt_residuals(new, answer.x, answer.z).worst < 1e-8


def test_other_changes_are_counted_as_rebuilds(program, kkt_residuals):
    engine = Clarabel().engine(program("one row"), Options())
    engine.solve(None)
    new = program("second-order")
    engine.update(new, Change(ChangeKind.EVERYTHING))
    answer = engine.solve(None)
    assert engine.rebuilds == 1
    assert kkt_residuals(new, answer.x, answer.z).worst < 1e-8


def test_limits_return_the_last_point(program):
    form = program("second-order")
    limited = solve(form, extra={"max_iter": 3})
    assert limited.termination is Termination.LIMIT
    assert limited.x.shape == (form.n,)
    assert limited.z.shape == (form.m,)
    assert solve(form, time_limit=1e-9).termination is Termination.LIMIT


def test_the_log_is_returned_if_verbose_and_not_printed(program, capfd):
    assert "Clarabel" in solve(program("one row"), verbose=True).log
    assert solve(program("one row")).log == ""
    assert "Clarabel" not in capfd.readouterr().out


@pytest.mark.parametrize("extra", [{"tol_feasible": 1e-3}, {"max_iter": "ten"}, {"default": 1}])
def test_a_wrong_extra_setting_is_named(extra, program):
    with pytest.raises(ParameterError, match=next(iter(extra))):
        solve(program("one row"), extra=extra)


def test_ctrl_c_ends_a_solve(program, monkeypatch):
    engine = Clarabel().engine(program("second-order"), Options())
    run = clarabel_engine.run_interruptible

    def run_with_ctrl_c(call, stop):
        def call_after_signal():
            os.kill(os.getpid(), signal.SIGINT)
            assert engine._stop.wait(60.0), "Ctrl-C asks the solver to stop"
            call()

        return run(call_after_signal, stop, patience=60.0)

    monkeypatch.setattr(clarabel_engine, "run_interruptible", run_with_ctrl_c)
    answer = engine.solve(None)
    assert (answer.termination, answer.interrupted) == (Termination.LIMIT, True)
    monkeypatch.undo()
    assert engine.solve(None).termination is Termination.OPTIMAL
