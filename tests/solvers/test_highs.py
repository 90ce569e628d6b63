"""HiGHS: optimal points with multipliers in milopt's signs, and a model that is edited in place."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import RowBlock
from milopt.compilation.status import Termination
from milopt.cones import NONNEGATIVE, ZERO
from milopt.errors import ParameterError
from milopt.interrupt import CallEnd
from milopt.solvers.highs import model as highs_model
from milopt.solvers.highs import quadratic as highs_quadratic
from milopt.solvers.highs.solver import HiGHS
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.options import Options
from milopt.solving.solver_support import unsupported_reason

LINEAR = ["one row", "no rows", "degenerate", "badly scaled", "random linear"]
QUADRATIC = ["no rows, quadratic", "singular quadratic", "definite quadratic"]


def solve(form, **options):
    return HiGHS().engine(form, Options(**options)).solve(None)


@pytest.mark.parametrize("family", LINEAR + QUADRATIC)
def test_the_optimum_satisfies_the_kkt_conditions(family, program, kkt_residuals):
    form = program(family)
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-9


@pytest.mark.parametrize("family", QUADRATIC)
def test_the_interior_point_method_is_used_if_the_active_set_method_fails(family, program, kkt_residuals, monkeypatch):
    pytest.importorskip("highspy_extras")
    monkeypatch.setattr(
        highs_quadratic, "_run_active_set", lambda model, reg, deadline: highs_quadratic.HighsRun("kNotset")
    )
    form = program(family)
    answer = solve(form)
    assert answer.termination is Termination.OPTIMAL
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-6
    monkeypatch.setattr(highs_quadratic, "HIPO_SOLVER_NAME", "not installed")
    assert solve(form).termination is Termination.ERROR
    monkeypatch.undo()
    assert solve(form).termination is Termination.OPTIMAL


@pytest.mark.parametrize("family", LINEAR)
def test_linear_objectives_agree_with_scipy(family, program):
    form = program(family)
    equal, inner = form.rows_in(ZERO), form.rows_in(NONNEGATIVE)
    reference = scipy.optimize.linprog(
        form.q,
        A_ub=-form.F[inner].toarray(),
        b_ub=form.g[inner],
        A_eq=form.F[equal].toarray(),
        b_eq=-form.g[equal],
        bounds=np.column_stack([form.lower, form.upper]),
    )
    assert form.value(solve(form).x) == pytest.approx(reference.fun + form.constant, rel=1e-9)


@pytest.mark.parametrize(
    ("family", "termination"),
    [
        ("infeasible", Termination.INFEASIBLE),
        ("infeasible quadratic", Termination.INFEASIBLE),
        ("unbounded", Termination.UNBOUNDED),
        ("unbounded quadratic", Termination.UNBOUNDED),
    ],
)
def test_infeasible_and_unbounded_are_distinguished(family, termination, program):
    answer = solve(program(family))
    assert (answer.termination, answer.x, answer.z) == (termination, None, None)


def test_an_unbounded_integer_program_is_reported_as_unbounded(program):
    form = program("unbounded")
    answer = solve(replace(form, integer=np.array([True, True])))
    assert answer.termination is Termination.UNBOUNDED


def test_a_mixed_integer_program_has_a_bound_and_no_multipliers(program):
    form = program("knapsack")
    answer = solve(form)
    reference = scipy.optimize.milp(
        form.q,
        integrality=np.ones(form.n),
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=scipy.optimize.LinearConstraint(form.F.toarray(), -form.g, np.inf),
    )
    assert answer.termination is Termination.OPTIMAL
    assert answer.z is None
    assert form.value(answer.x) == pytest.approx(reference.fun + form.constant)
    assert answer.bound == pytest.approx(form.value(answer.x), rel=1e-6)
    assert np.abs(answer.x - np.round(answer.x)).max() < 1e-7


def test_mixed_integer_quadratics_are_unsupported(program):
    form = program("definite quadratic")
    assert unsupported_reason(HiGHS(), form) is None
    refused = unsupported_reason(HiGHS(), replace(form, integer=np.ones(6, dtype=bool)))
    assert refused is not None
    assert refused.startswith("the program is of kind MIQP and has a convex quadratic objective with integer variables")


def test_programs_without_columns(build_form):
    assert solve(build_form([])).termination is Termination.OPTIMAL
    holds = build_form([], [(NONNEGATIVE, np.zeros((2, 0)), [1.0, 0.0])])
    assert solve(holds).termination is Termination.OPTIMAL
    fails = build_form([], [(ZERO, np.zeros((1, 0)), [1.0])])
    assert solve(fails).termination is Termination.INFEASIBLE


def test_the_bias_of_the_regularisation_is_removed(build_form, kkt_residuals):
    rng = np.random.default_rng(3)
    root = rng.normal(size=(10, 40))
    form = build_form(100 * rng.normal(size=40), P=root.T @ root, lower=-100.0, upper=100.0)
    answer = solve(form)
    # at |x| = 100, the bias of the regularisation would be 1e-5
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-10


def boosting_master(rows: int, m: int = 60):
    """Return the parts of the soft-margin master in d and gamma with its first `rows` edge rows."""
    rng = np.random.default_rng(1)
    edges = np.hstack([-np.clip(0.2 + rng.normal(size=(40, m)), -1, 1), np.ones((40, 1))])
    simplex = np.append(np.ones(m), 0.0)
    return (
        np.append(np.zeros(m), 1.0),
        [(ZERO, simplex, [-1.0]), (NONNEGATIVE, edges[:rows], np.zeros(rows))],
        np.append(np.zeros(m), -np.inf),
        np.append(np.full(m, 5.0 / m), np.inf),
    )


def test_an_added_row_starts_from_the_last_basis(build_form):
    def form(rows):
        q, blocks, lower, upper = boosting_master(rows)
        return build_form(q, blocks, lower=lower, upper=upper)

    engine = HiGHS().engine(form(30), Options())
    engine.solve(None)
    for rows in range(31, 41):
        engine.update(form(rows), Change(ChangeKind.ROWS_ADDED, np.array([rows])))
        warm = engine.solve(None)
    cold = solve(form(40), extra={"presolve": "off"})
    assert engine.rebuilds == 0
    assert form(40).value(warm.x) == pytest.approx(form(40).value(cold.x), abs=1e-9)
    assert warm.iterations < cold.iterations / 3


def change_form(form, what):
    """Return a form that differs from `form` by one kind of change, and the change."""
    rng = np.random.default_rng(5)
    last = form.rows[-1]
    dense = form.F.toarray()
    if what is ChangeKind.LINEAR:
        return replace(form, q=rng.normal(size=form.n), constant=4.0), Change(what)
    if what is ChangeKind.OFFSET:
        return replace(form, g=form.g + np.append(0.0, rng.uniform(0, 0.1, form.m - 1))), Change(what)
    if what is ChangeKind.BOUNDS:
        return replace(form, lower=form.lower - 0.3, upper=form.upper + 0.2), Change(what, np.arange(form.n))
    if what is ChangeKind.ROWS_ADDED:
        rows = (*form.rows, RowBlock("cut", NONNEGATIVE, form.m, form.m + 2))
        F = sp.csr_array(np.vstack([dense, rng.normal(size=(2, form.n))]))
        new = replace(form, F=F, g=np.append(form.g, [0.7, 0.8]), rows=rows)
        return new, Change(what, np.array([form.m, form.m + 1]))
    if what is ChangeKind.ROWS_REPLACED:
        index = np.array([2, 5])
        dense[index], g = rng.normal(size=(2, form.n)) * (rng.uniform(size=(2, form.n)) < 0.7), form.g.copy()
        g[index] = 0.6
        return replace(form, F=sp.csr_array(dense), g=g), Change(what, index)
    if what is ChangeKind.ROWS_DELETED:
        active = np.flatnonzero(np.abs(form.F @ solve(form).x + form.g) < 1e-9)
        index = np.array([active[active > 0][0], active.max()])
        index = np.unique(index)
        kept = np.delete(np.arange(form.m), index)
        rows = (form.rows[0], replace(last, stop=kept.size))
        return replace(form, F=sp.csr_array(dense[kept]), g=form.g[kept], rows=rows), Change(what, index)
    F = sp.csr_array(np.hstack([dense, rng.normal(size=(form.m, 2))]))
    new = replace(
        form,
        P=Quadratic(form.n + 2),
        q=np.append(form.q, [0.1, -0.1]),
        F=F,
        lower=np.append(form.lower, [0.0, -1.0]),
        upper=np.append(form.upper, [np.inf, 1.0]),
        integer=np.append(form.integer, [False, False]),
    )
    return new, Change(what, np.array([form.n, form.n + 1]))


@pytest.mark.parametrize("what", [what for what in ChangeKind if what is not ChangeKind.EVERYTHING])
def test_a_changed_model_has_the_optimum_of_a_new_one(what, program, kkt_residuals):
    form = program("random linear")
    engine = HiGHS().engine(form, Options())
    engine.solve(None)
    new, change = change_form(form, what)
    engine.update(new, change)
    answer, fresh = engine.solve(None), solve(new)
    assert engine.rebuilds == 0
    assert answer.termination is fresh.termination is Termination.OPTIMAL
    assert new.value(answer.x) == pytest.approx(new.value(fresh.x), abs=1e-9)
    assert kkt_residuals(new, answer.x, answer.z).worst < 1e-9


def test_many_replaced_coefficients_rebuild_once_and_keep_the_basis(build_form):
    rng = np.random.default_rng(2)
    rows = rng.uniform(0.1, 1, size=(80, 50))
    form = build_form(np.ones(50), [(NONNEGATIVE, rows, -np.ones(80))], lower=0.0)
    engine = HiGHS().engine(form, Options())
    cold = engine.solve(None)
    new = replace(form, F=sp.csr_array(rows * (1 + 1e-6)))
    engine.update(new, Change(ChangeKind.ROWS_REPLACED, np.arange(80)))
    warm = engine.solve(None)
    assert engine.rebuilds == 1
    assert warm.iterations < max(cold.iterations, 5)
    assert new.value(warm.x) == pytest.approx(new.value(solve(new).x), rel=1e-9)


def test_a_change_of_everything_is_counted_as_a_rebuild(program):
    engine = HiGHS().engine(program("one row"), Options())
    engine.update(program("definite quadratic"), Change(ChangeKind.EVERYTHING))
    assert engine.solve(None).termination is Termination.OPTIMAL
    assert engine.rebuilds == 1


def test_quadratic_models_update_costs_in_place(program, kkt_residuals):
    form = program("definite quadratic")
    engine = HiGHS().engine(form, Options())
    engine.solve(None)
    new = replace(form, q=-form.q)
    engine.update(new, Change(ChangeKind.LINEAR))
    answer = engine.solve(None)
    assert engine.rebuilds == 0
    assert kkt_residuals(new, answer.x, answer.z).worst < 1e-9


def hard_knapsack(build_form, n=70):
    rng = np.random.default_rng(0)
    weights = rng.integers(1000, 100000, size=(5, n)).astype(float)
    rows = [(NONNEGATIVE, -weights, weights.sum(axis=1) / 2)]
    return build_form(-weights.mean(axis=0) - rng.integers(0, 1000, n), rows, lower=0.0, upper=1.0, integer=True)


def test_a_time_limit_applies_to_each_solve_and_returns_the_best_point(build_form):
    engine = HiGHS().engine(hard_knapsack(build_form), Options())
    for _ in range(2):
        for limit in (0.4, 4.0, 40.0):  # longer limits only if the machine is too busy to find a point in time
            start = time.perf_counter()
            answer = engine.solve(limit)
            elapsed = time.perf_counter() - start
            assert answer.termination is Termination.LIMIT
            assert 0.5 * limit < elapsed < limit + 60.0
            if answer.x is not None:
                break
        assert answer.x is not None
        assert answer.bound <= engine.form.value(answer.x)


def test_an_abandoned_search_returns_its_best_point(build_form, monkeypatch):
    def abandon(call, stop, patience=1.0):
        call()
        stop()
        return CallEnd.ABANDONED

    monkeypatch.setattr(highs_model, "run_interruptible", abandon)
    form = hard_knapsack(build_form, n=12)
    answer = HiGHS().engine(form, Options()).solve(None)
    assert answer.termination is Termination.LIMIT
    assert answer.interrupted
    assert answer.x == pytest.approx(np.round(answer.x), abs=1e-6)
    assert (form.F @ answer.x + form.g).min() >= -1e-6
    assert answer.bound is None or answer.bound <= form.value(answer.x)


def test_the_log_is_returned_if_verbose_and_not_printed(program, capfd):
    assert "LP" in solve(program("random linear"), verbose=True).log
    assert solve(program("random linear")).log == ""
    assert capfd.readouterr().out == ""


def test_engines_with_different_thread_counts_can_be_mixed(program):
    form = program("random linear")
    engines = [HiGHS().engine(form, Options(threads=threads)) for threads in (1, 2, 1)]
    for _ in range(2):
        assert all(engine.solve(None).termination is Termination.OPTIMAL for engine in engines)


@pytest.mark.parametrize(
    ("extra", "named"), [({"simplex_stratagem": 1}, "simplex_stratagem"), ({"simplex_strategy": "fast"}, "'fast'")]
)
def test_a_wrong_extra_option_is_named(extra, named, program):
    with pytest.raises(ParameterError, match=named):
        solve(program("one row"), extra=extra)


def test_extra_options_reach_highs(program):
    answer = solve(program("degenerate"), extra={"simplex_iteration_limit": 0, "presolve": "off"})
    assert answer.termination is Termination.LIMIT


def test_importing_an_adapter_does_not_import_its_solver():
    names = ", ".join(f"milopt.solvers.{name}" for name in ("highs.solver", "clarabel", "ecos.solver"))
    code = f"import sys, {names}; print(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not any(f"'{name}'" in modules for name in ("highspy", "clarabel", "ecos", "_ecos"))


INTERRUPTED_SCRIPT = """
    import os, signal, threading
    import numpy as np, scipy.sparse as sp
    from milopt.compilation.quadratic import QuadraticPiece, Quadratic
    from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
    from milopt.cones import NONNEGATIVE, ZERO
    from milopt.solvers.highs import model as highs_model
    from milopt.solvers.highs.solver import HiGHS
    from milopt.solving import engine_process
    from milopt.solving.options import Options

    rng = np.random.default_rng(0)
    n = {n}
    if {quadratic}:
        root = rng.normal(size=(n, n))
        P, rows = Quadratic(n, (QuadraticPiece(sp.eye_array(n, format="csr"), root @ root.T / n),)), np.ones((1, n))
    else:
        P, rows = Quadratic(n), -rng.integers(1000, 100000, size=(5, n)).astype(float)
    form = StandardForm(
        "long", P, 100 * rows.mean(axis=0) + 100 * rng.normal(size=n), 0.0, sp.csr_array(rows), -rows.sum(axis=1) / 2,
        np.full(n, -100.0 if {quadratic} else 0.0), np.full(n, 100.0 if {quadratic} else 1.0),
        np.full(n, not {quadratic}), (ColumnBlock("x", 0, n),), (RowBlock("r", NONNEGATIVE, 0, rows.shape[0]),),
    )
    engine = HiGHS().engine(form, Options())
    run = {module}.run_interruptible

    def pressed(call, stop):
        def begun():
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            call()

        return run(begun, stop)

    {module}.run_interruptible = pressed
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answer = engine.solve(3600.0)
    print(answer.termination, answer.interrupted)
