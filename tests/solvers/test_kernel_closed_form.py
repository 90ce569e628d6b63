"""Quadratics over a kernel: every factorisation finds the point, and the signs, of the dense one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from milopt import RBF, Program, solve, sum_squares
from milopt.compilation.quadratic import Piece, Quadratic
from milopt.compilation.status import Termination
from milopt.solvers.native.closed_form.closed_form import ClosedForm
from milopt.solvers.native.closed_form.kernel_closed_form import KernelClosedForm, kernel_pattern
from milopt.solvers.native.closed_form.kernel_systems import DominantSystem, IndefiniteSystem, is_dominant, system_of


def quadratic(rng, sizes, d_points, d_bags, t=1.0):
    """R'KR + D over one column a point and one a bag, and the row 1'R z = 0."""
    N, m = sum(sizes), len(sizes)
    points = rng.standard_normal((N, 3))
    K = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    J = sp.csr_array((np.ones(N), np.repeat(np.arange(m), sizes), np.arange(N + 1)), shape=(N, m))
    R = sp.csr_array(sp.hstack([sp.diags_array(np.full(N, t)), J], format="csr"))
    d = np.concatenate([np.broadcast_to(d_points, N), np.broadcast_to(d_bags, m)]).astype(float)
    pieces = (Piece(R, K), Piece(sp.csr_array(sp.eye_array(N + m, format="csr")), d))
    return Quadratic(N + m, pieces), sp.csr_array(R.sum(axis=0)[None, :])


def compared(P, F, system=None):
    """The point and the signs, by the kernel's route and by the dense one."""
    pattern = kernel_pattern(P, F)
    assert pattern is not None
    ours, dense = KernelClosedForm(pattern), ClosedForm(P, F)
    if system is not None:
        ours._use(system(pattern))
    rng = np.random.default_rng(1)
    q, g = rng.standard_normal(P.size), rng.standard_normal(F.shape[0])
    one, other = ours.solve(q, g), dense.solve(q, g)
    scale = np.abs(other.x).max()
    np.testing.assert_allclose(one.x / scale, other.x / scale, atol=1e-8)
    np.testing.assert_allclose(one.z, other.z, atol=1e-8 * (1 + np.abs(other.z).max()))
    assert one.termination is other.termination
    found, due = ours.inertia, dense.inertia
    assert (found.positive, found.zero, found.negative) == (due.positive, due.zero, due.negative)
    return ours


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    d_points=st.sampled_from([-200.0, -20.0, -3.0, -0.5, 0.5, 4.0]),
    d_bags=st.sampled_from([-2.0, 0.01, 1.0, 30.0]),
    t=st.sampled_from([1.0, 0.3, -2.0]),
)
def test_it_finds_what_the_dense_factors_find(seed, sizes, d_points, d_bags, t):
    P, F = quadratic(np.random.default_rng(seed), sizes, d_points, d_bags, t)
    values = np.linalg.eigvalsh(P.dense)
    assume(np.abs(values).min() > 1e-6 * np.abs(values).max())
    null = np.linalg.svd(F.toarray())[2][1:]
    reduced = np.linalg.eigvalsh(null @ P.dense @ null.T)
    assume(np.abs(reduced).min() > 1e-6 * np.abs(reduced).max())
    compared(P, F)


@pytest.mark.parametrize("d_bag", [0.001, 0.1, 50.0])
def test_conjugate_gradients_and_ldl_agree(d_bag):
    P, F = quadratic(np.random.default_rng(0), [12] * 8, -40.0, d_bag)
    assert is_dominant(kernel_pattern(P, F))
    compared(P, F, DominantSystem)
    compared(P, F, IndefiniteSystem)


def test_dominance_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    for d_points in (-200.0, -40.0, -15.0, -3.0, -0.5, 1.0):
        P, F = quadratic(rng, [12] * 8, d_points, 0.1, t=0.7)
        B = -(0.49 * P.pieces[0].weight + d_points * np.eye(96))
        outside = np.abs(B).sum(axis=1) - np.abs(B.diagonal())
        assert is_dominant(kernel_pattern(P, F)) == bool((B.diagonal() > outside).all())
    assert not is_dominant(kernel_pattern(*quadratic(rng, [12] * 8, -200.0, -0.1)))


def test_a_doubtful_border_is_left_to_the_factors():
    # Rows scaled until F Q^-1 F' is 0 leave conjugate gradients with a sign that they cannot tell.
    P, F = quadratic(np.random.default_rng(0), [12] * 8, -40.0, 0.1)
    points, bags = F.toarray() * (np.arange(104) < 96), F.toarray() * (np.arange(104) >= 96)
    inverse = np.linalg.inv(P.dense)
    a, b, c = ((x @ inverse @ y.T).item() for x, y in ((bags, bags), (points, bags), (points, points)))
    factor = (-b + np.sqrt(b * b - a * c)) / a
    assert isinstance(system_of(kernel_pattern(P, F)), DominantSystem)
    assert isinstance(system_of(kernel_pattern(P, sp.csr_array(points + factor * bags))), IndefiniteSystem)


def test_bag_pivots_of_zero_are_kept_as_unknowns():
    # With d_points = -1 and d_bag = 4 a bag of 4 points has the pivot 4 - 4.
    P, F = quadratic(np.random.default_rng(3), [4, 2, 4, 3], -1.0, 4.0)
    ours = compared(P, F, IndefiniteSystem)
    assert ours._system._kept.tolist() == [0, 2]


def test_other_patterns_are_left_alone():
    P, F = quadratic(np.random.default_rng(0), [3, 2], -1.0, 1.0)
    alone = Quadratic(P.size, P.pieces[1:])
    assert kernel_pattern(alone, F) is None
    flat = Quadratic(P.size, (P.pieces[0], Piece(P.pieces[1].rows, np.zeros(P.size))))
    assert kernel_pattern(flat, F) is None
    many = sp.csr_array(np.ones((9, P.size)))
    assert kernel_pattern(P, many) is None


def test_a_singular_system_says_so():
    rng = np.random.default_rng(0)
    P, _ = quadratic(rng, [2, 2], 1.0, 1.0)
    R, K = P.pieces[0].rows.toarray(), P.pieces[0].weight
    largest = np.linalg.eigvalsh(R.T @ K @ R)[-1]
    singular = Quadratic(P.size, (P.pieces[0], Piece(P.pieces[1].rows, np.full(P.size, -largest))))
    pattern = kernel_pattern(singular, sp.csr_array((0, P.size)))
    found = KernelClosedForm(pattern).solve(rng.standard_normal(P.size), np.zeros(0))
    assert found.termination is Termination.UNBOUNDED
    assert found.x is None


def test_squares_that_all_bend_down_leave_no_others_to_factorise():
    points = np.random.default_rng(0).standard_normal((8, 2))
    program = Program("down")
    f = program.function("f", RBF(1e-3))
    program.minimize(0.5 * f.norm_squared() - 0.025 * sum_squares(f(points)) - f(points).sum())
    found, other = (solve(program, name).require_certified() for name in ("native", "clarabel"))
    assert found.objective == pytest.approx(other.objective, rel=1e-6)
