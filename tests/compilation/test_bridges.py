"""Bridges: the rewritten program has the same optimum, and its answer maps back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.compilation.answer import Answer
from milopt.compilation.bridges import bounds_to_rows, centred_exponentials, quadratic_to_cone, recentring, unit_scales
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO
from milopt.errors import ConvexityError


def form_with(P: Quadratic, lower, upper) -> StandardForm:
    n = P.size
    return StandardForm(
        name="test",
        P=P,
        q=np.arange(1.0, n + 1),
        constant=2.5,
        F=sp.csr_array(np.ones((1, n))),
        g=np.array([-1.0]),
        lower=np.array(lower, dtype=float),
        upper=np.array(upper, dtype=float),
        integer=np.zeros(n, dtype=bool),
        columns=(ColumnBlock("x", 0, n),),
        rows=(RowBlock("sum", ZERO, 0, 1),),
    )


def test_finite_bounds_become_rows_in_order_fixed_lower_upper():
    form = form_with(Quadratic(4), [0, -np.inf, 3, -1], [np.inf, 5, 3, 1])
    free = bounds_to_rows.apply(form)
    assert [(block.name, block.cone, block.start, block.stop) for block in free.rows[1:]] == [
        ("fixed", ZERO, 1, 2),
        ("lower bound", NONNEGATIVE, 2, 4),
        ("upper bound", NONNEGATIVE, 4, 6),
    ]
    x = np.array([0.5, 4.0, 3.5, 0.25])
    assert (free.F @ x + free.g)[1:] == pytest.approx([0.5, 0.5, 1.25, 1.0, 0.75])
    assert not np.isfinite(free.lower).any()
    assert not np.isfinite(free.upper).any()
    assert free.value(x) == form.value(x)


def test_a_form_without_bounds_is_returned_unchanged():
    form = form_with(Quadratic(2), [-np.inf] * 2, [np.inf] * 2)
    assert bounds_to_rows.apply(form) is form


def test_multipliers_of_bound_rows_are_the_reduced_costs():
    # min x1 + 2 x2  s.t.  x1 + x2 = 1, x >= 0  has x = (1, 0), z = 1, reduced costs (0, 1)
    form = form_with(Quadratic(2), [0, 0], [np.inf] * 2)
    free = bounds_to_rows.apply(form)
    z = np.array([1.0, 0.0, 1.0])
    assert free.F.T @ z == pytest.approx(form.q)
    answer = bounds_to_rows.invert(form, Answer(Termination.OPTIMAL, "", x=np.array([1.0, 0.0]), z=z))
    assert answer.z == pytest.approx([1.0])
    assert answer.x == pytest.approx([1.0, 0.0])


pieces = st.lists(st.sampled_from(["diagonal", "dense", "singular"]), min_size=1, max_size=3)


@settings(max_examples=30, deadline=None)
@given(kinds=pieces, seed=st.integers(0, 1000), scale=st.sampled_from([1e-2, 1.0, 30.0]))
def test_the_cone_holds_exactly_when_t_is_at_least_the_quadratic(kinds, seed, scale):
    rng = np.random.default_rng(seed)
    n, quadratic_pieces = 5, []
    for kind in kinds:
        rows = sp.csr_array(rng.normal(size=(3, n)))
        root = rng.normal(size=(1 if kind == "singular" else 3, 3))
        quadratic_pieces.append(QuadraticPiece(rows, rng.uniform(0, 2, 3) if kind == "diagonal" else root.T @ root))
    form = form_with(Quadratic(n, tuple(quadratic_pieces)), [-np.inf] * n, [np.inf] * n)
    conic = quadratic_to_cone.apply(form, scale)
    block = conic.rows[-1]
    assert (conic.P.is_zero, block.cone, conic.n) == (True, SECOND_ORDER, n + 1)
    x = rng.normal(size=n)
    t = form.P.value(x)

    def inside(value):
        s = (conic.F @ np.append(x, value) + conic.g)[block.start : block.stop]
        return s[0] - np.linalg.norm(s[1:])

    assert inside(t + 1e-6 * (1 + t)) > 0 > inside(t - 1e-6 * (1 + t))
    assert conic.value(np.append(x, t)) == pytest.approx(form.value(x))
    root = quadratic_to_cone.square_root(form.P)
    assert (root.T @ root).toarray() == pytest.approx(form.P.dense, abs=1e-9)


def test_the_answer_of_the_conic_program_maps_back():
    form = form_with(Quadratic(2, (QuadraticPiece(sp.csr_array(np.eye(2)), np.ones(2)),)), [-np.inf] * 2, [np.inf] * 2)
    # min 1/2 |x|^2 + x1 + 2 x2 on x1 + x2 = 1:  x = (1, 0), z = 2; the cone's multiplier is (u, v, w)
    conic = quadratic_to_cone.apply(form)
    x, t = np.array([1.0, 0.0]), 0.5
    w = -x / np.sqrt(2)
    multiplier = np.array([(1 + t) / 2, (1 - t) / 2, *w])
    z = np.append(2.0, multiplier)
    assert conic.F.T @ z == pytest.approx(conic.q)
    assert multiplier[0] >= np.linalg.norm(multiplier[1:]) - 1e-12
    answer = quadratic_to_cone.invert(form, Answer(Termination.OPTIMAL, "", x=np.append(x, t), z=z))
    assert answer.x == pytest.approx(x)
    assert answer.z == pytest.approx([2.0])


def test_a_form_with_a_linear_objective_is_returned_unchanged():
    form = form_with(Quadratic(2), [0, 0], [1, 1])
    assert quadratic_to_cone.apply(form) is form


def test_a_negative_piece_is_accepted_if_the_sum_is_convex():
    eye = sp.csr_array(np.eye(2))
    P = Quadratic(2, (QuadraticPiece(eye, np.array([3.0, 1.0])), QuadraticPiece(eye, np.array([-1.0, 0.0]))))
    root = quadratic_to_cone.square_root(P)
    assert (root.T @ root).toarray() == pytest.approx(np.diag([2.0, 1.0]))


def test_a_non_convex_quadratic_raises_a_convexity_error():
    P = Quadratic(2, (QuadraticPiece(sp.csr_array(np.eye(2)), np.array([[0.0, 1.0], [1.0, 0.0]])),))
    with pytest.raises(ConvexityError, match="negative eigenvalue"):
        quadratic_to_cone.apply(form_with(P, [0, 0], [1, 1]))


def test_recentring_changes_neither_the_optimum_nor_its_conditions():
    form = form_with(
        Quadratic(2, (QuadraticPiece(sp.csr_array(np.eye(2)), np.array([1.0, 3.0])),)), [0, 0], [np.inf, 5]
    )
    centre, s = np.array([0.9, 0.2]), 0.1
    near = recentring.apply(form, centre, s)
    e, z = np.array([1.0, -2.0]), np.array([20.0])
    answer = recentring.invert(Answer(Termination.OPTIMAL, "", x=e, z=z), centre, s)
    assert answer.x == pytest.approx([1.0, 0.0])
    assert answer.z == pytest.approx([2.0])
    assert form.value(answer.x) - form.value(centre) == pytest.approx(s**2 * near.value(e))
    assert form.F @ answer.x + form.g == pytest.approx(s * (near.F @ e + near.g))
    assert answer.x - form.lower == pytest.approx(s * (e - near.lower))
    reduced = form.P.times(answer.x) + form.q - form.F.T @ answer.z
    assert reduced == pytest.approx(s * (near.P.times(e) + near.q - near.F.T @ z))


@pytest.mark.parametrize("seed", range(5))
def test_centring_exponential_cones_keeps_points_inside_and_multipliers_dual(seed):
    rng = np.random.default_rng(seed)
    rows = (RowBlock("first", NONNEGATIVE, 0, 1), RowBlock("cone", EXPONENTIAL, 1, 7, sizes=np.array([3, 3])))
    form = replace(
        form_with(Quadratic(4), [-np.inf] * 4, [np.inf] * 4),
        F=sp.csr_array(rng.normal(size=(7, 4))),
        g=rng.normal(size=7),
        rows=rows,
    )
    x, y = rng.normal(size=4), np.array([0.5, 2.0])
    cones = np.column_stack([np.array([3.0, -1.0]) * y, y, np.exp([3.0, -1.0]) * y])
    form = replace(form, g=np.concatenate([[1.0], cones.ravel()]) - form.F @ x)
    c = centred_exponentials.choose_shift(form, x)
    assert c == pytest.approx(3.0)
    centred = centred_exponentials.apply(form, c)
    s = (centred.F @ x + centred.g)[1:].reshape(2, 3)
    assert s[:, 2] == pytest.approx(s[:, 1] * np.exp(s[:, 0] / s[:, 1]))  # on the boundary, as before
    assert (centred.F @ x + centred.g)[0] == pytest.approx(1.0)
    z = rng.normal(size=7)
    answer = centred_exponentials.invert(form, Answer(Termination.OPTIMAL, "", x=x, z=z), c)
    assert form.F.T @ answer.z == pytest.approx(centred.F.T @ z)
    assert form.g @ answer.z == pytest.approx(centred.g @ z)


@pytest.mark.parametrize("seed", range(3))
def test_unit_scales_change_neither_the_point_nor_the_gradient(seed):
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.uniform(-4, 4, 5)
    root = rng.normal(size=(3, 5)) * units
    rows = 10.0 ** rng.uniform(-4, 4, (4, 1)) * rng.normal(size=(4, 5)) * units
    form = replace(
        form_with(Quadratic(5, (QuadraticPiece(sp.csr_array(root), 1e6 * np.ones(3)),)), [0.0] * 5, [np.inf] * 5),
        q=1e6 * rng.normal(size=5) * units,
        F=sp.csr_array(rows),
        g=rng.normal(size=4),
        rows=(RowBlock("rows", NONNEGATIVE, 0, 4),),
    )
    scales = unit_scales.choose_scales(form)
    scaled = unit_scales.apply(form, scales)
    u, z = rng.normal(size=5), rng.normal(size=4)
    answer = unit_scales.invert(Answer(Termination.OPTIMAL, "", x=u, z=z), scales)
    np.testing.assert_allclose(scaled.F @ u + scaled.g, form.F @ answer.x + form.g, rtol=1e-12)
    np.testing.assert_allclose(
        scales.gradient_factors * (scaled.P.times(u) + scaled.q - scaled.F.T @ z),
        form.P.times(answer.x) + form.q - form.F.T @ answer.z,
        rtol=1e-9,
        atol=1e-9 * np.abs(form.q).max(),
    )
    assert 0.5 <= max(np.abs(scaled.q).max(), scaled.P.diagonal.max()) <= 2.0
