"""Newton's method for margin programs: optima, degenerate data, the exact bias, and programs that have the pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import milopt
from milopt.declaration.kernels.feature_rows import FeatureRows
from milopt.declaration.kernels.kernel import Linear
from milopt.models import MIORDM, MISVM, ODM, SetKernelSVM
from milopt.solvers.native.margin_newton import margin_newton
from milopt.solvers.native.margin_newton.compiled_projection import compiled_projection
from milopt.solvers.native.margin_newton.group_projection import GroupLayout, reference_projection
from milopt.solvers.native.margin_newton.held_rows import HeldRows
from milopt.solvers.native.margin_newton.margin_newton import MarginAnswer, solve_margin_program
from milopt.solvers.native.margin_newton.margin_program import MarginProgram, MarginRows, best_bias
from milopt.solvers.native.margin_newton.reduced_rows import ReducedRows
from milopt.solving import solve_run

ACCURACY = 1e-6


def margin_program(
    rows: np.ndarray | sp.csr_array,
    sizes: np.ndarray,
    cap: float | np.ndarray,
    curvature: float | np.ndarray = 0.0,
    bias: np.ndarray | None = None,
    offset: np.ndarray | None = None,
) -> MarginProgram:
    count, groups = rows.shape[0], sizes.size
    return MarginProgram(
        MarginRows(FeatureRows(Linear(), rows), sp.csr_array(sp.eye_array(count, format="csr"))),
        np.ones(count) if offset is None else offset,
        np.zeros(count) if bias is None else bias,
        bias is not None,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        np.broadcast_to(np.asarray(cap, dtype=float), groups).copy(),
        np.broadcast_to(np.asarray(curvature, dtype=float), groups).copy(),
    )


def optimum_by_clarabel(program: MarginProgram) -> float:
    cp = pytest.importorskip("cvxpy")
    R = program.rows.take(np.arange(program.group.size))
    R = R.toarray() if sp.issparse(R) else R
    # Features outside the span of the rows do not matter, and cvxpy needs few columns.
    u, s, _ = np.linalg.svd(R, full_matrices=False)
    R = u * s
    w, b, t = cp.Variable(R.shape[1]), cp.Variable(), cp.Variable(program.cap.size)
    v = program.offset - R @ w - (program.bias * b if program.has_bias else 0.0)
    cost = 0.5 * cp.sum_squares(w) + program.cap @ t + 0.5 * cp.sum(cp.multiply(program.curvature, cp.square(t)))
    problem = cp.Problem(cp.Minimize(cost), [t >= 0, t[program.group] >= v])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    return float(problem.value)


def check_optimal(program: MarginProgram, answer: MarginAnswer) -> None:
    assert -1e-12 <= answer.gap <= ACCURACY
    R = program.rows.take(np.arange(program.group.size))
    v = program.offset - R @ answer.w - program.bias * answer.b
    t = np.maximum.reduceat(v, program.group_starts[:-1])
    assert answer.primal == pytest.approx(0.5 * answer.w @ answer.w + program.loss(t), rel=1e-9)
    assert (answer.a >= 0).all()
    np.testing.assert_allclose(R.T @ answer.a, answer.w, atol=1e-8 * (1 + np.abs(answer.w).max(initial=0.0)))
    sums = np.add.reduceat(answer.a, program.group_starts[:-1])
    assert (sums <= program.cap * (1 + 1e-12))[program.curvature == 0].all()
    if program.has_bias:
        assert abs(program.bias @ answer.a) <= 1e-9 * (1 + np.abs(answer.a).sum())
    assert answer.primal == pytest.approx(optimum_by_clarabel(program), rel=3e-6, abs=3e-6)


def random_program(seed: int, groups: int, features: int, C: float, loss: str, has_bias: bool) -> MarginProgram:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, groups)
    sign = np.repeat(np.where(np.arange(groups) % 2, 1.0, -1.0), sizes)
    X = rng.normal(size=(int(sizes.sum()), features)) + 0.3 * sign[:, None]
    cap = 0.0 if loss == "squared" else C
    curvature = 0.0 if loss == "hinge" else 2.0 * C
    bias = sign if has_bias else None
    return margin_program(sign[:, None] * X, sizes, cap, curvature, bias, 1 + 0.1 * rng.normal(size=X.shape[0]))


@pytest.mark.parametrize("loss", ["hinge", "squared", "both"])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize(("groups", "features"), [(40, 5), (20, 60)])
def test_the_optimum_of_random_programs_is_found(
    loss: str, has_bias: bool, C: float, groups: int, features: int
) -> None:
    program = random_program(3, groups, features, C, loss, has_bias)
    check_optimal(program, solve_margin_program(program, 1e-9, 1e-7))


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    groups=st.integers(2, 25),
    features=st.integers(1, 40),
    C=st.floats(0.01, 1000.0),
    loss=st.sampled_from(["hinge", "squared", "both"]),
    has_bias=st.booleans(),
)
def test_any_random_program_is_solved(
    seed: int, groups: int, features: int, C: float, loss: str, has_bias: bool
) -> None:
    program = random_program(seed, groups, features, C, loss, has_bias)
    check_optimal(program, solve_margin_program(program, 1e-9, 1e-7))


def test_rows_are_held_lazily_if_there_are_many() -> None:
    rng = np.random.default_rng(0)
    sizes = np.where(np.arange(120) % 2, 1, 20)
    sign = np.repeat(np.where(np.arange(120) % 2, 1.0, -1.0), sizes)
    X = rng.normal(size=(sign.size, 8)) + 0.5 * sign[:, None]
    program = margin_program(sign[:, None] * X, sizes, 2.0, bias=sign)
    answer = solve_margin_program(program, 1e-9)
    assert answer.passes > 1
    check_optimal(program, answer)


@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("kind", ["duplicates", "separable", "zeros", "single", "sparse", "one class", "large units"])
def test_degenerate_programs_are_solved(kind: str, C: float) -> None:
    rng = np.random.default_rng(1)
    sizes = np.full(30, 1 if kind == "single" else 4)
    sign = np.repeat(np.where(np.arange(30) % 2, 1.0, -1.0), sizes)
    X = rng.normal(size=(sign.size, 6))
    if kind == "duplicates":
        X = X[rng.integers(0, 3, sign.size)]
    elif kind == "separable":
        X = X + 10.0 * sign[:, None]
    elif kind == "zeros":
        X = np.zeros_like(X)
    elif kind == "one class":
        sign = np.ones_like(sign)
    elif kind == "large units":
        X = X * np.array([30.0, 1.0, 0.03, 1.0, 1.0, 1.0])
    rows = sign[:, None] * X
    if kind == "sparse":
        wide = np.zeros((sign.size, 500))
        wide[np.arange(sign.size)[:, None], rng.integers(0, 500, (sign.size, 6))] = rows
        program = margin_program(sp.csr_array(wide), sizes, C, bias=sign)
    else:
        program = margin_program(rows, sizes, C, bias=sign)
    check_optimal(program, solve_margin_program(program, 1e-9, 1e-7))


def test_the_bias_is_exact_if_its_coefficients_differ_within_a_group() -> None:
    # Epsilon-insensitive regression with one slack for both sides.
    rng = np.random.default_rng(2)
    X, target = rng.normal(size=(30, 3)), rng.normal(size=30)
    rows = np.stack([X, -X], axis=1).reshape(60, 3)
    bias = np.tile([1.0, -1.0], 30)
    offset = np.stack([target - 0.1, -target - 0.1], axis=1).ravel()
    program = margin_program(rows, np.full(30, 2), 5.0, bias=bias, offset=offset)
    check_optimal(program, solve_margin_program(program, 1e-9, 1e-7))


def test_a_warm_start_needs_fewer_steps() -> None:
    program = random_program(5, 200, 10, 1.0, "hinge", True)
    first = solve_margin_program(program, 1e-9)
    again = solve_margin_program(program, 1e-9, start=first)
    assert again.newton_steps < first.newton_steps / 2
    assert again.primal == pytest.approx(first.primal, rel=1e-8)


def test_the_time_limit_ends_the_solve_with_a_point() -> None:
    program = random_program(5, 300, 50, 100.0, "hinge", True)
    answer = solve_margin_program(program, 1e-9, time_limit=0.0)
    assert answer.is_late
    assert np.isfinite(answer.primal)
    assert answer.gap >= 0


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), groups=st.integers(1, 30), squared=st.booleans())
def test_the_compiled_projection_equals_the_reference(seed: int, groups: int, squared: bool) -> None:
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 9, groups))]).astype(np.intp)
    u, cap = rng.normal(size=starts[-1]), rng.uniform(0.0, 2.0, groups)
    kappa = rng.uniform(0.0, 1.0, groups) if squared else np.zeros(groups)
    a, level = reference_projection(u, GroupLayout.from_starts(starts), cap, kappa)
    compiled = compiled_projection(u, GroupLayout.from_starts(starts), cap, kappa)
    np.testing.assert_allclose(compiled[0], a, atol=1e-12)
    np.testing.assert_allclose(compiled[1], level, atol=1e-12)
    sums = np.add.reduceat(a, starts[:-1])
    assert (sums <= cap + kappa * level + 1e-9).all()


@pytest.mark.parametrize("projection", [reference_projection, compiled_projection])
@pytest.mark.parametrize(
    ("u", "cap"),
    [
        ([10000.100000000004, 10000.000000000004, 10000.000000000004, 10000.000000000007], 0.1),
        ([101.0, 100.0, 100.00000000000004, 100.00000000000004, 100.00000000000004], 1.0),
        ([1e17, 1e17, 0.0], 0.1),
    ],
)
def test_the_projection_of_almost_equal_rows_ends(projection: Callable[..., Any], u: list[float], cap: float) -> None:
    """Rounding errors put rows above and below the level in turn."""
    values, layout = np.array(u), GroupLayout.from_starts(np.array([0, len(u)]))
    a, level = projection(values, layout, np.array([cap]), np.zeros(1))
    assert level[0] == pytest.approx(max(u) - cap)
    assert a.sum() == pytest.approx(cap, abs=1e-10 * max(u))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), groups=st.integers(1, 20), loss=st.sampled_from(["hinge", "squared", "both"]))
def test_the_bias_minimises_the_loss(seed: int, groups: int, loss: str) -> None:
    rng = np.random.default_rng(seed)
    m, e = rng.normal(size=groups), rng.choice([-1.0, -0.5, 1.0, 2.0], groups)
    cap = np.zeros(groups) if loss == "squared" else rng.uniform(0.1, 2.0, groups)
    k = np.zeros(groups) if loss == "hinge" else rng.uniform(0.1, 2.0, groups)

    def value(b: float) -> float:
        t = np.maximum(m - e * b, 0.0)
        return float(cap @ t + 0.5 * (k @ t**2))

    b = best_bias(m, e, cap, k)
    assert all(value(b) <= value(other) + 1e-9 for other in np.concatenate([m / e, b + rng.normal(size=20)]))


def bags_and_labels(count: int = 24, features: int = 4) -> tuple[np.ndarray, np.ndarray]:
    bags = np.random.default_rng(0).normal(size=(count, 5, features))
    y = np.where(np.arange(count) % 2, 1, -1)
    bags[y == 1, 0] += 2.0
    return bags, y


@pytest.mark.parametrize(
    "model",
    [
        SetKernelSVM(kernel=milopt.Linear()),
        MISVM(kernel=milopt.Linear()),
        ODM(kernel=milopt.Linear()),
        ODM(kernel=milopt.Linear(), bias="free"),
        ODM(kernel=milopt.Linear(), bias="regularised"),
        MIORDM(kernel=milopt.Linear()),
        MIORDM(kernel=milopt.Linear(), bias="free"),
        MIORDM(kernel=milopt.Linear(), bias="regularised"),
    ],
)
def test_models_with_features_are_solved_in_evaluation_form(model: milopt.BagClassifier) -> None:
    bags, y = bags_and_labels()
    by_features = model.fit(bags, y).result_
    assert by_features.solver == "native"
    assert "Newton steps" in by_features.raw_status
    other = model.set_params(solver="clarabel").fit(bags, y).result_
    assert by_features.point == other.point == "certified"
    assert by_features.objective == pytest.approx(other.objective, rel=2e-6)


def test_a_program_of_a_stranger_has_the_pattern() -> None:
    rng = np.random.default_rng(4)
    X, target = rng.normal(size=(40, 3)), rng.normal(size=40)
    program = milopt.Program("support vector regression")
    f, b = program.function("f", milopt.Linear()), program.variable("b")
    above, below = program.variable("above", 40, lower=0), program.variable("below", 40, lower=0)
    program.minimize(1.5 * f.norm_squared() + 2.0 * above.sum() + 3.0 * below.sum())
    program.subject_to(f(X) + b - target <= 0.1 + above, name="upper")
    program.subject_to(target - f(X) - b <= 0.1 + 2.0 * below, name="lower")
    native, other = (milopt.solve(program, solver=solver) for solver in ("native", "clarabel"))
    assert "Newton steps" in native.raw_status
    assert native.objective == pytest.approx(other.objective, rel=2e-6)
    assert native.certificate.holds(1e-6)
    np.testing.assert_allclose(native.duals["upper"], other.duals["upper"], atol=1e-3)


def test_a_program_with_a_hard_row_does_not_have_the_pattern() -> None:
    program = milopt.Program("hard margin")
    f, slack = program.function("f", milopt.Linear()), program.variable("slack", 2, lower=0)
    program.minimize(0.5 * f.norm_squared() + slack.sum())
    program.subject_to(f(np.eye(2)) >= 1 - slack)
    program.subject_to(f(np.array([[1.0, 1.0]])) <= 5.0)
    assert "Newton steps" not in milopt.solve(program).raw_status


def test_a_requested_flat_form_is_used() -> None:
    bags, y = bags_and_labels()
    result = SetKernelSVM(kernel=milopt.Linear(), form="dual").fit(bags, y).result_
    assert "Newton steps" not in result.raw_status


def test_a_stalled_solve_is_repeated_by_an_interior_point_method_in_features(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    bags = rng.normal(size=(60, 4, 3))
    y = np.where(np.arange(60) % 2, 1, -1)
    bags[y > 0, 0] += 2.0
    model = MISVM(kernel=Linear())
    expected = model.fit(bags, y).result_
    assert expected.solver == "native"
    monkeypatch.setattr(margin_newton, "MAX_PASSES", 1)
    monkeypatch.setattr(margin_newton, "MAX_PROXIMAL_STEPS", 1)
    monkeypatch.setattr(solve_run, "MAX_FLAT_FORM_POINTS_AFTER_FAILURE", 0)
    result = model.fit(bags, y).result_
    assert result.solver == "clarabel"
    assert result.form.startswith("features")
    assert result.certificate is not None
    assert result.certificate.holds(1e-6)
    assert result.objective == pytest.approx(expected.objective, rel=1e-6)


def test_kernels_without_features_have_the_same_optimum_by_exact_coordinates() -> None:
    rng = np.random.default_rng(1)
    bags = rng.normal(size=(40, 5, 2))
    y = np.where(np.arange(40) % 2, 1, -1)
    for model in (SetKernelSVM(), MIORDM(bias="free"), ODM(bias="free")):
        model.set_params(kernel=milopt.RBF(s=0.3))
        results = [model.set_params(solver=solver).fit(bags, y).result_ for solver in ("native", "clarabel")]
        assert results[0].form.startswith("touched points (2")
        assert results[1].form.startswith("dual")
        assert results[0].certificate is not None
        assert results[0].certificate.holds(1e-6)
        assert results[0].objective == pytest.approx(results[1].objective, rel=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_reduced_rows_equal_those_of_the_matrix(sparse: bool) -> None:
    """With more features than held rows, products come from the inner products of the held rows."""
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(12, 30)) * (rng.random((12, 30)) < 0.5)
    program = margin_program(sp.csr_array(dense) if sparse else dense, np.array([4, 1, 4, 3]), 1.0, 1.0)
    held = HeldRows.from_index(program, np.arange(12))
    a, level = rng.random(12) * (np.arange(12) != 5), np.array([0.5, 0.0, 0.7, 0.2])
    kappa = np.full(4, 0.3)
    rows = ReducedRows.from_support(held, a, level, kappa)
    F = rows.features.toarray() if sparse else rows.features
    assert held.gram is not None
    w, z = rng.normal(size=30), rng.normal(size=11)
    np.testing.assert_allclose(rows.products(), F @ F.T, atol=1e-12)
    np.testing.assert_allclose(rows.times(w), F @ w, atol=1e-12)
    np.testing.assert_allclose(rows.transpose_times(z), F.T @ z, atol=1e-12)
    # T is the square root of I - 11'/(j + kappa) on each group at its cap.
    expected = sum(
        dense[s].T @ dense[s] - (np.outer(dense[s].sum(0), dense[s].sum(0)) / (len(s) + 0.3) if level_of_group else 0.0)
        for s, level_of_group in zip(([0, 1, 2, 3], [4], [6, 7, 8], [9, 10, 11]), level, strict=True)
    )
    np.testing.assert_allclose(F.T @ F, expected, atol=1e-12)
