"""The native solver: supported and unsupported programs, and closed forms with their inertia."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from milopt.compilation.answer import Answer
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import NONNEGATIVE, SECOND_ORDER, ZERO, Cone
from milopt.errors import ConvexityError, ParameterError, UnsupportedError
from milopt.solvers.native.closed_form.closed_form import ClosedForm
from milopt.solvers.native.solver import Native
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.options import Options


def build_form(
    P: Quadratic | np.ndarray,
    q: np.ndarray,
    F: np.ndarray | None = None,
    g: np.ndarray | None = None,
    lower: float | np.ndarray = -np.inf,
    upper: float | np.ndarray = np.inf,
    cone: Cone = ZERO,
) -> StandardForm:
    n = q.size
    rows = np.zeros((0, n)) if F is None else F
    if isinstance(P, np.ndarray):
        P = Quadratic(n, (QuadraticPiece(sp.csr_array(sp.eye_array(n)), P),))
    return StandardForm(
        name="toy",
        P=P,
        q=q,
        constant=0.0,
        F=sp.csr_array(rows),
        g=np.zeros(0) if g is None else g,
        lower=np.broadcast_to(np.asarray(lower, dtype=float), n).copy(),
        upper=np.broadcast_to(np.asarray(upper, dtype=float), n).copy(),
        integer=np.zeros(n, dtype=bool),
        columns=(ColumnBlock("x", 0, n),),
        rows=(RowBlock("rows", cone, 0, rows.shape[0]),) if rows.shape[0] else (),
    )


def solve(program: StandardForm) -> Answer:
    return Native().engine(program, Options()).solve(None)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), m=st.integers(0, 4), negative=st.integers(0, 8))
def test_stationary_point_and_inertia_are_correct(seed: int, n: int, m: int, negative: int) -> None:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.where(np.arange(n) < negative, -1.0, 1.0) * rng.uniform(0.5, 2.0, n)
    P, q = (basis * values) @ basis.T, rng.normal(size=n)
    P = 0.5 * (P + P.T)
    F = rng.normal(size=(min(m, n), n))
    g = np.asarray(rng.normal(size=F.shape[0]))
    answer = solve(build_form(P, q, F, g))
    kernel = null_space(F) if F.size else np.eye(n)
    spectrum = np.linalg.eigvalsh(kernel.T @ P @ kernel) if kernel.size else np.zeros(0)
    if np.abs(spectrum).min(initial=1.0) < 1e-3:
        return
    assert answer.x is not None
    assert answer.z is not None
    size = 1.0 + np.abs(answer.x).max() + np.abs(answer.z).max(initial=0.0)
    assert np.abs(F @ answer.x + g).max(initial=0.0) <= 1e-12 * size
    assert np.abs(P @ answer.x + q - F.T @ answer.z).max() <= 1e-12 * size
    n_negative = int(np.sum(spectrum < 0))
    assert answer.termination is (Termination.STATIONARY if n_negative else Termination.OPTIMAL)
    inertia = ClosedForm(build_form(P, q).P, sp.csr_array(F)).inertia
    assert (inertia.positive, inertia.zero, inertia.negative) == (spectrum.size - n_negative, 0, n_negative)
    if n_negative:
        assert inertia.smallest == pytest.approx(spectrum[0])


def test_rows_that_fix_the_objective_do_not_create_a_saddle() -> None:
    """The reduced Hessian of 1/2 ||A x||^2 is 0, up to rounding, if the rows of A are combinations of those of F."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        m = int(rng.integers(1, n))
        units = 10.0 ** rng.uniform(-4, 4, n) if seed % 2 else np.ones(n)
        F = rng.normal(size=(m, n)) * units
        A = rng.normal(size=(int(rng.integers(1, m + 1)), m)) @ F
        x = rng.normal(size=n) / units
        answer = solve(build_form(A.T @ A, A.T @ np.ones(len(A)), F, -F @ x))
        assert answer.termination is Termination.OPTIMAL, answer.raw_status
        assert answer.inertia is not None
        assert answer.inertia.negative == answer.inertia.positive == 0
        assert answer.x is not None
        assert F @ answer.x == pytest.approx(F @ x, rel=1e-9, abs=1e-9 * np.abs(F @ x).max())


