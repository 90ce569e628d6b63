"""A solver that cannot be stopped runs in a separate process, which is killed at the time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from time import perf_counter, sleep

import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt import Options, Program
from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.inertia import Inertia
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import SECOND_ORDER, ZERO
from milopt.errors import ParameterError
from milopt.solving import engine_process, engine_wire, registry
from milopt.solving.engine import Engine
from milopt.solving.engine_process import EngineProcess, has_slow_iterations
from milopt.solving.solver import Solver

OUTER_SECONDS = 60.0
"""Limit in seconds that every test keeps on a busy machine, but that a solve without an end does not."""

NEVER_ENDS = """
import os, sys, time
from milopt.solving.engine_process import mark_as_child, read_frame, write_frame
reply = os.fdopen(os.dup(1), "wb")
read_frame(sys.stdin.buffer)
write_frame(reply, b"")
while True:
    time.sleep(1)
"""


def _form(n: int = 3) -> StandardForm:
    """Return a small QP with an equality, a second-order cone and bounds.

    It is min 1/2 |x|^2 + 1/2 (x_0 + x_1)^2 - 1'x  s.t.  x_0 - x_1 = 0,  (2, x) in the second-order cone,  x >= -1.
    """
    identity = sp.csr_array(np.eye(n))
    pair = sp.csr_array(np.eye(n)[:2])
    rows = np.vstack([np.eye(n)[0] - np.eye(n)[1], np.zeros(n), np.eye(n)])
    return StandardForm(
        "wire",
        Quadratic(n, (QuadraticPiece(identity, np.ones(n)), QuadraticPiece(pair, np.ones((2, 2))))),
        -np.ones(n),
        0.25,
        sp.csr_array(rows),
        np.concatenate([[0.0, 2.0], np.zeros(n)]),
        np.full(n, -1.0),
        np.full(n, np.inf),
        np.zeros(n, dtype=bool),
        (ColumnBlock("x", 0, n),),
        (RowBlock("tie", ZERO, 0, 1), RowBlock("ball", SECOND_ORDER, 1, n + 2)),
    )


def test_a_form_is_unchanged_after_encoding_and_decoding() -> None:
    form = _form()
    again = engine_wire.unpack_form(engine_wire.pack_form(form))
    assert again.differs_only_in(form, "q")
    np.testing.assert_array_equal(again.q, form.q)
    assert (again.name, again.constant, again.maximize) == (form.name, form.constant, form.maximize)
    assert again.column_names() == form.column_names()
    assert again.row_names() == form.row_names()


def test_sizes_of_several_cones_in_one_block_are_unchanged_after_encoding() -> None:
    form = _form()
    several = replace(form, rows=(form.rows[0], replace(form.rows[1], sizes=np.array([1, 3]))))
    again = engine_wire.unpack_form(engine_wire.pack_form(several))
    assert again.rows[1].cone is SECOND_ORDER
    assert again.rows[1].cone_sizes.tolist() == [1, 3]
    assert again.differs_only_in(several, "q")
    assert not again.differs_only_in(form, "q")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(Termination.LIMIT, "late"),
        Answer(Termination.OPTIMAL, "done", np.arange(3.0), np.ones(2), -4.5, 7, "log", inertia=Inertia(2, 0, 1, -0.5)),
    ],
)
def test_an_answer_is_unchanged_after_encoding_and_decoding(answer: Answer) -> None:
    again = engine_wire.unpack_answer(engine_wire.pack_answer(answer))
    for name in ("termination", "raw_status", "bound", "iterations", "log", "inertia"):
        assert getattr(again, name) == getattr(answer, name)
    for name in ("x", "z"):
        mine, its = getattr(answer, name), getattr(again, name)
        assert (mine is None and its is None) or np.array_equal(mine, its)


@pytest.mark.parametrize("solver", ["clarabel", "ecos"])
def test_a_process_returns_the_answer_of_the_engine(solver: str) -> None:
    here = registry.get_solver(solver).engine(_form(), Options()).solve(None)
    process = EngineProcess(solver, Options())
    try:
        first, second = process.solve(_form(), OUTER_SECONDS), process.solve(_form(), OUTER_SECONDS)
    finally:
        process.close()
    for there in (first, second):
        assert there.termination is Termination.OPTIMAL
        np.testing.assert_allclose(there.x, here.x, atol=1e-7)
        np.testing.assert_allclose(there.z, here.z, atol=1e-6)


def test_an_error_in_the_child_process_is_raised_in_the_parent() -> None:
    process = EngineProcess("clarabel", Options(extra={"no_such_setting": 1}))
    try:
        with pytest.raises(ParameterError, match="no_such_setting"):
            process.solve(_form(), OUTER_SECONDS)
    finally:
        process.close()


@pytest.fixture
def never_ending(monkeypatch: pytest.MonkeyPatch) -> EngineProcess:
    """Start a process that reads a form and never answers."""
    real = subprocess.Popen

    def start(command: list[str], **keywords: object) -> subprocess.Popen[bytes]:
        return real([sys.executable, "-c", NEVER_ENDS], **keywords)

    monkeypatch.setattr(engine_process.subprocess, "Popen", start)
    return EngineProcess("clarabel", Options())


def test_a_solve_that_never_ends_is_killed_at_the_time_limit(never_ending: EngineProcess) -> None:
    began = perf_counter()
    answer = never_ending.solve(_form(), 0.1)
    assert perf_counter() - began < OUTER_SECONDS
    assert answer.termination is Termination.LIMIT
    assert answer.x is None
    assert not answer.interrupted
    assert never_ending._process is None, "no process is left behind"


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to this process")
def test_ctrl_c_kills_the_process(never_ending: EngineProcess) -> None:
    def press() -> None:
        while never_ending._process is None:
            sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    answer = never_ending.solve(_form(), OUTER_SECONDS)
    assert answer.interrupted
    assert answer.termination is Termination.LIMIT


def test_a_process_that_crashes_is_reported_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_process, "CHILD_MODULE", "milopt.no_such_module")
    answer = EngineProcess("clarabel", Options()).solve(_form(), OUTER_SECONDS)
    assert answer.termination is Termination.ERROR


def test_large_programs_are_heavy() -> None:
    n = 800
    dense = Quadratic(n, (QuadraticPiece(sp.csr_array(sp.eye_array(n)), np.eye(n)),))
    assert has_slow_iterations(StandardForm(**{**vars(_form(n)), "P": dense}))
    assert not has_slow_iterations(_form(n))


def _quadratic(n: int, bounds: tuple[float, float], y: np.ndarray | None = None) -> StandardForm:
    """Return min 1/2 x'Px - 1'x  over a box, with a dense P; with y, also s.t. y'x = 0, as in the dual of an SVM."""
    factors = np.random.default_rng(0).normal(size=(n, 3))
    P = Quadratic(n, (QuadraticPiece(sp.csr_array(sp.eye_array(n)), factors @ factors.T + np.eye(n)),))
    F = sp.csr_array(np.zeros((0, n)) if y is None else y[None])
    rows = () if y is None else (RowBlock("bias", ZERO, 0, 1),)
    lower, upper = (np.full(n, bound) for bound in bounds)
    columns = (ColumnBlock("x", 0, n),)
    return StandardForm(
        "late", P, -np.ones(n), 0.0, F, np.zeros(F.shape[0]), lower, upper, np.zeros(n, dtype=bool), columns, rows
    )


