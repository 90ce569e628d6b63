"""PIQP: optima and multipliers compared with other solvers, for both interfaces, and changes of an existing model."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt import Program, sum_squares
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.status import Termination
from milopt.cones import NONNEGATIVE
from milopt.errors import MissingSolverError, ParameterError
from milopt.solvers import piqp as piqp_engine
from milopt.solvers.highs.solver import HiGHS
from milopt.solvers.piqp import PIQP
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.installed import installed_version
from milopt.solving.options import Options

pytest.importorskip("piqp", reason="an extra")

FAMILIES = [
    "one row",
    "no rows",
    "no rows, quadratic",
    "degenerate",
    "badly scaled",
    "random linear",
    "singular quadratic",
    "definite quadratic",
]


@pytest.fixture(params=["dense", "sparse"])
def interface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(piqp_engine, "_is_dense", lambda form: request.param == "dense")
    return str(request.param)


def solve(form, time_limit=None, **options):
    return PIQP().engine(form, Options(**options)).solve(time_limit)


@pytest.mark.usefixtures("interface")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_optimum_satisfies_the_kkt_conditions(family, program, kkt_residuals):
    form = program(family)
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-7


@pytest.mark.usefixtures("interface")
@pytest.mark.parametrize("family", ["one row", "random linear", "definite quadratic"])
def test_unique_multipliers_agree_with_highs_in_sign_and_size(family, program):
    form = program(family)
    other = HiGHS().engine(form, Options()).solve(None)
    assert np.abs(other.z).max() > 1e-3
    assert solve(form).z == pytest.approx(other.z, abs=1e-6)


def test_interface_is_chosen_by_density(build_form):
    n = 20
    linear = build_form(np.ones(n), lower=0.0)
    diagonal = replace(linear, P=Quadratic(n, (QuadraticPiece(sp.csr_array(np.eye(n)), np.ones(n)),)))
    assert not piqp_engine._is_dense(linear)
    assert not piqp_engine._is_dense(diagonal)
    assert piqp_engine._is_dense(build_form(np.ones(n), P=np.ones((n, n)) + np.eye(n)))
    assert piqp_engine._is_dense(build_form(np.ones(n), rows=[(NONNEGATIVE, np.ones((n, n)), np.ones(n))]))


@pytest.mark.usefixtures("interface")
def test_new_costs_and_offsets_are_written_into_the_existing_model(program):
    form = program("definite quadratic")
    engine = PIQP().engine(form, Options())
    engine.solve(None)
    solver = engine._solver
    for changed, what in (
        (replace(form, q=form.q[::-1].copy()), ChangeKind.LINEAR),
        (replace(form, q=form.q[::-1].copy(), g=form.g + 0.25), ChangeKind.OFFSET),
    ):
        engine.update(changed, Change(what))
        again = engine.solve(None)
        assert again.x == pytest.approx(solve(changed).x, abs=1e-6)
        assert again.z == pytest.approx(solve(changed).z, abs=1e-6)
    assert engine._solver is solver
    assert engine.rebuilds == 0


def test_other_changes_rebuild_the_model(program):
    form = program("definite quadratic")
    engine = PIQP().engine(form, Options())
    engine.solve(None)
    doubled = replace(form, F=2.0 * form.F, g=2.0 * form.g)
    engine.update(doubled, Change(ChangeKind.ROWS_REPLACED, np.arange(form.m)))
    assert engine.rebuilds == 1
    assert engine.solve(None).z == pytest.approx(solve(form).z / 2.0, abs=1e-6)


def test_unsupported_settings_are_errors(program):
    form = program("one row")
    with pytest.raises(ParameterError, match="PIQP has no setting named 'nonsense'"):
        solve(form, extra={"nonsense": 1})
    with pytest.raises(ParameterError, match="PIQP does not support the value 'many' for its setting 'max_iter'"):
        solve(form, extra={"max_iter": "many"})
    with pytest.raises(ParameterError, match="values in `extra` of its settings 'max_iter'"):
        solve(form, extra={"max_iter": -1})
    assert solve(form, extra={"max_iter": 1}).termination is Termination.STALLED


def test_log_is_returned_and_not_printed(program, capfd):
    assert "PIQP" in solve(program("one row"), verbose=True).log
    assert solve(program("one row")).log == ""
    assert capfd.readouterr().out == ""


def test_time_limit_stops_the_child_process():
    rng = np.random.default_rng(0)
    program = Program("large")
    x = program.variable("x", 1200, lower=0, upper=1)
    root = rng.normal(size=(1200, 1200))
    program.minimize(sum_squares(root @ x) - x.sum())
    result = milopt.solve(program, "piqp", time_limit=0.05)
    assert result.termination is Termination.LIMIT
    assert not result.values


def test_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr("milopt.solving.solver.installed_version", lambda package: None)
    with pytest.raises(MissingSolverError) as caught:
        milopt.solve(Program("p"), "piqp")
    assert str(caught.value) == "The solver \"piqp\" is not installed: run `pip install 'milopt[piqp]'`."


PROCESSOR_SCRIPT = """
import sys, types
if sys.argv[1] == "an old one":
    sys.modules["piqp.instruction_set"] = types.SimpleNamespace(avx512f=False, avx2=False)
import numpy as np, piqp, milopt
from milopt import Program, sum_squares

rng = np.random.default_rng(3)
program = Program("qp")
x = program.variable("x", 20, lower=0)
program.minimize(sum_squares(rng.normal(size=(30, 20)) @ x - 1))
program.subject_to(rng.uniform(size=(5, 20)) @ x >= 1, name="cover")
result = milopt.solve(program, "piqp").require_certified()
print(piqp.DenseSolver.__module__, repr(float(result.objective)))
"""


def test_answer_does_not_depend_on_the_processor():
    """PIQP contains code for several instruction sets, and chooses one when it is imported."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROCESSOR_SCRIPT, processor], capture_output=True, text=True, check=True
        ).stdout.split()
        for processor in ("an old one", "this one")
    ]
    assert printed[0][0] == "piqp.piqp_python"
    assert float(printed[0][1]) == pytest.approx(float(printed[1][1]), rel=1e-8)


def test_version_is_found():
    assert PIQP().availability().version == installed_version("piqp")
