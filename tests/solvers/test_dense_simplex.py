"""The dense simplex method compared with HiGHS: random programs, sequences of changes, degeneracy, accuracy, limits."""

from __future__ import annotations

import signal
from dataclasses import replace

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from milopt.compilation.answer import Answer
from milopt.compilation.quadratic import Quadratic
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import NONNEGATIVE, ZERO
from milopt.solvers.highs.solver import HiGHS
from milopt.solvers.native.dense_simplex import driver as driver
from milopt.solvers.native.dense_simplex import dual as dual
from milopt.solvers.native.dense_simplex import primal as primal
from milopt.solvers.native.dense_simplex.changes import append_column, append_row
from milopt.solvers.native.dense_simplex.dense_simplex import DenseSimplex
from milopt.solvers.native.dense_simplex.tableau import (
    COLUMNS,
    HIGH,
    LOW,
    PRICE,
    ROWS,
    VALUE,
    empty_tableau,
    primal_values,
    row_multipliers,
)
from milopt.solvers.native.solver import MAX_SIMPLEX_SIZE, Native
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.options import Options
from tests.solvers.conftest import build_form, kkt_residuals, program

SEEDS = st.integers(0, 2**32 - 1)
INF = np.inf


def _random_bounds(rng, n):
    """Return free, one-sided, two-sided and fixed bounds, often integral, so that vertices are degenerate."""
    kind, middle = rng.integers(0, 5, n), np.round(rng.normal(size=n), rng.integers(0, 3))
    lower = np.where(np.isin(kind, (1, 3)), middle - rng.integers(0, 3, n), -INF)
    upper = np.where(np.isin(kind, (2, 3)), middle + rng.integers(0, 3, n), INF)
    lower, upper = np.where(kind == 4, middle, lower), np.where(kind == 4, middle, upper)
    if rng.random() < 0.5:
        lower, upper = np.where(np.isfinite(lower), lower, -3.0), np.where(np.isfinite(upper), upper, 3.0)
    return np.minimum(lower, upper), upper


def _random(rng, most=12) -> StandardForm:
    """Return a random linear program with fewer than `most` rows and columns."""
    m, n = int(rng.integers(1, most)), int(rng.integers(1, most))
    F = np.round(rng.normal(size=(m, n)), rng.integers(0, 5)) * (rng.random((m, n)) < rng.choice([0.3, 0.7, 1.0]))
    lower, upper = _random_bounds(rng, n)
    point = np.clip(np.round(rng.normal(size=n)), lower, upper)
    split = int(rng.integers(0, m + 1)) if rng.random() < 0.5 else 0
    slack = rng.integers(-1 if rng.random() < 0.2 else 0, 2, m).astype(float)
    g = -F @ point + np.where(np.arange(m) < split, 0.0, slack)
    q = np.round(rng.normal(size=n), rng.integers(0, 3)) * rng.choice([1.0, 1e4])
    if rng.random() < 0.4:
        q = F.T @ rng.random(m) + np.where(np.isfinite(lower), rng.random(n), 0.0)
    rows = [(ZERO, F[:split], g[:split]), (NONNEGATIVE, F[split:], g[split:])]
    return build_form(q, [row for row in rows if row[2].size], lower=lower, upper=upper)


def _agree(form: StandardForm, answer: Answer) -> None:
    """Check that the answer has the termination and the optimum of HiGHS."""
    reference = HiGHS().engine(form, Options()).solve(None)
    if reference.termination is Termination.STALLED:
        # At the tightest tolerances, HiGHS sometimes stalls.
        reference = HiGHS().engine(form, Options(tolerance=1e-4)).solve(None)
    assert answer.termination is reference.termination, answer.raw_status
    if reference.termination is Termination.OPTIMAL:
        assert kkt_residuals(form, answer.x, answer.z).worst <= 1e-8
        assert form.value(answer.x) == pytest.approx(form.value(reference.x), rel=1e-7, abs=1e-7)


def _native(form: StandardForm) -> Answer:
    """Solve the form by `native`."""
    return Native().engine(form, Options()).solve(None)


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(SEEDS)
def test_random_programs_have_the_optimum_of_highs(seed: int) -> None:
    form = _random(np.random.default_rng(seed))
    _agree(form, _native(form))


def _add_rows(form, rng):
    k = int(rng.integers(1, 4))
    F = np.round(rng.normal(size=(k, form.n)), rng.integers(0, 4)) * rng.choice([1.0, 100.0])
    g = rng.integers(-1, 4, k) - F @ np.clip(np.zeros(form.n), form.lower, form.upper)
    block = RowBlock("more", rng.choice([ZERO, NONNEGATIVE], p=[0.2, 0.8]), form.m, form.m + k)
    rows = (*form.rows, block)
    new = replace(form, F=sp.csr_array(sp.vstack([form.F, F])), g=np.concatenate([form.g, g]), rows=rows)
    return new, Change(ChangeKind.ROWS_ADDED)