@pytest.mark.parametrize(
    ("module", "name", "value", "form"),
    [
        ("native.solver", "HEAVY_CLOSED_FORM_ENTRIES", 1600, _quadratic(40, (-np.inf, np.inf))),
        ("native.solver", "HEAVY_BOX_ENTRIES", 1600, _quadratic(40, (0.0, 0.5))),
        (
            "libsvm",
            "has_slow_iterations",
            lambda form: True,
            _quadratic(40, (0.0, 0.5), np.where(np.arange(40) % 2, 1.0, -1.0)),
        ),
    ],
)
def test_long_factorisations_run_in_a_separate_process_if_there_is_a_time_limit(
    module: str, name: str, value: object, form: StandardForm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process finds the same answer, or is killed at the time limit."""
    solver = module.partition(".")[0]
    here = registry.get_solver(solver).engine(form, Options()).solve(None)
    monkeypatch.setattr(f"milopt.solvers.{module}.{name}", value)
    used: list[float] = []
    solve = EngineProcess.solve

    def recorded(process: EngineProcess, form: StandardForm, time_limit: float) -> Answer:
        used.append(time_limit)
        return solve(process, form, time_limit)

    monkeypatch.setattr(EngineProcess, "solve", recorded)
    engine = registry.get_solver(solver).engine(form, Options())
    there = engine.solve(OUTER_SECONDS)
    engine.close()
    assert used == [OUTER_SECONDS]
    assert there.termination is here.termination is Termination.OPTIMAL
    assert there.inertia == here.inertia
    np.testing.assert_allclose(there.x, here.x, atol=1e-9)


def test_a_child_process_solves_in_its_own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_process, "_in_child", True)
    assert not EngineProcess("ecos", Options()).can_run()


# -- programs on which HiGHS does not end by itself ------------------------------------------------------------------

ENDLESS = """
import sys
import numpy as np
import milopt
from milopt import Program, quad_form

program = Program("endless")
if sys.argv[2] == "interior point":
    x = program.variable("x", 2)
    program.minimize(quad_form(x, [1e-3, 1e-14]) - np.array([1, 4e-6]) @ x)
else:
    P = np.array([
        [1.1574881366161264e-07, 6.022105768619993e-07, 8.083187310172723e-07],
        [6.022105768619993e-07, 3.991381162951672e-05, -4.764845258636075e-05],
        [8.083187310172723e-07, -4.764845258636075e-05, 0.00012894261675601773],
    ])
    lower, upper = [-2.32216546, -2.34478893, -2.59398565], [1.89402989, 2.29451425, 2.19960029]
    x = program.variable("x", 3, lower=lower, upper=upper)
    q = np.array([-3.9648625060939345e-05, 0.0001260467503671094, -0.00042124051542457425])
    program.minimize(0.5 * quad_form(x, P) + q @ x)
print(milopt.solve(program, sys.argv[1]).termination)
"""


@pytest.mark.parametrize(
    ("solver", "which"),
    [
        ("highs", "interior point"),
        ("highs", "cycling box"),
        ("cvxpy:HIGHS", "cycling box"),
        ("pyomo:highs", "cycling box"),
    ],
)
def test_iteration_limits_end_solvers_without_a_time_limit(solver: str, which: str) -> None:
    command = [sys.executable, "-c", ENDLESS, solver, which]
    done = subprocess.run(command, capture_output=True, text=True, timeout=OUTER_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("limit", "stalled", "optimal")


def test_a_time_limit_holds_for_all_solvers_of_a_fallback_together() -> None:
    limits: list[float | None] = []

    class SlowSolver(Solver):
        name = "slow"
        features = frozenset({Feature.LINEAR})
        package = "milopt"

        def engine(self, form: StandardForm, options: Options) -> Engine:
            return SlowEngine(form, options)

    class SlowEngine(Engine):
        def solve(self, time_limit: float | None) -> Answer:
            limits.append(time_limit)
            sleep(0.02)
            return Answer(Termination.STALLED, "slow", np.ones(self.form.n), np.zeros(self.form.m))

    program = Program("slow")
    x = program.variable("x", 1, lower=0, upper=2)
    program.minimize(x.sum())
    result = milopt.solve(program, (SlowSolver(), SlowSolver()), time_limit=OUTER_SECONDS)
    assert len(result.attempts) == 2
    first, second = limits
    assert first is not None
    assert second is not None
    assert second <= first - 0.02
    limits.clear()
    assert len(milopt.solve(program, (SlowSolver(), SlowSolver()), time_limit=0.01).attempts) == 1
