"""Box QPs: against enumeration of active sets, another solver, and the optimality conditions themselves."""

from __future__ import annotations

import functools
import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.compilation.quadratic import Piece, Quadratic
from milopt.compilation.status import Termination
from milopt.errors import ConvexityError
from milopt.solvers.native.box_qp.box_qp import BoxAnswer, solve_box_qp
from milopt.solvers.native.box_qp.factor import Factor
from milopt.solvers.native.box_qp.newton import Progress, Strict, projected_gradient
from milopt.solvers.native.box_qp.pivoting import pivot
from milopt.solvers.native.box_qp.split import prove_convex, split
from milopt.solvers.native.box_qp.sweeps import compiled, reference_sweeps, sweeps


def dense(P: np.ndarray) -> Quadratic:
    return Quadratic(P.shape[0], (Piece(sp.csr_array(sp.eye_array(P.shape[0])), P),))


def odm_dual(Q: np.ndarray, c: float, mu: float) -> Quadratic:
    """[[Q + cI, -Q], [-Q, Q + (c/mu)I]], in the pieces [I, -I]'Q[I, -I] and a diagonal."""
    n = Q.shape[0]
    rows = sp.csr_array(sp.hstack([sp.eye_array(n), -sp.eye_array(n)]))
    own = np.concatenate([np.full(n, c), np.full(n, c / mu)])
    return Quadratic(2 * n, (Piece(rows, Q), Piece(sp.csr_array(sp.eye_array(2 * n)), own)))


def with_sums(P: Quadratic, sums: list[list[float]], weight: float = 0.7) -> Quadratic:
    """P and the squares of some sums of its columns."""
    rows = sp.csr_array(np.array(sums))
    return Quadratic(P.size, (*P.pieces, Piece(rows, np.full(rows.shape[0], weight))))


def spectrum(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    basis = np.linalg.qr(rng.normal(size=(values.size, values.size)))[0]
    P = (basis * values) @ basis.T
    return np.asarray(0.5 * (P + P.T))


def solve(P: np.ndarray, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> BoxAnswer:
    return solve_box_qp(split(dense(P)), q, lower, upper)


def enumerated(P: np.ndarray, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """The minimum, by trying every assignment of columns to lower bound, upper bound and neither."""
    best = np.inf
    for places in itertools.product((-1, 0, 1), repeat=q.size):
        place = np.array(places)
        x = np.where(place < 0, lower, np.where(place > 0, upper, 0.0))
        free = place == 0
        if not np.isfinite(x).all():
            continue
        if free.any():
            x[free] = np.linalg.lstsq(P[np.ix_(free, free)], -(q + P @ x)[free], rcond=None)[0]
        if np.all(x >= lower - 1e-9) and np.all(x <= upper + 1e-9):
            best = min(best, 0.5 * x @ P @ x + q @ x)
    return best


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), rank=st.integers(0, 5), half_open=st.booleans())
def test_minimum_is_the_best_of_all_active_sets(seed: int, n: int, rank: int, half_open: bool) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(min(rank, n), n))
    P, q = factor.T @ factor, rng.normal(size=n)
    lower, upper = -rng.random(n), rng.random(n)
    if half_open:
        P, upper = P + 0.1 * np.eye(n), np.where(rng.random(n) < 0.5, np.inf, upper)
    found = solve(P, q, lower, upper)
    assert found.termination is Termination.OPTIMAL
    assert found.x is not None
    assert np.all((lower <= found.x) & (found.x <= upper))
    value = 0.5 * found.x @ P @ found.x + q @ found.x
    assert value == pytest.approx(enumerated(P, q, lower, upper), abs=1e-9)


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("open_above", [False, True])
def test_conditions_hold_whatever_the_conditioning(condition: float, open_above: bool) -> None:
    rng = np.random.default_rng(3)
    n = 120
    P, q = spectrum(rng, np.logspace(0, -np.log10(condition), n)), rng.normal(size=n)
    lower, upper = (np.zeros(n), np.full(n, np.inf)) if open_above else (-np.ones(n), np.ones(n))
    found = solve(P, q, lower, upper)
    assert found.termination is Termination.OPTIMAL
    assert found.x is not None
    gradient = P @ found.x + q
    # Rounding in the check itself grows with the size of x.
    floor = 1e-15 * n * np.abs(found.x).max()
    assert projected_gradient(found.x, gradient, lower, upper) <= 1e-10 + floor


