"""`to_cvxpy` and `to_pyomo` have the same optimum and names; plot of the sparsity pattern."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, StandardForm
from milopt.errors import ConvexityError, MiloptError, UnsupportedError
from milopt.inspection.cvxpy_model import to_cvxpy
from milopt.inspection.pyomo_model import column_components, row_components, to_pyomo
from milopt.inspection.sparsity import spy

Draw = Callable[..., StandardForm]


@pytest.mark.parametrize("kind", [{}, {"quadratic": True}, {"integer": True}], ids=["LP", "QP", "MILP"])
@pytest.mark.parametrize("seed", range(4))
def test_cvxpy_and_pyomo_find_the_same_optimum(kind: dict[str, bool], seed: int, draw: Draw) -> None:
    form = draw(seed, **kind)
    model = to_cvxpy(form)
    value = model.problem.solve(solver="HIGHS" if form.integer.any() else "CLARABEL")
    x = model.point()
    assert x is not None
    assert form.value(x) == pytest.approx(value, rel=1e-6, abs=1e-6)
    other = to_pyomo(form)
    pyo.SolverFactory("highs").solve(other)
    y = np.array([variable.value for variable in column_components(form, other)])
    assert pyo.value(other.objective) == pytest.approx(form.value(y), rel=1e-9, abs=1e-9)
    assert form.value(y) == pytest.approx(value, rel=1e-5, abs=1e-5)


def test_blocks_keep_their_names(draw: Draw) -> None:
    form = draw(0, quadratic=True)
    model = to_cvxpy(form)
    assert list(model.variables) == ["w", "u", "v", "b"]
    assert list(model.constraints) == ["balance", "margin"]
    assert {variable.name() for variable in model.problem.variables()} == {"w", "u", "v", "b"}
    other = to_pyomo(form)
    assert [component.name for component in other.component_objects(pyo.Var)] == ["w", "u", "v", "b"]
    assert [component.name for component in other.component_objects(pyo.Constraint)] == ["balance", "margin"]
    assert len(row_components(form, other)) == form.m


def test_a_block_with_some_integer_columns_becomes_two_cvxpy_variables(draw: Draw) -> None:
    form = draw(2, integer=True)
    integer = np.zeros(form.n, dtype=bool)
    wide = max(form.columns, key=lambda block: block.size)
    integer[wide.start] = True
    model = to_cvxpy(replace(form, integer=integer, lower=np.full(form.n, -5.0), upper=np.full(form.n, 5.0)))
    assert f"{wide.name}.integer" in model.variables
    assert model.columns[f"{wide.name}.integer"].tolist() == [wide.start]
    model.problem.solve(solver="HIGHS")
    x = model.point()
    assert x is not None
    assert x[wide.start] == pytest.approx(round(x[wide.start]), abs=1e-6)


def quadratic_form(P: Quadratic) -> StandardForm:
    n = P.size
    none = np.zeros(0)
    box = np.ones(n)
    columns = (ColumnBlock("x", 0, n),)
    return StandardForm("box", P, -box, 0.0, sp.csr_array((0, n)), none, -box, box, np.zeros(n, bool), columns, ())


def test_pieces_whose_sum_is_convex_become_one_piece() -> None:
    eye = sp.eye_array(2, format="csr")
    together = Quadratic(2, (QuadraticPiece(eye, np.array([2.0, 2.0])), QuadraticPiece(eye, -np.ones((2, 2)))))
    assert to_cvxpy(quadratic_form(together)).problem.solve(solver="CLARABEL") == pytest.approx(-2.0, abs=1e-6)
    with pytest.raises(ConvexityError, match="negative curvature"):
        to_cvxpy(quadratic_form(Quadratic(2, (QuadraticPiece(eye, np.array([1.0, -1.0])),))))


def test_rows_without_coefficients_stay_in_both_models(draw: Draw) -> None:
    form = draw(0)
    hollow = replace(form, F=sp.csr_array((form.m, form.n)), lower=np.full(form.n, -1.0), upper=np.full(form.n, 1.0))
    fine = replace(hollow, g=np.zeros(form.m))
    assert to_cvxpy(fine).problem.solve(solver="CLARABEL") < np.inf
    assert len(row_components(fine, to_pyomo(fine))) == form.m


def test_pyomo_rejects_cones_by_name(draw: Draw) -> None:
    with pytest.raises(UnsupportedError, match=r"Pyomo supports LP, QP and MILP, and 'ball'"):
        to_pyomo(draw(0, cones=True))


def test_the_sparsity_plot_is_a_file_or_in_given_axes(draw: Draw, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    form = draw(0, quadratic=True, cones=True)
    path = tmp_path / "pattern.png"
    spy(form, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    axes = Figure().add_subplot()
    assert spy(form, axes) is axes.figure
    assert spy(form).axes[0].get_xlabel() == axes.get_xlabel()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert "margin" in labels
    assert "P: w" in labels


def test_without_matplotlib_the_error_names_the_package_to_install(
    draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MiloptError, match=r"pip install 'milopt\[plot\]'"):
        spy(draw(0), tmp_path / "pattern.png")
