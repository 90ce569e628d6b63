"""Box QPs compared with enumeration of active sets, with another solver, and with the optimality conditions."""

from __future__ import annotations

import functools
import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.status import Termination
from milopt.errors import ConvexityError
from milopt.solvers.native.box_qp.box_qp import BoxAnswer, solve_box_qp
from milopt.solvers.native.box_qp.factor import CholeskyFactor
from milopt.solvers.native.box_qp.newton import BoxQPProgress, StrictBoxQP, projected_gradient
from milopt.solvers.native.box_qp.pivoting import run_pivoting
from milopt.solvers.native.box_qp.split import check_convex, split_quadratic
from milopt.solvers.native.box_qp.sweeps import (
    compiled_coordinate_descent,
    coordinate_descent,
    reference_coordinate_descent,
)


def dense_quadratic(P: np.ndarray) -> Quadratic:
    return Quadratic(P.shape[0], (QuadraticPiece(sp.csr_array(sp.eye_array(P.shape[0])), P),))


def odm_dual(Q: np.ndarray, c: float, mu: float) -> Quadratic:
    """Return [[Q + cI, -Q], [-Q, Q + (c/mu)I]] as the pieces [I, -I]'Q[I, -I] and a diagonal."""
    n = Q.shape[0]
    rows = sp.csr_array(sp.hstack([sp.eye_array(n), -sp.eye_array(n)]))
    diagonal = np.concatenate([np.full(n, c), np.full(n, c / mu)])
    return Quadratic(2 * n, (QuadraticPiece(rows, Q), QuadraticPiece(sp.csr_array(sp.eye_array(2 * n)), diagonal)))


def add_squared_sums(P: Quadratic, sums: list[list[float]], weight: float = 0.7) -> Quadratic:
    """Return P plus the squares of some sums of its columns."""
    rows = sp.csr_array(np.array(sums))
    return Quadratic(P.size, (*P.pieces, QuadraticPiece(rows, np.full(rows.shape[0], weight))))


