"""Quadratics over a kernel: both linear systems give the point and the inertia of the dense closed form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from milopt import RBF, Program, solve, sum_squares
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.status import Termination
from milopt.solvers.native.closed_form.closed_form import ClosedForm
from milopt.solvers.native.closed_form.kernel_closed_form import KernelClosedForm, recognise_kernel_pattern
from milopt.solvers.native.closed_form.kernel_systems import (
    DiagonallyDominantSystem,
    IndefiniteSystem,
    choose_system,
    is_diagonally_dominant,
)


def kernel_quadratic(rng, sizes, d_points, d_bags, t=1.0):
    """Return R'KR + D over one column per point and one per bag, and the row 1'R z = 0."""
    N, m = sum(sizes), len(sizes)
    points = rng.standard_normal((N, 3))
    K = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    J = sp.csr_array((np.ones(N), np.repeat(np.arange(m), sizes), np.arange(N + 1)), shape=(N, m))
    R = sp.csr_array(sp.hstack([sp.diags_array(np.full(N, t)), J], format="csr"))
    d = np.concatenate([np.broadcast_to(d_points, N), np.broadcast_to(d_bags, m)]).astype(float)
    pieces = (QuadraticPiece(R, K), QuadraticPiece(sp.csr_array(sp.eye_array(N + m, format="csr")), d))
    return Quadratic(N + m, pieces), sp.csr_array(R.sum(axis=0)[None, :])


def check_agrees_with_dense(P, F, system=None):
    """Compare the point and the inertia of the kernel closed form with those of the dense one."""
    pattern = recognise_kernel_pattern(P, F)
    assert pattern is not None
    kernel_form, dense = KernelClosedForm(pattern), ClosedForm(P, F)
    if system is not None:
        kernel_form._set_system(system(pattern))
    rng = np.random.default_rng(1)
    q, g = rng.standard_normal(P.size), rng.standard_normal(F.shape[0])
    answer, dense_answer = kernel_form.solve(q, g), dense.solve(q, g)
    scale = np.abs(dense_answer.x).max()
    np.testing.assert_allclose(answer.x / scale, dense_answer.x / scale, atol=1e-8)
    np.testing.assert_allclose(answer.z, dense_answer.z, atol=1e-8 * (1 + np.abs(dense_answer.z).max()))
    assert answer.termination is dense_answer.termination
    inertia, expected = kernel_form.inertia, dense.inertia
    assert (inertia.positive, inertia.zero, inertia.negative) == (expected.positive, expected.zero, expected.negative)
    return kernel_form


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    d_points=st.sampled_from([-200.0, -20.0, -3.0, -0.5, 0.5, 4.0]),
    d_bags=st.sampled_from([-2.0, 0.01, 1.0, 30.0]),
    t=st.sampled_from([1.0, 0.3, -2.0]),
)
def test_kernel_closed_form_agrees_with_the_dense_one(seed, sizes, d_points, d_bags, t):
    P, F = kernel_quadratic(np.random.default_rng(seed), sizes, d_points, d_bags, t)
    values = np.linalg.eigvalsh(P.dense)
    assume(np.abs(values).min() > 1e-6 * np.abs(values).max())
    null = np.linalg.svd(F.toarray())[2][1:]
    reduced = np.linalg.eigvalsh(null @ P.dense @ null.T)
    assume(np.abs(reduced).min() > 1e-6 * np.abs(reduced).max())
    check_agrees_with_dense(P, F)


@pytest.mark.parametrize("d_bag", [0.001, 0.1, 50.0])
def test_conjugate_gradients_and_ldl_agree(d_bag):
    P, F = kernel_quadratic(np.random.default_rng(0), [12] * 8, -40.0, d_bag)
    assert is_diagonally_dominant(recognise_kernel_pattern(P, F))
    check_agrees_with_dense(P, F, DiagonallyDominantSystem)
    check_agrees_with_dense(P, F, IndefiniteSystem)


def test_dominance_agrees_with_its_definition():
    rng = np.random.default_rng(0)
    for d_points in (-200.0, -40.0, -15.0, -3.0, -0.5, 1.0):
        P, F = kernel_quadratic(rng, [12] * 8, d_points, 0.1, t=0.7)
        B = -(0.49 * P.pieces[0].weight + d_points * np.eye(96))
        outside = np.abs(B).sum(axis=1) - np.abs(B.diagonal())
        assert is_diagonally_dominant(recognise_kernel_pattern(P, F)) == bool((B.diagonal() > outside).all())
    assert not is_diagonally_dominant(recognise_kernel_pattern(*kernel_quadratic(rng, [12] * 8, -200.0, -0.1)))


def test_a_nearly_singular_border_uses_the_indefinite_system():
    # If rows are scaled until F Q^-1 F' is 0, conjugate gradients cannot determine its sign.
    P, F = kernel_quadratic(np.random.default_rng(0), [12] * 8, -40.0, 0.1)
    points, bags = F.toarray() * (np.arange(104) < 96), F.toarray() * (np.arange(104) >= 96)
    inverse = np.linalg.inv(P.dense)
    a, b, c = ((x @ inverse @ y.T).item() for x, y in ((bags, bags), (points, bags), (points, points)))
    factor = (-b + np.sqrt(b * b - a * c)) / a
    assert isinstance(choose_system(recognise_kernel_pattern(P, F)), DiagonallyDominantSystem)
    assert isinstance(
        choose_system(recognise_kernel_pattern(P, sp.csr_array(points + factor * bags))), IndefiniteSystem
    )


def test_zero_bag_pivots_are_not_eliminated():
    # With d_points = -1 and d_bag = 4 a bag of 4 points has the pivot 4 - 4.
    P, F = kernel_quadratic(np.random.default_rng(3), [4, 2, 4, 3], -1.0, 4.0)
    kernel_form = check_agrees_with_dense(P, F, IndefiniteSystem)
    assert kernel_form._system._retained.tolist() == [0, 2]


def test_other_patterns_are_not_recognised():
    P, F = kernel_quadratic(np.random.default_rng(0), [3, 2], -1.0, 1.0)
    alone = Quadratic(P.size, P.pieces[1:])
    assert recognise_kernel_pattern(alone, F) is None
    flat = Quadratic(P.size, (P.pieces[0], QuadraticPiece(P.pieces[1].rows, np.zeros(P.size))))
    assert recognise_kernel_pattern(flat, F) is None
    many = sp.csr_array(np.ones((9, P.size)))
    assert recognise_kernel_pattern(P, many) is None


def test_a_singular_system_is_reported_as_unbounded():
    rng = np.random.default_rng(0)
    P, _ = kernel_quadratic(rng, [2, 2], 1.0, 1.0)
    R, K = P.pieces[0].rows.toarray(), P.pieces[0].weight
    largest = np.linalg.eigvalsh(R.T @ K @ R)[-1]
    singular = Quadratic(P.size, (P.pieces[0], QuadraticPiece(P.pieces[1].rows, np.full(P.size, -largest))))
    pattern = recognise_kernel_pattern(singular, sp.csr_array((0, P.size)))
    answer = KernelClosedForm(pattern).solve(rng.standard_normal(P.size), np.zeros(0))
    assert answer.termination is Termination.UNBOUNDED
    assert answer.x is None


def test_concave_squares_without_other_columns_are_solved():
    points = np.random.default_rng(0).standard_normal((8, 2))
    program = Program("down")
    f = program.function("f", RBF(1e-3))
    program.minimize(0.5 * f.norm_squared() - 0.025 * sum_squares(f(points)) - f(points).sum())
    answer, other = (solve(program, name).require_certified() for name in ("native", "clarabel"))
    assert answer.objective == pytest.approx(other.objective, rel=1e-6)