def _add_columns(form, rng):
    k = int(rng.integers(1, 4))
    lower, upper = -rng.choice([0.0, 1.0, INF], k), rng.choice([0.0, 1.0, INF], k)
    n = form.n + k
    new = replace(
        form,
        P=Quadratic(n),
        q=np.concatenate([form.q, rng.normal(size=k)]),
        F=sp.csr_array(sp.hstack([form.F, rng.normal(size=(form.m, k))])),
        lower=np.concatenate([form.lower, lower]),
        upper=np.concatenate([form.upper, upper]),
        integer=np.zeros(n, dtype=bool),
        columns=(ColumnBlock("x", 0, n),),
    )
    return new, Change(ChangeKind.COLUMNS_ADDED, np.arange(form.n, n))


def _change_costs(form, rng):
    return replace(form, q=np.round(rng.normal(size=form.n), 1) * rng.choice([1.0, 1e4])), Change(ChangeKind.LINEAR)


def _change_offsets(form, rng):
    return replace(form, g=form.g + 0.3 * rng.normal(size=form.m)), Change(ChangeKind.OFFSET)


def _replace_rows(form, rng):
    index = np.sort(rng.permutation(form.m)[: rng.integers(1, form.m + 1)])
    F, g = form.F.toarray(), form.g.copy()
    F[index], g[index] = rng.normal(size=(index.size, form.n)), 0.3 * rng.normal(size=index.size)
    return replace(form, F=sp.csr_array(F), g=g), Change(ChangeKind.ROWS_REPLACED, index)


def _delete_rows(form, rng):
    """Delete whole blocks, but never the last one."""
    gone = [block for block in form.rows[:-1] if rng.random() < 0.6]
    index = np.concatenate([np.arange(b.start, b.stop) for b in gone] or [np.zeros(0, dtype=int)]).astype(np.intp)
    kept, blocks, stop = np.delete(np.arange(form.m), index), [], 0
    for block in form.rows:
        if block not in gone:
            blocks.append(RowBlock(block.name, block.cone, stop, stop + block.size))
            stop += block.size
    return replace(form, F=form.F[kept], g=form.g[kept], rows=tuple(blocks)), Change(ChangeKind.ROWS_DELETED, index)


CHANGES = (_add_rows, _add_columns, _change_costs, _change_offsets, _replace_rows, _delete_rows)


@settings(
    max_examples=100, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(SEEDS)
def test_changes_lead_to_the_optimum_of_a_fresh_solve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    form = _random(rng, most=8 if seed % 3 else 30)
    engine = Native().engine(form, Options())
    _agree(form, engine.solve(None))
    for _ in range(6):
        form, change = CHANGES[rng.integers(len(CHANGES))](form, rng)
        engine.update(form, change)
        _agree(form, engine.solve(None))
    # A program with only free columns and equations has a closed form, and a change may require the simplex method.
    assert engine.rebuilds <= 1


@pytest.mark.parametrize(
    "family",
    ["one row", "degenerate", "badly scaled", "random linear", "infeasible", "unbounded"],
)
def test_program_families_agree_with_highs(family: str) -> None:
    _agree(program(family), _native(program(family)))


def test_beales_cycling_example_is_solved() -> None:
    rows = [[-0.25, 60, 0.04, -9], [-0.5, 90, 0.02, -3], [0, 0, -1, 0]]
    form = build_form([-0.75, 150, -0.02, 6], [(NONNEGATIVE, rows, [0.0, 0.0, 1.0])], lower=0.0)
    answer = _native(form)
    assert answer.termination is Termination.OPTIMAL
    assert form.value(answer.x) == pytest.approx(-0.05)


@pytest.mark.parametrize("dual", [False, True])
def test_degenerate_assignment_problems_agree_with_highs(dual: bool) -> None:
    k = 12
    cost = np.random.default_rng(3).integers(1, 4, size=k * k).astype(float)
    sums = np.vstack([np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))])
    if dual:
        _agree(form := build_form(-np.ones(2 * k), [(NONNEGATIVE, -sums.T, cost)]), _native(form))
    else:
        _agree(form := build_form(cost, [(ZERO, sums, -np.ones(2 * k))], lower=0.0), _native(form))


def _covering_program(m: int, n: int) -> DenseSimplex:
    rng = np.random.default_rng(5)
    A, q = rng.uniform(size=(m, n)), rng.uniform(1, 2, n)
    return DenseSimplex(A, -np.ones(m), np.zeros(m, dtype=bool), q, np.zeros(n), np.full(n, INF))


def test_an_inaccurate_dictionary_is_refactorised() -> None:
    simplex = _covering_program(20, 30)
    expected = simplex.solve()
    rng = np.random.default_rng(6)
    simplex.tableau.T[:] *= 1 + 0.5 * rng.normal(size=simplex.tableau.T.shape)
    simplex.set_costs(rng.uniform(1, 2, 30))
    simplex.solve()
    simplex.set_costs(np.random.default_rng(5).uniform(size=(20 * 30 + 30))[-30:] + 1.0)
    again = simplex.solve()
    assert again.termination is Termination.OPTIMAL
    assert again.x == pytest.approx(expected.x, abs=1e-12)
    assert again.z == pytest.approx(expected.z, abs=1e-12)


