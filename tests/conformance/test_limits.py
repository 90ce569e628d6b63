"""Limits: a time limit holds for a solve and for a whole scheme, Ctrl-C leaves what there is, attempts are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, perf_counter, sleep

import numpy as np
import pytest

import milopt
from milopt import RBF, Linear, Options, Program, as_bags, bag_max, norm, norm1
from milopt.errors import MiloptError, ParameterError, UnsupportedError
from milopt.outcome.status import PointStatus, Termination

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
    """Strongly correlated, so that a search over it takes long."""
    rng = np.random.default_rng(2)
    weight = rng.integers(1000, 2000, size=(6, count)).astype(float)
    program = Program("knapsack")
    x = program.variable("x", count, lower=0, upper=1, integer=True)
    program.maximize((weight.sum(axis=0) + 100) @ x)
    program.subject_to(weight @ x <= weight.sum(axis=1) / 2, name="room")
    return program


@pytest.mark.parametrize("scheme", ["exact", "ccp", "representatives"])
@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_time_limit_holds_for_a_whole_scheme(scheme: str, solver: str) -> None:
    program = _hard()
    began = perf_counter()
    result = milopt.solve(program, solver, scheme=scheme, time_limit=1.0)
    assert perf_counter() - began < 3.0
    if scheme == "exact":
        assert result.termination is Termination.LIMIT
        assert result.point is PointStatus.FEASIBLE
        assert result.exit_code == 3
        assert result.bound is None or result.bound <= result.objective
    if result.termination is Termination.LIMIT:
        assert result.message
    assert result.values, "the best point is kept"
    slack, margin = result.values["slack"], result.value(program.constraints["margin"].expression)
    assert slack.min() >= -1e-6
    assert margin.min() >= -1e-5, "the best point satisfies the declared rows, true maxima and all"
    assert result.objective == pytest.approx(float(result.value(program.objective)[0]), rel=1e-6)


def test_time_limit_of_a_search_keeps_the_best_point() -> None:
    began = perf_counter()
    result = milopt.solve(_knapsack(60), "highs", time_limit=0.5)
    assert perf_counter() - began < 2.5
    assert result.termination is Termination.LIMIT
    assert result.point is PointStatus.FEASIBLE
    x = result.values["x"]
    assert x == pytest.approx(np.round(x), abs=1e-6)
    assert result.bound is not None
    assert result.bound >= result.objective, "a maximisation is bounded from above"
    assert result.exit_code == 3


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "native"])
def test_tiny_limit_is_no_crash(solver: str) -> None:
    rng = np.random.default_rng(3)
    program = Program("large")
    x = program.variable("x", 300, lower=0)
    program.minimize(rng.uniform(1, 2, 300) @ x)
    program.subject_to(rng.uniform(size=(600, 300)) @ x >= 1, name="cover")
    result = milopt.solve(program, solver, time_limit=1e-3)
    assert result.termination in (Termination.LIMIT, Termination.STALLED, Termination.OPTIMAL)
    assert (result.point is PointStatus.CERTIFIED) is (result.termination is Termination.OPTIMAL)


@pytest.mark.parametrize("limit", [0, -1, "soon"])
def test_limits_that_are_none(limit: object) -> None:
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
    with pytest.raises(UnsupportedError, match="clarabel, ecos could take it"):
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


@pytest.mark.parametrize(("solver", "word"), [("highs", "HiGHS"), ("clarabel", "Clarabel"), ("ecos", "ECOS")])
def test_raw_log_is_kept_when_asked_for(solver: str, word: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = Program("log")
    w = program.variable("w", 4)
    program.minimize(norm1(w - np.arange(4.0)))
    program.subject_to(w.sum() >= 9, name="total")
    loud = milopt.solve(program, solver, verbose=True)
    assert word in loud.log
    quiet = milopt.solve(program, solver)
    assert quiet.log == ""
    assert capfd.readouterr().out == "", "a log goes into the result, never to the screen"


def test_options_and_knobs_are_one() -> None:
    result = milopt.solve(_ball(), "clarabel", options=Options(verbose=True, tolerance=1e-5))
    assert result.log
    with pytest.raises(ParameterError, match="time_limit"):
        milopt.solve(_ball(), "clarabel", timelimit=3)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------

INTERRUPTED = (
    HARD
    + """
import signal

# Where this process was started with Ctrl-C ignored, as a shell does in the background, Python leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    result = milopt.solve(program, sys.argv[1], scheme=sys.argv[2])
except KeyboardInterrupt:
    print(json.dumps({"ended": "KeyboardInterrupt"}))
    sys.exit(130)
print(json.dumps({"ended": str(result.termination), "point": str(result.point), "values": len(result.values)}))
"""
)


def _work_for(pid: int, seconds: float) -> None:
    """Until a process has used so many seconds of a processor, which on a busy machine is later than by the clock."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        sleep(seconds)
        return

    def used() -> float:
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # ECOS works in a process of its own, whose time is not counted until it ends: the clock then serves as well.
    end, began = used() + seconds, monotonic()
    while used() < end and monotonic() - began < 4 * seconds:
        sleep(0.02)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos"])
@pytest.mark.parametrize("after", [0.3, 2.0])
def test_interrupt_leaves_a_result_or_a_clean_exit(solver: str, after: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, solver, "exact"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        # ECOS needs longer for the first step, before which there is nothing to keep.
        _work_for(process.pid, after * (4 if solver == "ecos" else 1))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert "Traceback" not in err, err
    answer = json.loads(out.splitlines()[-1])
    if process.returncode == 130:
        assert answer == {"ended": "KeyboardInterrupt"}
        assert after < 1, "after some steps there is a point to keep"
    else:
        assert process.returncode == 0
        assert answer["ended"] == "limit"
        assert answer["values"] == 2


def test_messages_name_the_block() -> None:
    """Infeasible and unbounded programs over bags and functions, by whichever form they were solved."""
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
