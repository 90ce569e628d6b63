"""Farkas vectors and rays: they are accepted if and only if they prove something about the program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from milopt.compilation.elastic_relaxation import ElasticRelaxation
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.recession import RecessionProgram
from milopt.compilation.scaling import equilibrated_units
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import NONNEGATIVE, SECOND_ORDER, ZERO, Cone


def _form(F: list[list[float]], g: list[float], q: list[float], cone: Cone = NONNEGATIVE) -> StandardForm:
    n, m = len(q), len(g)
    return StandardForm(
        name="form",
        P=Quadratic(n),
        q=np.array(q),
        constant=0.0,
        F=sp.csr_array(np.array(F, dtype=np.float64).reshape(m, n)),
        g=np.array(g),
        lower=np.full(n, -np.inf),
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool),
        columns=(ColumnBlock("x", 0, n),),
        rows=(RowBlock("rows", cone, 0, m),),
    )


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
def test_farkas_vector_is_accepted_in_any_units(scale: float) -> None:
    """The rows are x >= 2 and x <= 1."""
    relaxation = ElasticRelaxation(_form([[scale], [-scale]], [-2 * scale, scale], [0.0]))
    assert relaxation.proves_infeasibility(np.array([1.0, 1.0]))
    assert not relaxation.proves_infeasibility(np.array([1.0, 0.5]))
    assert not relaxation.proves_infeasibility(np.array([-1.0, -1.0]))
    assert not relaxation.proves_infeasibility(np.array([np.nan, 1.0]))
    assert not relaxation.proves_infeasibility(None)


def test_farkas_vector_may_use_finite_bounds_only() -> None:
    """The rows x + y >= 3 with x, y <= 1 are infeasible; without the bound of y they are not."""
    form = replace(_form([[1.0, 1.0]], [-3.0], [0.0, 0.0]), upper=np.ones(2))
    assert ElasticRelaxation(form).proves_infeasibility(np.array([1.0]))
    assert not ElasticRelaxation(replace(form, upper=np.array([1.0, np.inf]))).proves_infeasibility(np.array([1.0]))


def test_farkas_vector_that_only_excludes_small_points_is_rejected() -> None:
    """The equations x - y = 1 and (1 + 1e-6) y = x hold at y = 1e6."""
    form = _form([[1.0, -1.0], [1.0, -1.0 - 1e-6]], [-1.0, 0.0], [0.0, 0.0], ZERO)
    assert not ElasticRelaxation(form).proves_infeasibility(np.array([1.0, -1.0]))


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_no_vector_proves_a_feasible_program_infeasible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 6, 2)
    F, x = rng.normal(size=(m, n)) * 10.0 ** rng.integers(-6, 7, (m, 1)), rng.normal(size=n)
    slack = np.abs(F).max(axis=1) * rng.integers(0, 2, m)
    form = _form(F.tolist(), (slack - F @ x).tolist(), [0.0] * int(n))
    assert not ElasticRelaxation(form).proves_infeasibility(rng.exponential(size=m))


def test_ray_must_decrease_the_objective_and_stay_in_the_cone() -> None:
    """The program is min -x - y  s.t.  x - y >= 0."""
    recession = RecessionProgram(_form([[1.0, -1.0]], [5.0], [-1.0, -1.0]))
    assert recession.verify_ray(np.array([1.0, 1.0])) is not None
    assert recession.verify_ray(np.array([1.0, 0.0])) is not None
    assert recession.verify_ray(np.array([0.0, 1.0])) is None
    assert recession.verify_ray(np.array([-1.0, -1.0])) is None
    assert recession.verify_ray(np.zeros(2)) is None


@pytest.mark.parametrize("curvature", [1e-12, 1.0, 1e12])
def test_direction_with_curvature_of_any_size_is_not_a_ray(curvature: float) -> None:
    form = _form([], [], [-1.0, -1.0])
    P = Quadratic(2, (QuadraticPiece(sp.csr_array(np.eye(2)), np.array([curvature, 1.0])),))
    recession = RecessionProgram(replace(form, P=P))
    assert recession.form.m == 2
    for d in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]):
        assert recession.verify_ray(np.array(d)) is None


def test_columns_without_curvature_add_no_rows() -> None:
    form = replace(
        _form([], [], [-1.0, -1.0]), P=Quadratic(2, (QuadraticPiece(sp.csr_array(np.eye(2)[:1]), np.ones(1)),))
    )
    recession = RecessionProgram(form)
    assert recession.form.m == 1
    assert recession.verify_ray(np.array([0.0, 1.0])) is not None
    assert RecessionProgram(_form([], [], [-1.0, -1.0])).form.m == 0


def test_units_give_rows_and_columns_the_same_size_and_one_unit_per_cone() -> None:
    rng = np.random.default_rng(0)
    F = sp.csr_array(rng.uniform(1, 2, (5, 4)) * 10.0 ** rng.integers(-8, 9, (5, 1)) * 10.0 ** rng.integers(-4, 5, 4))
    rows = (RowBlock("a", NONNEGATIVE, 0, 2), RowBlock("b", SECOND_ORDER, 2, 5))
    units = equilibrated_units(F, rows, np.zeros(4, dtype=bool))
    scaled = units.scale(F).toarray()
    largest = np.append(np.abs(scaled[:2]).max(axis=1), np.abs(scaled[2:]).max())
    assert largest.min() >= 0.4
    assert largest.max() <= 2.5
    assert np.unique(units.row[2:]).size == 1
    fixed = equilibrated_units(F, rows, np.array([True, False, False, False]))
    assert fixed.column[0] == 1.0
