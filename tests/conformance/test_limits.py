"""Limits: a time limit holds for a solve and for a whole scheme, Ctrl-C keeps the best point, attempts are recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import count
from time import perf_counter

import numpy as np
import pytest

import milopt
from milopt import RBF, Linear, Options, Program, as_bags, bag_max, norm, norm1
from milopt.compilation.answer import Answer
from milopt.compilation.status import PointStatus, Termination
from milopt.errors import MiloptError, ParameterError, UnsupportedError
from milopt.schemes.exact import Exact
from milopt.solvers.clarabel import ClarabelEngine

HARD = """
import json, sys
import numpy as np
import milopt
from milopt import RBF, Program, as_bags, bag_max

rng = np.random.default_rng(1)
bags = as_bags([rng.normal(size=(8, 5)) for _ in range(60)])
y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
program = Program("hard")
f, b = program.function("f", RBF(0.2)), program.variable("b")
slack = program.variable("slack", 60, lower=0)
program.minimize(0.5 * f.norm_squared() + 10 * slack.sum())
program.subject_to(y * (bag_max(f(bags)) + b) >= 1 - slack, name="margin")
"""


def _hard() -> Program:
    scope: dict[str, object] = {}
    exec(HARD, scope)  # the same text that the interrupted process runs
    program = scope["program"]
    assert isinstance(program, Program)
    return program


def _knapsack(count: int) -> Program:
    """Return a strongly correlated knapsack, so that a search takes long."""
    rng = np.random.default_rng(2)
    weight = rng.integers(1000, 2000, size=(6, count)).astype(float)
    program = Program("knapsack")
    x = program.variable("x", count, lower=0, upper=1, integer=True)
    program.maximize((weight.sum(axis=0) + 100) @ x)
    program.subject_to(weight @ x <= weight.sum(axis=1) / 2, name="room")
    return program


OUTER_SECONDS = 60.0
"""Limit in seconds that every test keeps on a busy machine, but that a search without a limit does not."""

SECONDS_PER_READING = 100.0
"""Seconds by which the clock advances at each reading: more than any step needs, so that no step is interrupted."""


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time pass with each reading of a scheme's clock, not with the work."""
    readings = count(step=SECONDS_PER_READING)
    monkeypatch.setattr("milopt.solving.clock.perf_counter", lambda: next(readings))
    monkeypatch.setattr("milopt.schemes.completion.MIN_COMPLETION_SECONDS", 30 * SECONDS_PER_READING)


def _check_honest(program: Program, result: milopt.Result) -> None:
    """Check that status and message are correct for the point: its rows, its violation, its objective."""
    assert result.termination is not Termination.LIMIT or result.message
    if not result.values:
        assert result.point is PointStatus.NONE
        return
    slack, margin = result.values["slack"], result.value(program.constraints["margin"].expression)
    assert result.objective == pytest.approx(float(result.value(program.objective)), rel=1e-6)
    violation = max(0.0, -slack.min(), -margin.min())
    if result.point is PointStatus.NONE:
        assert f"it violates the constraints by {violation:.3g}" in result.message
    else:
        assert violation <= 1e-5, "the best point satisfies the declared rows, true maxima and all"
        assert "violates" not in result.message


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("readings", [6, 12, 30])
@pytest.mark.parametrize("scheme", ["exact", "ccp", "representatives"])
@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_time_limit_holds_for_a_whole_scheme(scheme: str, solver: str, readings: int) -> None:
    program = _hard()
    result = milopt.solve(program, solver, scheme=scheme, time_limit=readings * SECONDS_PER_READING)
    assert len(result.history) <= readings
    assert result.point is not PointStatus.NONE, "the first step was finished"
    _check_honest(program, result)
    if scheme == "ccp" and readings == 30:
        assert (result.termination, result.point) == (Termination.STATIONARY, PointStatus.CERTIFIED)
    else:
        assert (result.termination, result.point) == (Termination.LIMIT, PointStatus.FEASIBLE)
        assert result.exit_code == 3
        assert result.bound is None or result.bound <= result.objective


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_time_limit_ends_a_search_that_would_take_hours(solver: str) -> None:
    program = _hard()
    began = perf_counter()
    result = milopt.solve(program, solver, scheme="exact", time_limit=0.3)
    assert perf_counter() - began < OUTER_SECONDS
    assert result.termination is Termination.LIMIT
    _check_honest(program, result)