def test_agrees_with_a_conic_solver() -> None:
    rng = np.random.default_rng(5)
    n = 40
    P, q, lower, upper = spectrum(rng, np.logspace(0, -3, n)), rng.normal(size=n), -np.ones(n), np.full(n, 2.0)
    x = cp.Variable(n)
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(P)) + q @ x), [x >= lower, x <= upper])
    value = problem.solve(solver=cp.CLARABEL)
    found = solve(P, q, lower, upper)
    assert found.x is not None
    assert 0.5 * found.x @ P @ found.x + q @ found.x == pytest.approx(value, rel=1e-7)


def test_degenerate_and_singular_problems_end() -> None:
    rng = np.random.default_rng(6)
    factor = rng.normal(size=(30, 120))
    P = factor.T @ factor
    vertex = np.maximum(rng.normal(size=120), 0.0)
    # The gradient vanishes at this point, on its bounds too: no active set is the right one.
    found = solve(P, -P @ vertex, np.zeros(120), np.full(120, np.inf))
    assert found.termination is Termination.OPTIMAL
    assert found.residual <= 1e-8


def test_descent_without_end_is_called_unbounded() -> None:
    rng = np.random.default_rng(7)
    factor = rng.normal(size=(10, 30))
    bounded = solve(factor.T @ factor, np.abs(rng.normal(size=30)), np.zeros(30), np.full(30, np.inf))
    assert bounded.termination is Termination.OPTIMAL
    null = np.linalg.svd(factor)[2][-1]
    found = solve(factor.T @ factor, -null, np.full(30, -np.inf), np.full(30, np.inf))
    assert found.termination is Termination.UNBOUNDED
    assert "P d = 0" in found.reason


def test_a_diagonal_that_is_small_beside_the_rest_still_bounds() -> None:
    u = np.array([1e6, -1e6])
    own = Piece(sp.csr_array(sp.eye_array(2)), np.full(2, 0.1))
    P = Quadratic(2, (*dense(np.outer(u, u)).pieces, own))
    found = solve_box_qp(split(P), np.full(2, -1.0), np.zeros(2), np.full(2, np.inf))
    np.testing.assert_allclose(found.x, [10, 10], rtol=1e-3)
    assert found.termination is not Termination.UNBOUNDED


def test_far_optimum_of_a_nearly_flat_direction_is_not_called_unbounded() -> None:
    found = solve(np.diag([1.0, 1e-7]) + 0.0, np.array([0.0, -1.0]), np.full(2, -np.inf), np.full(2, np.inf))
    assert found.termination is Termination.OPTIMAL
    assert found.x is not None
    assert found.x == pytest.approx([0.0, 1e7])