"""


@pytest.mark.parametrize(
    ("quadratic", "n", "module"), [(False, 70, "highs_model"), (True, 800, "engine_process")], ids=["search", "process"]
)
def test_ctrl_c_ends_a_long_solve(quadratic, n, module):
    code = textwrap.dedent(INTERRUPTED_SCRIPT.format(quadratic=quadratic, n=n, module=module))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["limit", "True"]


def test_the_default_ctrl_c_handler_is_restored_after_a_warm_solve(program):
    engine = HiGHS().engine(program("random linear"), Options())
    engine.solve(None)
    engine.solve(None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_pieces_of_the_quadratic_are_summed(build_form, kkt_residuals):
    form = build_form([1.0, -1.0, 2.0], lower=-5.0, upper=5.0)
    pieces = (
        QuadraticPiece(sp.csr_array(np.array([[1.0, 1.0, 0.0]])), np.array([2.0])),
        QuadraticPiece(sp.csr_array(np.eye(3)[1:]), np.array([[2.0, 1.0], [1.0, 2.0]])),
    )
    form = replace(form, P=Quadratic(3, pieces))
    answer = solve(form)
    assert kkt_residuals(form, answer.x, answer.z).worst < 1e-9


def test_a_point_far_from_its_bound_is_not_optimal_for_large_costs(program):
    form = program("no rows, quadratic")
    n = form.n
    far = replace(form, q=np.full(n, 1e7), lower=np.zeros(n), upper=np.full(n, np.inf))
    assert (
        highs_quadratic.kkt_residual(far, highs_quadratic.HighsRun("kOptimal", np.full(n, 1e9), np.zeros(form.m))) > 0.5
    )