def test_time_limit_returns_a_point_and_the_solve_can_be_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    simplex = _covering_program(40, 60)
    stopped = simplex.solve(time_limit=1e-9)
    assert stopped.termination is Termination.LIMIT
    assert stopped.x is not None
    assert simplex.solve().termination is Termination.OPTIMAL
    monkeypatch.setattr("milopt.solvers.native.dense_simplex.dense_simplex.ENTRIES_PER_CHUNK", 1)
    step_by_step = _covering_program(40, 60).solve()
    assert step_by_step.x == pytest.approx(simplex.solve().x, abs=1e-12)


def test_interrupt_is_reported_and_the_basis_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    simplex, make_simplex_steps = _covering_program(40, 60), driver.make_simplex_steps

    def advance_with_interrupt(t, max_steps):
        signal.raise_signal(signal.SIGINT)
        return make_simplex_steps(t, 1)

    with monkeypatch.context() as patch:
        patch.setattr(driver, "make_simplex_steps", advance_with_interrupt)
        stopped = simplex.solve()
    assert stopped.termination is Termination.LIMIT
    assert stopped.interrupted
    assert simplex.solve().termination is Termination.OPTIMAL


def test_a_program_may_grow_beyond_the_supported_initial_size() -> None:
    n = MAX_SIMPLEX_SIZE + 10
    form = build_form(np.ones(n), [(NONNEGATIVE, np.ones((1, n)), [-1.0])], lower=0.0)
    engine = Native().engine(form, Options())
    engine.solve(None)
    rows = (*form.rows, RowBlock("more", NONNEGATIVE, 1, n + 1))
    larger = replace(form, F=sp.csr_array(np.vstack([np.ones((1, n)), np.eye(n)])), g=-np.ones(n + 1), rows=rows)
    engine.update(larger, Change(ChangeKind.ROWS_ADDED))
    assert larger.value(engine.solve(None).x) == pytest.approx(n)
    assert engine.rebuilds == 0


def test_rows_and_columns_of_a_game_are_appended_to_the_dictionary() -> None:
    """Solve  min v  s.t.  v 1 >= M y,  1'y = 1,  y >= 0  for a matrix M that is appended in pieces."""
    t = empty_tableau(8, 8)
    append_column(t, np.zeros(0), 1.0, -INF, INF)
    append_column(t, np.zeros(0), 0.0, 0.0, INF)
    append_row(t, np.array([0.0, 1.0]), -1.0, 0.0, 0.0)
    append_row(t, np.array([1.0, 0.0]), 0.0, 0.0, INF)
    values = []
    for row, column in (((1.0, 1.0), None), (None, (1.0, -1.0, 1.0)), ((1.0, -1.0, 1.0), None)):
        if row is not None:
            append_row(t, np.array(row), 0.0, 0.0, INF)
        if column is not None:
            append_column(t, np.array(column), 0.0, 0.0, INF)
        driver.reset_solve_counters(t)
        assert driver.make_simplex_steps(t, 100)[0] == driver.OPTIMAL
        values.append(primal_values(t)[0])
    assert values == pytest.approx([0.0, 0.0, 1 / 3])
    assert row_multipliers(t)[1:].sum() == pytest.approx(1.0)


def _one_by_one_tableau(entry, number):
    """Return a tableau with one row and one column; `number` is its price and its distance to the bound."""
    t = empty_tableau(1, 1)
    t.size[ROWS], t.size[COLUMNS] = 1, 1
    t.T[0, 0] = entry
    t.columns[:, 0] = 0.0
    t.columns[HIGH, 0], t.columns[PRICE, 0] = INF, number
    t.rows[VALUE, 0], t.rows[LOW, 0], t.rows[HIGH, 0] = 0.0, -INF, number
    return t


@pytest.mark.parametrize("bland", [False, True])
def test_ratio_tests_find_a_candidate_for_large_numbers(bland: bool) -> None:
    # Relative to 1e7, the slack of a ratio test is below rounding, and so is the error of a quotient times its divisor.
    blocks = primal._blocking_row
    blocking = numba.njit(lambda t, q, sign, bland: blocks(t, q, sign, bland))
    rng = np.random.default_rng(0)
    for entry, number in zip(rng.uniform(0.1, 5.0, 2000), rng.uniform(1e6, 1e8, 2000), strict=True):
        t = _one_by_one_tableau(entry, number)
        assert dual._entering_column.py_func(t, 0, 1.0, np.zeros(1, dtype=np.int64), bland) == (0, 0)
        assert blocking(t, 0, 1.0, bland)[0] == 0
