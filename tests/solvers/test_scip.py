"""SCIP: multipliers of linear programs, mixed-integer programs compared with enumeration, limits, Ctrl-C, settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import product
from time import perf_counter

import numpy as np
import pytest

import milopt
from milopt import Program, norm, sum_squares
from milopt.compilation.status import PointStatus, Termination
from milopt.cones import NONNEGATIVE, ZERO
from milopt.errors import MissingSolverError, ParameterError, UnsupportedError
from milopt.solvers.highs.solver import HiGHS
from milopt.solvers.scip import SCIP
from milopt.solving.options import Options

pytest.importorskip("pyscipopt", reason="an extra")

LINEAR = ["one row", "no rows", "degenerate", "badly scaled", "random linear"]
OUTER_SECONDS = 60.0
"""Far more than any of these solves takes on a busy machine, and far less than an unlimited search."""


def solve(form, time_limit=None, **options):
    return SCIP().engine(form, Options(**options)).solve(time_limit)


@pytest.mark.parametrize("family", LINEAR)
def test_the_optimum_of_a_linear_program_satisfies_the_kkt_conditions(family, program, kkt_residuals):
    form = program(family)
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-7


def test_rows_with_one_entry_have_multipliers(build_form, kkt_residuals):
    """SCIP converts these rows to bounds: two on one column, one that is inactive, and an equation."""
    rows = [
        (NONNEGATIVE, [[1.0, 1.0, 1.0]], [-1.0]),
        (NONNEGATIVE, [[0.0, -2.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]], [1.0, 3.0, 5.0]),
        (ZERO, [[1.0, 0.0, -1.0]], [-0.1]),
        (ZERO, [[0.0, 0.0, 3.0]], [-2.1]),
    ]
    form = build_form([3.0, -1.0, 2.0], rows, lower=0.0)
    answer = solve(form)
    assert answer.z == pytest.approx(HiGHS().engine(form, Options()).solve(None).z, abs=1e-7)
    assert answer.z == pytest.approx([0.0, 0.5, 0.0, 0.0, 3.0, 5.0 / 3.0], abs=1e-7)
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-7


@pytest.mark.thorough(unless={"seed": [0, 1, 2]})
@pytest.mark.parametrize("kind", ["quadratic", "cone", "both"])
@pytest.mark.parametrize("seed", range(6))
def test_mixed_integer_programs_agree_with_enumeration_and_with_cvxpy(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    A, B, target = rng.normal(size=(n + k, n)), rng.normal(size=(n + k, k)), 2 * rng.normal(size=n + k)
    cost, row = rng.normal(size=n), rng.normal(size=n)

    def declare(fixed: np.ndarray | None) -> Program:
        program = Program("mixed")
        x = program.variable("x", n, lower=-2, upper=2, integer=True) if fixed is None else fixed
        y = program.variable("y", k, lower=-5, upper=5)
        linear = cost @ x + y.sum()
        program.minimize(linear if kind == "cone" else linear + sum_squares(A @ x + B @ y - target))
        program.subject_to(row @ x + y.sum() >= -1, name="row")
        if kind != "quadratic":
            program.subject_to(norm(y) <= 2 + 0.1 * x.sum(), name="ball")
        return program

    result = milopt.solve(declare(None), "scip").require_certified()
    choices = (np.array(choice) for choice in product(np.arange(-2.0, 3.0), repeat=n))
    fixed = [milopt.solve(declare(choice), "clarabel") for choice in choices]
    assert all(
        result_at_choice.termination in (Termination.OPTIMAL, Termination.INFEASIBLE) for result_at_choice in fixed
    )
    assert result.objective == pytest.approx(
        min(result_at_choice.objective for result_at_choice in fixed), rel=2e-6, abs=2e-6
    )
    other = milopt.solve(declare(None), "cvxpy:SCIP")
    assert other.objective == pytest.approx(result.objective, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("form", ["singular quadratic", "second-order"])
def test_nonlinear_programs_without_integers_are_unsupported(form: str) -> None:
    program = Program("ball")
    x = program.variable("x", 2)
    program.minimize(x.sum() if form == "second-order" else sum_squares(x))
    program.subject_to(norm(x) <= 1 if form == "second-order" else x.sum() >= 1, name="row")
    with pytest.raises(UnsupportedError, match=r"scip cannot solve 'ball'.*with integer variables.*clarabel"):
        milopt.solve(program, "scip")


def hard_knapsack(count: int) -> Program:
    """Return strongly correlated knapsack constraints, for which a search takes long."""
    rng = np.random.default_rng(2)
    weight = rng.integers(1000, 2000, size=(6, count)).astype(float)
    program = Program("knapsack")
    x = program.variable("x", count, lower=0, upper=1, integer=True)
    program.maximize((weight.sum(axis=0) + 100) @ x)
    program.subject_to(weight @ x <= weight.sum(axis=1) / 2, name="room")
    return program


def test_time_limit_returns_the_best_point_and_the_bound() -> None:
    began = perf_counter()
    result = milopt.solve(hard_knapsack(60), "scip", time_limit=1.0)
    assert perf_counter() - began < OUTER_SECONDS
    assert (result.termination, result.point) == (Termination.LIMIT, PointStatus.FEASIBLE)
    assert result.values["x"] == pytest.approx(np.round(result.values["x"]), abs=1e-6)
    assert result.bound is not None
    assert result.bound >= result.objective, "a maximisation is bounded from above"


def test_large_programs_with_a_time_limit_are_solved_in_a_child_process(monkeypatch) -> None:
    monkeypatch.setattr("milopt.solvers.scip.has_slow_iterations", lambda form: True)
    result = milopt.solve(hard_knapsack(12), "scip", time_limit=OUTER_SECONDS).require_certified()
    assert result.objective == pytest.approx(milopt.solve(hard_knapsack(12), "highs").objective)


INTERRUPTED_SCRIPT = """
import json, signal, sys
import numpy as np, milopt
from pyscipopt import Model
from tests.solvers.test_scip import hard_knapsack