def test_curvature_in_small_units_is_not_treated_as_zero() -> None:
    """Zero is decided in the units of each column: 1e-13 is a valid curvature next to 1e13."""
    answer = solve(build_form(np.diag([1e13, 1.0, -1e-13]), np.zeros(3), np.array([[1.0, 1.0, 0.0]]), np.zeros(1)))
    assert answer.inertia is not None
    assert (answer.inertia.positive, answer.inertia.zero, answer.inertia.negative) == (1, 0, 1)
    assert answer.inertia.smallest == pytest.approx(-1e-13)


def test_saddle_reports_the_number_of_directions_and_the_smallest_eigenvalue() -> None:
    answer = solve(build_form(np.diag([1.0, -2.0, -3.0]), np.ones(3)))
    assert answer.termination is Termination.STATIONARY
    assert answer.raw_status == "saddle: 2 negative directions, smallest eigenvalue -3"
    assert answer.x == pytest.approx([-1.0, 0.5, 1 / 3])


def test_maximum_is_not_reported_as_a_saddle() -> None:
    answer = solve(build_form(np.diag([1.0, -2.0]), np.ones(2), np.array([[1.0, 0.0]]), np.array([0.0])))
    assert answer.termination is Termination.STATIONARY
    assert answer.raw_status == "maximum: 1 negative direction, smallest eigenvalue -2"


def test_indefinite_matrix_may_be_convex_on_its_rows() -> None:
    answer = solve(build_form(np.diag([1.0, -1.0]), np.array([1.0, 5.0]), np.array([[0.0, 1.0]]), np.array([-2.0])))
    assert answer.termination is Termination.OPTIMAL
    assert answer.x == pytest.approx([-1.0, 2.0])
    assert answer.z == pytest.approx([3.0])


def test_redundant_rows_are_accepted_and_contradictory_rows_detected() -> None:
    F = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    good = solve(build_form(np.eye(3), np.zeros(3), F, np.array([-1.0, -2.0, 0.0])))
    assert good.termination is Termination.OPTIMAL
    assert good.x == pytest.approx([0.5, 0.5, 0.0])
    assert good.z is not None
    assert F.T @ good.z == pytest.approx([0.5, 0.5, 0.0])
    assert (
        solve(build_form(np.eye(3), np.zeros(3), F, np.array([-1.0, -3.0, 0.0]))).termination is Termination.INFEASIBLE
    )
    empty_row = solve(build_form(np.eye(3), np.zeros(3), F, np.array([-1.0, -2.0, 1.0])))
    assert empty_row.termination is Termination.INFEASIBLE
    assert "row 2" in empty_row.raw_status


def test_singular_hessian_gives_a_minimum_or_an_unbounded_program() -> None:
    flat = np.diag([1.0, 0.0])
    good = solve(build_form(flat, np.array([1.0, 0.0])))
    assert good.termination is Termination.OPTIMAL
    assert good.x == pytest.approx([-1.0, 0.0])
    assert "1 zero" in good.raw_status
    assert solve(build_form(flat, np.array([1.0, 1.0]))).termination is Termination.UNBOUNDED
    assert solve(build_form(Quadratic(2), np.array([1.0, 0.0]))).termination is Termination.UNBOUNDED
    fixed = build_form(Quadratic(2), np.array([1.0, 2.0]), np.eye(2), np.array([-3.0, 4.0]))
    assert solve(fixed).x == pytest.approx([3.0, -4.0])
    assert solve(fixed).z == pytest.approx([1.0, 2.0])


def test_odm_on_the_bag_means_of_the_golden_fixture_has_the_known_values() -> None:
    """Compare with known values: lambda = 16, theta = mu = 0.5, Gaussian kernel with s = 0.5 on bag means."""
    bags = [
        [(0, 0), (2, 2)],
        [(0, 1), (1, 0)],
        [(2, 1), (-1, 0)],
        [(0, 0), (-1, -1), (1, -1)],
        [(3, 2)],
        [(-1, 1), (0, -1)],
    ]
    means = np.array([np.mean(bag, axis=0) for bag in bags])
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    Q = np.outer(y, y) * np.exp(-0.5 * ((means[:, None] - means[None]) ** 2).sum(-1))
    c = 6 * 0.5**2 / (2 * 16)
    rows = sp.csr_array(sp.hstack([sp.eye_array(6), -sp.eye_array(6)]))
    diagonal = np.concatenate([np.full(6, c), np.full(6, 2 * c)])
    P = Quadratic(12, (QuadraticPiece(rows, Q), QuadraticPiece(sp.csr_array(sp.eye_array(12)), diagonal)))
    program = build_form(P, np.concatenate([np.full(6, -0.5), np.full(6, 1.5)]), lower=0.0)
    answer = solve(program)
    assert answer.termination is Termination.OPTIMAL
    assert answer.x is not None
    assert -program.value(answer.x) == pytest.approx(5.770615, abs=1e-6)
    golden = [0.803559, 10.848897, 10.484436, 0.256361, 0.419725, 0.269484]
    assert answer.x[:6] == pytest.approx(golden, abs=1e-5)
    assert np.all(answer.x[6:] == 0.0)
    assert answer.z is not None
    assert answer.z.size == 0