@pytest.mark.parametrize("singular", [False, True])
def test_the_units_of_the_columns_do_not_decide_how_it_ends(singular: bool) -> None:
    """Programs in units of 1e-5 to 1e5 were called unbounded if strictly convex, and also with a flat direction."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 10))
        root, units = rng.normal(size=(n - singular, n)), np.exp2(rng.integers(-17, 18, n))
        flat = np.linalg.svd(root)[2][-1]
        unbounded = singular and bool(seed % 2)
        q = root.T @ rng.normal(size=len(root)) - (flat if unbounded else 0.0)
        lower, upper = np.where(flat > 0, -1.0, -np.inf), np.where(flat > 0, np.inf, 1.0)
        P = units[:, None] * (root.T @ root) * units
        answer = solve(0.5 * (P + P.T), units * q, lower / units, upper / units)
        assert answer.termination is (Termination.UNBOUNDED if unbounded else Termination.OPTIMAL)
        assert answer.x is not None
        if not unbounded:
            u = units * answer.x
            terms = np.abs(root.T @ root) @ np.abs(u) + np.abs(q)
            assert projected_gradient(u, root.T @ (root @ u) + q, lower, upper) < 1e-8 * terms.max()


def test_residual_below_rounding_is_optimal() -> None:
    rng = np.random.default_rng(10)
    factor = 3e3 * rng.normal(size=(9, 29))
    q, lower, upper = 1e-3 * rng.normal(size=29), -rng.random(29), rng.random(29)
    found = solve(factor.T @ factor, q, lower, upper)
    assert found.termination is Termination.OPTIMAL
    assert found.residual <= 1e-7


def test_columns_on_their_own_are_clipped() -> None:
    P = Quadratic(3, (Piece(sp.csr_array(sp.eye_array(3)), np.array([2.0, 0.0, 1.0])),))
    q, lower, upper = np.array([-8.0, 1.0, 5.0]), np.array([0.0, -3.0, 1.0]), np.array([1.0, 2.0, 1.0])
    found = solve_box_qp(split(P), q, lower, upper)
    assert found.x is not None
    assert found.x.tolist() == [1.0, -3.0, 1.0]
    endless = solve_box_qp(split(P), q, np.full(3, -np.inf), upper)
    assert endless.termination is Termination.UNBOUNDED
    assert "column 1" in endless.reason


def test_empty_box_names_the_column() -> None:
    found = solve(np.eye(2), np.zeros(2), np.array([0.0, 1.0]), np.array([1.0, 0.5]))
    assert found.termination is Termination.INFEASIBLE
    assert "column 1 has lower bound 1 above its upper bound 0.5" in found.reason


def test_negative_curvature_is_an_error_that_gives_the_eigenvalue() -> None:
    P = spectrum(np.random.default_rng(8), np.array([1.0, 0.5, -0.25]))
    with pytest.raises(ConvexityError, match=r"smallest eigenvalue of P .* is -0\.25"):
        prove_convex(split(dense(P)), np.arange(3), "toy")


def test_negative_curvature_in_small_units_is_an_error() -> None:
    with pytest.raises(ConvexityError, match="-1e-09"):
        prove_convex(split(dense(np.array([[1e6, 0.0], [0.0, -1e-9]]))), np.arange(2), "toy")


def test_negative_curvature_on_fixed_columns_does_no_harm() -> None:
    prove_convex(split(dense(np.array([[1.0, 2.0], [2.0, 1.0]]))), np.array([0]), "toy")


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_compiled_sweeps_are_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(6, 6))
    parts = split(with_sums(odm_dual(factor @ factor.T, 0.3, 0.5), [[2.0] * 3 + [0.0] * 9, [0.0] * 8 + [-1.0] * 4]))
    q, lower = rng.normal(size=12), np.where(rng.random(12) < 0.3, -np.inf, 0.0)
    upper = np.where(rng.random(12) < 0.5, np.inf, 1.0)
    start = np.clip(np.zeros(12), lower, upper)
    arguments = (parts, q, lower, upper, start, 3)
    assert sweeps(*arguments) == pytest.approx(reference_sweeps(*arguments), abs=1e-12)


def test_sweeps_compile_where_no_cache_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    def njit(function: object = None, *, cache: bool = False) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return function

    monkeypatch.setattr(numba, "njit", lambda *a, **k: functools.partial(njit, **k) if k else njit(*a))
    compiled.cache_clear()
    try:
        parts = split(dense(np.array([[2.0, 1.0], [1.0, 2.0]])))
        x = sweeps(parts, -np.ones(2), np.zeros(2), np.ones(2), np.zeros(2), 1)
        assert x == pytest.approx([0.5, 0.25])
    finally:
        compiled.cache_clear()


def test_split_is_the_matrix() -> None:
    rng = np.random.default_rng(9)
    factor = rng.normal(size=(4, 4))
    Q = factor @ factor.T
    apart, across = [[1.0, 0.0, -2.0, 0.0], [0.0, 3.0, 0.0, 1.0]], [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    nowhere = Quadratic(4, (Piece(sp.csr_array((0, 4)), np.zeros((0, 0))),))
    alike = (with_sums(dense(Q), apart), with_sums(dense(Q), across), with_sums(dense(Q), apart, weight=-0.1))
    for P in (odm_dual(Q, 0.3, 0.5), dense(Q), Quadratic(4), nowhere, with_sums(nowhere, apart), *alike):
        parts, x = split(P), rng.normal(size=P.size)
        assert parts.times(x) == pytest.approx(P.dense @ x)
        assert parts.curvature == pytest.approx(P.dense.diagonal())
        if parts.separable:
            continue
        # Parts that cancel in an entry of P are each rounded.
        assert parts.rounding(x) >= 0.999 * np.finfo(float).eps * (np.abs(P.dense) @ np.abs(x)).max()
        for index in (np.array([0, P.size - 1]), np.array([2, 0, 3])):
            block = parts.block(index) + np.diag(parts.diagonal[index])
            assert block == pytest.approx(P.dense[np.ix_(index, index)])


def test_sums_of_separate_columns_leave_the_dense_matrix_as_it_is() -> None:
    Q = np.eye(4) + 1.0
    parts = split(with_sums(dense(Q), [[1.0, 0.0, 1.0, 0.0]]))
    assert parts.weight is Q
    assert parts.sums.times(np.array([1.0, 5.0, 2.0, 5.0])) == pytest.approx([2.1, 0.0, 2.1, 0.0])


def test_ill_conditioned_odm_dual_takes_a_dozen_factorisations() -> None:
    rng = np.random.default_rng(0)
    n = 150
    points, y = rng.normal(size=(n, 5)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    gram = np.exp(-((points[:, None] - points[None]) ** 2).sum(-1) / 5)
    Q = gram * np.outer(y, y)
    P = odm_dual(Q, 2 * np.linalg.eigvalsh(Q)[-1] / 6e5, 0.5)
    q = np.concatenate([np.full(n, -0.5), np.full(n, 1.5)])
    found = solve_box_qp(split(P), q, np.zeros(2 * n), np.full(2 * n, np.inf))
    assert found.residual <= 1e-10
    assert found.factorisations <= 12
    assert found.x is not None
    assert np.all(found.x[:n] * found.x[n:] == 0.0)


def test_time_limit_keeps_a_point_of_the_box() -> None:
    rng = np.random.default_rng(1)
    P = spectrum(rng, np.logspace(0, -6, 50))
    found = solve_box_qp(split(dense(P)), rng.normal(size=50), np.zeros(50), np.full(50, np.inf), time_limit=1e-9)
    assert found.termination is Termination.LIMIT
    assert found.x is not None
    assert np.all(found.x >= 0.0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), far=st.sampled_from([0.0, 1e-3, 1.0]))
def test_pivoting_from_a_start_is_the_minimum_or_says_that_it_found_none(seed: int, n: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n))
    parts, q = split(dense(factor @ factor.T + 0.1 * np.eye(n))), rng.normal(size=n)
    lower, upper = np.zeros(n), np.where(rng.random(n) < 0.5, np.inf, rng.random(n))
    expected = solve_box_qp(parts, q, lower, upper).x
    assert expected is not None
    start = np.clip(expected + far * rng.normal(size=n), lower, upper)
    found = pivot(Strict(parts, parts.diagonal, q, lower, upper), start, 1e-12, Progress(np.inf))
    if found is not None:
        np.testing.assert_allclose(found.x, expected, atol=1e-8)
    else:
        assert far > 0.0
    again = solve_box_qp(parts, q, lower, upper, start)
    assert again.termination is Termination.OPTIMAL
    np.testing.assert_allclose(again.x, expected, atol=1e-8)


def test_squares_of_single_columns_are_the_diagonal_whatever_else_their_piece_has() -> None:
    rows = sp.csr_array(np.array([[2.0, 0, 0], [0, 0, 0], [1.0, 1.0, 1.0], [0, 0, 3.0]]))
    P = Quadratic(3, (Piece(rows, np.array([1.0, 5.0, 2.0, 1.0])),))
    parts = split(P)
    np.testing.assert_allclose(parts.diagonal, [4.0, 0.0, 9.0])
    for x in np.eye(3):
        np.testing.assert_allclose(parts.times(x), P.times(x))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), gone=st.integers(0, 12), new=st.integers(0, 12), signed=st.booleans())
def test_a_factor_solves_for_nearly_the_same_columns(seed: int, gone: int, new: int, signed: bool) -> None:
    """One factorisation serves sets that lack some of its columns and have some others, to rounding."""
    rng = np.random.default_rng(seed)
    n, kept = 320, 260
    points = rng.normal(size=(n, 5))
    parts = split(odm_dual(points @ points.T, 0.3, 0.5) if signed else dense(points @ points.T + 0.3 * np.eye(n)))
    diagonal = parts.diagonal if signed else np.full(n, 0.2)
    P = np.column_stack([parts.inner(unit) for unit in np.eye(diagonal.size)]) + np.diag(diagonal)
    order = rng.permutation(diagonal.size)
    factor, free = Factor(), np.isin(np.arange(diagonal.size), order[:kept])
    other = np.isin(np.arange(diagonal.size), np.append(order[gone:kept], order[kept : kept + new]))
    for columns in (free, other, free):
        right = rng.normal(size=int(columns.sum()))
        found = factor.solve(parts, diagonal, columns, right)
        assert found is not None
        expected = np.linalg.solve(P[np.ix_(columns, columns)], right)
        assert np.abs(found - expected).max() <= 1e-9 * (1 + np.abs(expected).max())
    assert factor.count == 1


def test_a_correction_that_is_not_accurate_is_a_factorisation() -> None:
    """Where all but rounding cancels, nothing rests on the old factor."""
    rng = np.random.default_rng(0)
    n = 300
    points = rng.normal(size=(n, 3))
    parts, diagonal = split(dense(points @ points.T)), np.full(n, 1e-11)
    factor, free = Factor(), np.ones(n, dtype=bool)
    assert factor.solve(parts, diagonal, free, rng.normal(size=n)) is not None
    free = np.arange(n) > 5
    right = rng.normal(size=n - 6)
    found = factor.solve(parts, diagonal, free, right)
    assert found is not None
    assert factor.count == 2


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), far=st.sampled_from([1e-3, 1e-1, 1.0]))
def test_a_start_at_a_singular_problem_ends_at_its_minimum(seed: int, far: float) -> None:
    """Equal points, as in bags that share instances: a start is met by pivoting with a diagonal lent, or by Newton."""
    rng = np.random.default_rng(seed)
    points = np.repeat(rng.normal(size=(15, 6)), 3, axis=0)
    P, q = points @ points.T, points @ rng.normal(size=6) + rng.random(45)
    lower, upper = np.zeros(45), np.full(45, np.inf)
    parts = split(dense(P))
    cold = solve_box_qp(parts, q, lower, upper)
    assert cold.x is not None
    warm = solve_box_qp(parts, q, lower, upper, np.maximum(cold.x + far * rng.normal(size=45), 0.0))
    assert warm.termination is Termination.OPTIMAL
    assert warm.x is not None
    assert projected_gradient(warm.x, P @ warm.x + q, lower, upper) <= 1e-8 * np.abs(q).max()
    assert abs(0.5 * warm.x @ P @ warm.x + q @ warm.x - 0.5 * cold.x @ P @ cold.x - q @ cold.x) <= 1e-8