signal.signal(signal.SIGINT, signal.default_int_handler)
search = Model.optimizeNogil
class Announced(Model):
    refuses = sys.argv[1] == "refuse"

    def optimizeNogil(self):
        print("searching", flush=True)
        search(self)

    def interruptSolve(self):
        if Announced.refuses:
            Announced.refuses = False
            raise Exception("SCIP: method cannot be called at this time in solution process!")
        super().interruptSolve()

import pyscipopt
pyscipopt.Model = Announced
result = milopt.solve(hard_knapsack(60), "scip")
print(json.dumps([str(result.termination), str(result.point)]))
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
@pytest.mark.parametrize(("wait", "first_request"), [(0.0, "obey"), (2.0, "obey"), (2.0, "refuse")])
def test_interrupt_ends_a_search_and_returns_its_point(wait: float, first_request: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED_SCRIPT, first_request],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        try:
            process.wait(timeout=wait or 0.001)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=OUTER_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert process.returncode == 0, err
    ended, point = json.loads(out.splitlines()[-1])
    assert ended == "limit"
    if wait:
        assert point == "feasible"


def test_search_stops_at_the_gap_of_the_certificate() -> None:
    result = milopt.solve(hard_knapsack(12), "scip", extra={"limits/gap": 0.5}, tolerance=1e-6)
    assert result.point is not PointStatus.CERTIFIED
    assert result.bound is not None
    assert result.bound > result.objective
    milopt.solve(hard_knapsack(12), "scip").require_certified()


def test_unsupported_settings_are_errors(program):
    form = program("one row")
    with pytest.raises(ParameterError, match="SCIP has no setting named 'nonsense'"):
        solve(form, extra={"nonsense": 1})
    with pytest.raises(ParameterError, match="SCIP does not support the value 'many' for its setting 'limits/nodes'"):
        solve(form, extra={"limits/nodes": "many"})


def test_log_is_returned_and_not_printed(program, capfd):
    form = replace(program("random linear"), integer=np.zeros(program("random linear").n, dtype=bool))
    assert "SCIP Status" in solve(form, verbose=True).log
    assert solve(form).log == ""
    assert capfd.readouterr().out == ""


def test_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr("milopt.solving.solver.installed_version", lambda package: None)
    with pytest.raises(MissingSolverError) as caught:
        milopt.solve(hard_knapsack(5), "scip")
    assert str(caught.value) == "The solver \"scip\" is not installed: run `pip install 'milopt[scip]'`."