def test_engine_keeps_point_and_factors_if_the_matrix_is_unchanged() -> None:
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(20, 20))
    P, q = factor @ factor.T, rng.normal(size=20)
    engine = Native().engine(build_form(P, q, lower=0.0), Options())
    first = engine.solve(None)
    again = engine.solve(None)
    assert again.iterations == 0
    assert first.x == pytest.approx(again.x)
    engine.update(build_form(P, 2 * q, lower=0.0), Change(ChangeKind.LINEAR))
    assert engine.solve(None).x == pytest.approx(2 * np.asarray(first.x))
    assert engine.rebuilds == 0
    engine.update(build_form(2 * P, 2 * q, lower=0.0), Change(ChangeKind.EVERYTHING))
    assert engine.rebuilds == 1
    assert engine.solve(None).x == pytest.approx(first.x)


def test_negative_curvature_is_an_error_once_the_column_is_not_fixed() -> None:
    P = np.array([[1.0, 0.0], [0.0, -1.0]])
    engine = Native().engine(
        build_form(P, np.ones(2), lower=np.array([-1.0, 0.5]), upper=np.array([1.0, 0.5])), Options()
    )
    assert engine.solve(None).x == pytest.approx([-1.0, 0.5])
    engine.update(build_form(P, np.ones(2), lower=-1.0, upper=1.0), Change(ChangeKind.EVERYTHING))
    with pytest.raises(ConvexityError, match="-1"):
        engine.solve(None)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (
            build_form(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2), cone=NONNEGATIVE),
            "a quadratic.*2 inequality rows",
        ),
        (build_form(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2), cone=SECOND_ORDER), "1 second-order cone"),
        (
            build_form(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2), lower=0.0),
            "a quadratic.*2 equality rows and 2 bounded",
        ),
        (build_form(Quadratic(501), np.ones(501), np.eye(501), np.ones(501), lower=0.0), "501 rows and 501 columns"),
        (
            build_form(Quadratic(400), np.ones(400), np.eye(400), np.ones(400), lower=0.0),
            "400 rows and 400 columns with 0.2% nonzero entries",
        ),
    ],
)
def test_unsupported_reason_names_the_obstacle(program: StandardForm, words: str) -> None:
    reason = Native().unsupported_reason(program)
    assert reason is not None
    patterns = "equality-constrained quadratics, box-constrained QPs, margin programs and dense LPs"
    assert f"; native solves {patterns}" in reason
    with pytest.raises(
        UnsupportedError,
        match=f"^native cannot solve '{program.name}': this form of the program has {words}.*columns\\.$",
    ):
        solve(program)


def test_unknown_options_are_errors() -> None:
    with pytest.raises(ParameterError, match="native has no option named 'foo'"):
        Native().engine(build_form(np.eye(2), np.zeros(2)), Options(extra={"foo": 1}))


def test_programs_without_columns_are_solved() -> None:
    answer = solve(build_form(Quadratic(0), np.zeros(0)))
    assert answer.termination is Termination.OPTIMAL
    assert answer.x is not None
    assert answer.x.size == 0


def test_numba_is_not_imported_before_it_is_used() -> None:
    code = """
import sys
import numpy as np
import scipy.sparse as sp
from milopt.compilation.quadratic import QuadraticPiece, Quadratic
from milopt.solvers.native.box_qp.box_qp import solve_box_qp
from milopt.solvers.native.box_qp.split import split_quadratic
import milopt.solvers.native.solver

P = Quadratic(2, (QuadraticPiece(sp.csr_array(sp.eye_array(2)), np.array([[2.0, 1.0], [1.0, 2.0]])),))
solve_box_qp(split_quadratic(P), -np.ones(2), np.zeros(2), np.ones(2))
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