def matrix_with_eigenvalues(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    basis = np.linalg.qr(rng.normal(size=(values.size, values.size)))[0]
    P = (basis * values) @ basis.T
    return np.asarray(0.5 * (P + P.T))


def solve(P: np.ndarray, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> BoxAnswer:
    return solve_box_qp(split_quadratic(dense_quadratic(P)), q, lower, upper)


def minimum_by_enumeration(P: np.ndarray, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the minimum over all assignments of columns to lower bound, upper bound and neither."""
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
    answer = solve(P, q, lower, upper)
    assert answer.termination is Termination.OPTIMAL
    assert answer.x is not None
    assert np.all((lower <= answer.x) & (answer.x <= upper))
    value = 0.5 * answer.x @ P @ answer.x + q @ answer.x
    assert value == pytest.approx(minimum_by_enumeration(P, q, lower, upper), abs=1e-9)


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("open_above", [False, True])
def test_optimality_conditions_hold_for_any_condition_number(condition: float, open_above: bool) -> None:
    rng = np.random.default_rng(3)
    n = 120
    P, q = matrix_with_eigenvalues(rng, np.logspace(0, -np.log10(condition), n)), rng.normal(size=n)
    lower, upper = (np.zeros(n), np.full(n, np.inf)) if open_above else (-np.ones(n), np.ones(n))
    answer = solve(P, q, lower, upper)
    assert answer.termination is Termination.OPTIMAL
    assert answer.x is not None
    gradient = P @ answer.x + q
    # The rounding error of this check grows with the size of x.
    floor = 1e-15 * n * np.abs(answer.x).max()
    assert projected_gradient(answer.x, gradient, lower, upper) <= 1e-10 + floor


def test_agrees_with_a_conic_solver() -> None:
    rng = np.random.default_rng(5)
    n = 40
    P, q, lower, upper = (
        matrix_with_eigenvalues(rng, np.logspace(0, -3, n)),
        rng.normal(size=n),
        -np.ones(n),
        np.full(n, 2.0),
    )
    x = cp.Variable(n)
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(P)) + q @ x), [x >= lower, x <= upper])
    value = problem.solve(solver=cp.CLARABEL)
    answer = solve(P, q, lower, upper)
    assert answer.x is not None
    assert 0.5 * answer.x @ P @ answer.x + q @ answer.x == pytest.approx(value, rel=1e-7)


def test_degenerate_and_singular_problems_are_solved() -> None:
    rng = np.random.default_rng(6)
    factor = rng.normal(size=(30, 120))
    P = factor.T @ factor
    vertex = np.maximum(rng.normal(size=120), 0.0)
    # The gradient vanishes at this point, also in the columns at their bounds: the active set is not unique.
    answer = solve(P, -P @ vertex, np.zeros(120), np.full(120, np.inf))
    assert answer.termination is Termination.OPTIMAL
    assert answer.residual <= 1e-8


def test_unbounded_descent_is_reported_as_unbounded() -> None:
    rng = np.random.default_rng(7)
    factor = rng.normal(size=(10, 30))
    bounded = solve(factor.T @ factor, np.abs(rng.normal(size=30)), np.zeros(30), np.full(30, np.inf))
    assert bounded.termination is Termination.OPTIMAL
    null = np.linalg.svd(factor)[2][-1]
    answer = solve(factor.T @ factor, -null, np.full(30, -np.inf), np.full(30, np.inf))
    assert answer.termination is Termination.UNBOUNDED
    assert "P d = 0" in answer.reason


def test_a_small_diagonal_still_makes_the_problem_bounded() -> None:
    u = np.array([1e6, -1e6])
    diagonal = QuadraticPiece(sp.csr_array(sp.eye_array(2)), np.full(2, 0.1))
    P = Quadratic(2, (*dense_quadratic(np.outer(u, u)).pieces, diagonal))
    answer = solve_box_qp(split_quadratic(P), np.full(2, -1.0), np.zeros(2), np.full(2, np.inf))
    np.testing.assert_allclose(answer.x, [10, 10], rtol=1e-3)
    assert answer.termination is not Termination.UNBOUNDED


def test_far_optimum_of_a_nearly_flat_direction_is_not_reported_as_unbounded() -> None:
    answer = solve(np.diag([1.0, 1e-7]) + 0.0, np.array([0.0, -1.0]), np.full(2, -np.inf), np.full(2, np.inf))
    assert answer.termination is Termination.OPTIMAL
    assert answer.x is not None
    assert answer.x == pytest.approx([0.0, 1e7])


@pytest.mark.parametrize("singular", [False, True])
def test_termination_does_not_depend_on_the_units_of_the_columns(singular: bool) -> None:
    """Check programs in units of 1e-5 to 1e5, which were once reported as unbounded."""
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


def test_residual_below_rounding_errors_is_optimal() -> None:
    rng = np.random.default_rng(10)
    factor = 3e3 * rng.normal(size=(9, 29))
    q, lower, upper = 1e-3 * rng.normal(size=29), -rng.random(29), rng.random(29)
    answer = solve(factor.T @ factor, q, lower, upper)
    assert answer.termination is Termination.OPTIMAL
    assert answer.residual <= 1e-7


def test_separable_columns_are_clipped() -> None:
    P = Quadratic(3, (QuadraticPiece(sp.csr_array(sp.eye_array(3)), np.array([2.0, 0.0, 1.0])),))
    q, lower, upper = np.array([-8.0, 1.0, 5.0]), np.array([0.0, -3.0, 1.0]), np.array([1.0, 2.0, 1.0])
    answer = solve_box_qp(split_quadratic(P), q, lower, upper)
    assert answer.x is not None
    assert answer.x.tolist() == [1.0, -3.0, 1.0]
    unbounded = solve_box_qp(split_quadratic(P), q, np.full(3, -np.inf), upper)
    assert unbounded.termination is Termination.UNBOUNDED
    assert "column 1" in unbounded.reason


def test_empty_box_names_the_column() -> None:
    answer = solve(np.eye(2), np.zeros(2), np.array([0.0, 1.0]), np.array([1.0, 0.5]))
    assert answer.termination is Termination.INFEASIBLE
    assert "column 1 has lower bound 1 above its upper bound 0.5" in answer.reason


def test_negative_curvature_is_an_error_that_gives_the_eigenvalue() -> None:
    P = matrix_with_eigenvalues(np.random.default_rng(8), np.array([1.0, 0.5, -0.25]))
    with pytest.raises(ConvexityError, match=r"smallest eigenvalue of P .* is -0\.25"):
        check_convex(split_quadratic(dense_quadratic(P)), np.arange(3), "toy")


def test_small_negative_curvature_is_an_error() -> None:
    with pytest.raises(ConvexityError, match="-1e-09"):
        check_convex(split_quadratic(dense_quadratic(np.array([[1e6, 0.0], [0.0, -1e-9]]))), np.arange(2), "toy")


def test_negative_curvature_on_fixed_columns_is_accepted() -> None:
    check_convex(split_quadratic(dense_quadratic(np.array([[1.0, 2.0], [2.0, 1.0]]))), np.array([0]), "toy")


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_compiled_coordinate_descent_equals_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(6, 6))
    parts = split_quadratic(
        add_squared_sums(odm_dual(factor @ factor.T, 0.3, 0.5), [[2.0] * 3 + [0.0] * 9, [0.0] * 8 + [-1.0] * 4])
    )
    q, lower = rng.normal(size=12), np.where(rng.random(12) < 0.3, -np.inf, 0.0)
    upper = np.where(rng.random(12) < 0.5, np.inf, 1.0)
    start = np.clip(np.zeros(12), lower, upper)
    arguments = (parts, q, lower, upper, start, 3)
    assert coordinate_descent(*arguments) == pytest.approx(reference_coordinate_descent(*arguments), abs=1e-12)


def test_coordinate_descent_compiles_without_a_writable_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    def njit(function: object = None, *, cache: bool = False) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return function

    monkeypatch.setattr(numba, "njit", lambda *a, **k: functools.partial(njit, **k) if k else njit(*a))
    compiled_coordinate_descent.cache_clear()
    try:
        parts = split_quadratic(dense_quadratic(np.array([[2.0, 1.0], [1.0, 2.0]])))
        x = coordinate_descent(parts, -np.ones(2), np.zeros(2), np.ones(2), np.zeros(2), 1)
        assert x == pytest.approx([0.5, 0.25])
    finally:
        compiled_coordinate_descent.cache_clear()


def test_split_represents_the_matrix() -> None:
    rng = np.random.default_rng(9)
    factor = rng.normal(size=(4, 4))
    Q = factor @ factor.T
    disjoint, overlapping = [[1.0, 0.0, -2.0, 0.0], [0.0, 3.0, 0.0, 1.0]], [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    empty = Quadratic(4, (QuadraticPiece(sp.csr_array((0, 4)), np.zeros((0, 0))),))
    with_sums = (
        add_squared_sums(dense_quadratic(Q), disjoint),
        add_squared_sums(dense_quadratic(Q), overlapping),
        add_squared_sums(dense_quadratic(Q), disjoint, weight=-0.1),
    )
    for P in (
        odm_dual(Q, 0.3, 0.5),
        dense_quadratic(Q),
        Quadratic(4),
        empty,
        add_squared_sums(empty, disjoint),
        *with_sums,
    ):
        parts, x = split_quadratic(P), rng.normal(size=P.size)
        assert parts.times(x) == pytest.approx(P.dense @ x)
        assert parts.curvature == pytest.approx(P.dense.diagonal())
        if parts.is_diagonal:
            continue
        # Terms that cancel in an entry of P are rounded separately, so the estimate may be larger.
        assert parts.estimate_rounding_error(x) >= 0.999 * np.finfo(float).eps * (np.abs(P.dense) @ np.abs(x)).max()
        for index in (np.array([0, P.size - 1]), np.array([2, 0, 3])):
            block = parts.principal_block(index) + np.diag(parts.diagonal[index])
            assert block == pytest.approx(P.dense[np.ix_(index, index)])


def test_sums_of_disjoint_columns_do_not_change_the_dense_matrix() -> None:
    Q = np.eye(4) + 1.0
    parts = split_quadratic(add_squared_sums(dense_quadratic(Q), [[1.0, 0.0, 1.0, 0.0]]))
    assert parts.weight is Q
    assert parts.sums.times(np.array([1.0, 5.0, 2.0, 5.0])) == pytest.approx([2.1, 0.0, 2.1, 0.0])


def test_ill_conditioned_odm_dual_needs_at_most_twelve_factorisations() -> None:
    rng = np.random.default_rng(0)
    n = 150
    points, y = rng.normal(size=(n, 5)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    gram = np.exp(-((points[:, None] - points[None]) ** 2).sum(-1) / 5)
    Q = gram * np.outer(y, y)
    P = odm_dual(Q, 2 * np.linalg.eigvalsh(Q)[-1] / 6e5, 0.5)
    q = np.concatenate([np.full(n, -0.5), np.full(n, 1.5)])
    answer = solve_box_qp(split_quadratic(P), q, np.zeros(2 * n), np.full(2 * n, np.inf))
    assert answer.residual <= 1e-10
    assert answer.factorisations <= 12
    assert answer.x is not None
    assert np.all(answer.x[:n] * answer.x[n:] == 0.0)


def test_time_limit_returns_a_point_of_the_box() -> None:
    rng = np.random.default_rng(1)
    P = matrix_with_eigenvalues(rng, np.logspace(0, -6, 50))
    answer = solve_box_qp(
        split_quadratic(dense_quadratic(P)), rng.normal(size=50), np.zeros(50), np.full(50, np.inf), time_limit=1e-9
    )
    assert answer.termination is Termination.LIMIT
    assert answer.x is not None
    assert np.all(answer.x >= 0.0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), distance=st.sampled_from([0.0, 1e-3, 1.0]))
def test_pivoting_from_a_start_returns_the_minimum_or_none(seed: int, n: int, distance: float) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n))
    parts, q = split_quadratic(dense_quadratic(factor @ factor.T + 0.1 * np.eye(n))), rng.normal(size=n)
    lower, upper = np.zeros(n), np.where(rng.random(n) < 0.5, np.inf, rng.random(n))
    expected = solve_box_qp(parts, q, lower, upper).x
    assert expected is not None
    start = np.clip(expected + distance * rng.normal(size=n), lower, upper)
    answer = run_pivoting(StrictBoxQP(parts, parts.diagonal, q, lower, upper), start, 1e-12, BoxQPProgress(np.inf))
    if answer is not None:
        np.testing.assert_allclose(answer.x, expected, atol=1e-8)
    else:
        assert distance > 0.0
    again = solve_box_qp(parts, q, lower, upper, start)
    assert again.termination is Termination.OPTIMAL
    np.testing.assert_allclose(again.x, expected, atol=1e-8)


def test_squares_of_single_columns_become_the_diagonal() -> None:
    rows = sp.csr_array(np.array([[2.0, 0, 0], [0, 0, 0], [1.0, 1.0, 1.0], [0, 0, 3.0]]))
    P = Quadratic(3, (QuadraticPiece(rows, np.array([1.0, 5.0, 2.0, 1.0])),))
    parts = split_quadratic(P)
    np.testing.assert_allclose(parts.diagonal, [4.0, 0.0, 9.0])
    for x in np.eye(3):
        np.testing.assert_allclose(parts.times(x), P.times(x))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n_removed=st.integers(0, 12), n_added=st.integers(0, 12), signed=st.booleans())
def test_a_factor_is_reused_for_similar_sets_of_columns(seed: int, n_removed: int, n_added: int, signed: bool) -> None:
    """One factorisation serves sets that lack some of its columns and have additional ones, up to rounding."""
    rng = np.random.default_rng(seed)
    n, n_factorised = 320, 260
    points = rng.normal(size=(n, 5))
    parts = split_quadratic(
        odm_dual(points @ points.T, 0.3, 0.5) if signed else dense_quadratic(points @ points.T + 0.3 * np.eye(n))
    )
    diagonal = parts.diagonal if signed else np.full(n, 0.2)
    P = np.column_stack([parts.times_without_diagonal(unit) for unit in np.eye(diagonal.size)]) + np.diag(diagonal)
    order = rng.permutation(diagonal.size)
    factor, free = CholeskyFactor(), np.isin(np.arange(diagonal.size), order[:n_factorised])
    other = np.isin(
        np.arange(diagonal.size), np.append(order[n_removed:n_factorised], order[n_factorised : n_factorised + n_added])
    )
    for columns in (free, other, free):
        right = rng.normal(size=int(columns.sum()))
        solution = factor.solve(parts, diagonal, columns, right)
        assert solution is not None
        expected = np.linalg.solve(P[np.ix_(columns, columns)], right)
        assert np.abs(solution - expected).max() <= 1e-9 * (1 + np.abs(expected).max())
    assert factor.count == 1


def test_an_inaccurate_update_triggers_a_factorisation() -> None:
    """If cancellation leaves only rounding errors, the old factor is not used."""
    rng = np.random.default_rng(0)
    n = 300
    points = rng.normal(size=(n, 3))
    parts, diagonal = split_quadratic(dense_quadratic(points @ points.T)), np.full(n, 1e-11)
    factor, free = CholeskyFactor(), np.ones(n, dtype=bool)
    assert factor.solve(parts, diagonal, free, rng.normal(size=n)) is not None
    free = np.arange(n) > 5
    right = rng.normal(size=n - 6)
    solution = factor.solve(parts, diagonal, free, right)
    assert solution is not None
    assert factor.count == 2


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), distance=st.sampled_from([1e-3, 1e-1, 1.0]))
def test_warm_start_of_a_singular_problem_reaches_its_minimum(seed: int, distance: float) -> None:
    """Equal points, as in bags that share instances, are solved by pivoting with proximal terms or by Newton."""
    rng = np.random.default_rng(seed)
    points = np.repeat(rng.normal(size=(15, 6)), 3, axis=0)
    P, q = points @ points.T, points @ rng.normal(size=6) + rng.random(45)
    lower, upper = np.zeros(45), np.full(45, np.inf)
    parts = split_quadratic(dense_quadratic(P))
    cold = solve_box_qp(parts, q, lower, upper)
    assert cold.x is not None
    warm = solve_box_qp(parts, q, lower, upper, np.maximum(cold.x + distance * rng.normal(size=45), 0.0))
    assert warm.termination is Termination.OPTIMAL
    assert warm.x is not None
    assert projected_gradient(warm.x, P @ warm.x + q, lower, upper) <= 1e-8 * np.abs(q).max()
    assert abs(0.5 * warm.x @ P @ warm.x + q @ warm.x - 0.5 * cold.x @ P @ cold.x - q @ cold.x) <= 1e-8