@pytest.mark.parametrize("scheme", ["exact", "ccp", "representatives"])
def test_the_message_of_an_interrupted_first_step_gives_the_violation_of_its_point(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(self: ClarabelEngine, time_limit: float | None) -> Answer:
        return Answer(Termination.LIMIT, "cut off", np.full(self.form.n, -1.0), np.zeros(self.form.m))

    monkeypatch.setattr(ClarabelEngine, "solve", cut_off)
    # In primal form the solver's point has its own slacks, which violate their rows.
    program, chosen = _hard(), Exact(max_nodes=1) if scheme == "exact" else scheme
    result = milopt.solve(program, "clarabel", scheme=chosen, form="primal")
    assert result.termination is Termination.LIMIT
    _check_honest(program, result)
    # An iterate of representatives gets slacks that satisfy the rows.
    if scheme != "representatives":
        assert result.point is PointStatus.NONE
        assert "it violates the constraints by" in result.message


def test_settings_of_one_solver_are_not_used_for_completions() -> None:
    result = milopt.solve(_hard(), "clarabel", scheme="representatives", extra={"max_iter": 2})
    assert (result.termination, result.point) == (Termination.LIMIT, PointStatus.FEASIBLE)
    assert result.message == "A step is not certified (MaxIterations); the best iterate is kept."


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_time_limit_of_a_search_keeps_the_best_point(solver: str) -> None:
    for limit in (0.3, 3.0, 30.0):  # longer only where the machine is too busy to find a point in time
        began = perf_counter()
        result = milopt.solve(_knapsack(60), solver, time_limit=limit)
        assert perf_counter() - began < limit + OUTER_SECONDS
        assert result.termination is Termination.LIMIT
        assert result.exit_code == 3
        if result.values:
            break
    assert result.point is PointStatus.FEASIBLE
    x = result.values["x"]
    assert x == pytest.approx(np.round(x), abs=1e-6)
    assert result.bound is not None
    assert result.bound >= result.objective, "a maximisation is bounded from above"


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native", "piqp", "scip"])
def test_a_tiny_time_limit_does_not_crash(solver: str) -> None:
    rng = np.random.default_rng(3)
    program = Program("large")
    x = program.variable("x", 300, lower=0)
    program.minimize(rng.uniform(1, 2, 300) @ x)
    program.subject_to(rng.uniform(size=(600, 300)) @ x >= 1, name="cover")
    result = milopt.solve(program, solver, time_limit=1e-3)
    assert result.termination in (Termination.LIMIT, Termination.STALLED, Termination.OPTIMAL)
    assert (result.point is PointStatus.CERTIFIED) is (result.termination is Termination.OPTIMAL)


@pytest.mark.parametrize("limit", [0, -1, "soon"])
def test_invalid_time_limits_raise_an_error(limit: object) -> None:
    with pytest.raises(ParameterError, match="time_limit"):
        milopt.solve(_knapsack(5), "highs", time_limit=limit)


# -- fallback and logs -------------------------------------------------------------------------------------------


def _ball() -> Program:
    program = Program("ball")
    x = program.variable("x", 3)
    program.minimize(x.sum())
    program.subject_to(norm(x) <= 1, name="ball")
    return program


def test_fallback_keeps_every_attempt() -> None:
    result = milopt.solve(_ball(), ("native", "highs", "clarabel", "ecos"))
    assert result.solver == "clarabel"
    assert [attempt.solver for attempt in result.attempts] == ["native", "highs", "clarabel"]
    assert [attempt.point for attempt in result.attempts] == [PointStatus.NONE, PointStatus.NONE, PointStatus.CERTIFIED]
    assert "second-order cones" in result.attempts[1].message
    assert result.attempts[1].termination is Termination.ERROR


def test_one_solver_never_falls_back() -> None:
    with pytest.raises(UnsupportedError, match="; use clarabel, ecos"):
        milopt.solve(_ball(), "highs")
    with pytest.raises(UnsupportedError):
        milopt.solve(_ball(), ("highs", "native"))
    with pytest.raises(MiloptError, match="at least one"):
        milopt.solve(_ball(), ())


def test_infeasibility_ends_a_fallback() -> None:
    program = _ball()
    program.subject_to(program.variables["x"] >= 1, name="far")
    result = milopt.solve(program, ("clarabel", "ecos"))
    assert result.termination is Termination.INFEASIBLE
    assert [attempt.solver for attempt in result.attempts] == ["clarabel"]


@pytest.mark.parametrize(
    ("solver", "word"),
    [("highs", "HiGHS"), ("clarabel", "Clarabel"), ("ecos", "ECOS"), ("piqp", "PIQP"), ("scip", "SCIP")],
)
def test_the_solver_log_is_kept_if_verbose(solver: str, word: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = Program("log")
    w = program.variable("w", 4)
    program.minimize(norm1(w - np.arange(4.0)))
    program.subject_to(w.sum() >= 9, name="total")
    loud = milopt.solve(program, solver, verbose=True)
    assert word in loud.log
    quiet = milopt.solve(program, solver)
    assert quiet.log == ""
    assert capfd.readouterr().out == "", "a log goes into the result, never to the screen"


def test_options_and_option_values_are_equivalent() -> None:
    result = milopt.solve(_ball(), "clarabel", options=Options(verbose=True, tolerance=1e-5))
    assert result.log
    with pytest.raises(ParameterError, match="time_limit"):
        milopt.solve(_ball(), "clarabel", timelimit=3)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------

INTERRUPTED = (
    HARD
    + """
import signal
from milopt.schemes.branch_and_bound import BranchAndBound

search = BranchAndBound.search

def announced(self, clock, start):
    # From here on there is the point of the convex-concave procedure, and a search that would take hours.
    print("searching", flush=True)
    return search(self, clock, start)

BranchAndBound.search = announced
# Where this process was started with Ctrl-C ignored, as a shell does in the background, Python leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("ready", flush=True)
    result = milopt.solve(program, sys.argv[1], scheme="exact")
except KeyboardInterrupt:
    print(json.dumps({"ended": "KeyboardInterrupt"}))
    sys.exit(130)
print(json.dumps({"ended": str(result.termination), "point": str(result.point), "values": len(result.values)}))
"""
)


@pytest.mark.thorough(unless={"after": ["ready"]})
@pytest.mark.thorough(unless={"solver": ["highs"]})
@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "piqp"])
@pytest.mark.parametrize("after", ["ready", "searching"])
def test_interrupt_leaves_a_result_or_a_clean_exit(solver: str, after: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, solver],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        line = ""
        while line != f"{after}\n":
            line = process.stdout.readline()
            assert line, "it ended before"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=OUTER_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert "Traceback" not in err, err
    answer = json.loads(out.splitlines()[-1])
    if process.returncode == 130:
        assert answer == {"ended": "KeyboardInterrupt"}
        assert after == "ready", "when the search begins there is a point to keep"
    else:
        assert process.returncode == 0
        assert answer["ended"] == "limit"
        if after == "searching":
            assert (answer["point"], answer["values"]) == ("feasible", 2)


def test_messages_name_the_block() -> None:
    """Infeasible and unbounded programs over bags and functions, whichever form was solved."""
    bags = as_bags([np.ones((2, 1)), 2 * np.ones((1, 1))])
    program = Program("contradiction")
    f = program.function("f", Linear())
    program.minimize(f.norm_squared())
    program.subject_to(bag_max(f(bags)) <= -1, name="low")
    program.subject_to(f(bags) >= 1, name="high")
    for solver in ("highs", "clarabel", "ecos"):
        result = milopt.solve(program, solver)
        assert result.termination is Termination.INFEASIBLE
        assert "low" in result.message or "high" in result.message
    runaway = Program("runaway")
    g, t = runaway.function("g", RBF(1.0)), runaway.variable("t")
    runaway.minimize(0.5 * g.norm_squared() - t)
    runaway.subject_to(g(bags) >= -t, name="above")
    for solver in ("highs", "clarabel", "ecos"):
        result = milopt.solve(runaway, solver)
        assert result.termination is Termination.UNBOUNDED
        assert "'t'" in result.message
