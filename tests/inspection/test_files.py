"""LP and MPS files, read back by HiGHS: same data, same names, same optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import NONNEGATIVE, ZERO
from milopt.errors import UnsupportedError
from milopt.inspection.cvxpy_model import to_cvxpy
from milopt.inspection.legal_names import legal_columns, legal_names, legal_rows
from milopt.inspection.lp_file import write_lp
from milopt.inspection.mps_file import write_mps

Draw = Callable[..., StandardForm]
WRITERS = {"lp": write_lp, "mps": write_mps}
RELAXED = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(text: str, ending: str, folder: Path) -> highspy.Highs:
    path = folder / f"program.{ending}"
    path.write_text(text)
    highs = highspy.Highs()
    assert highs.setOptionValue("output_flag", False) == highspy.HighsStatus.kOk
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    return highs


def as_form_order(highs: highspy.Highs, form: StandardForm) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the model that HiGHS has read, and its columns and rows in the order of the form, matched by name."""
    model = highs.getModel()
    at = {name: j for j, name in enumerate(model.lp_.col_names_)}
    row_at = {name: i for i, name in enumerate(model.lp_.row_names_)}
    assert set(at) == set(legal_columns(form))
    assert set(row_at) == set(legal_rows(form))
    return (
        model,
        np.array([at[name] for name in legal_columns(form)], dtype=int),
        np.array([row_at[name] for name in legal_rows(form)], dtype=int),
    )


def hessian(model: Any, n: int) -> np.ndarray:
    h = model.hessian_
    if h.dim_ == 0:
        return np.zeros((n, n))
    lower = sp.csc_array((np.array(h.value_), np.array(h.index_), np.array(h.start_)), shape=(n, n)).toarray()
    return np.asarray(lower + lower.T - np.diag(np.diagonal(lower)))


def check_same_data(highs: highspy.Highs, form: StandardForm) -> None:
    model, columns, rows = as_form_order(highs, form)
    lp = model.lp_
    matrix = lp.a_matrix_
    assert matrix.format_ == highspy.MatrixFormat.kColwise
    A = sp.csc_array(
        (np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_)), shape=(form.m, form.n)
    )
    np.testing.assert_array_equal(A.toarray()[np.ix_(rows, columns)], form.F.toarray())
    np.testing.assert_array_equal(np.array(lp.col_cost_)[columns], form.q)
    np.testing.assert_array_equal(np.array(lp.col_lower_)[columns], form.lower)
    np.testing.assert_array_equal(np.array(lp.col_upper_)[columns], form.upper)
    np.testing.assert_array_equal(np.array(lp.row_lower_)[rows], -form.g)
    equal = np.isin(np.arange(form.m), form.rows_in(ZERO))
    np.testing.assert_array_equal(np.array(lp.row_upper_)[rows], np.where(equal, -form.g, np.inf))
    assert lp.offset_ == form.constant
    np.testing.assert_allclose(hessian(model, form.n)[np.ix_(columns, columns)], form.P.dense, rtol=1e-15, atol=1e-15)
    kinds = lp.integrality_ or [highspy.HighsVarType.kContinuous] * form.n
    assert [kinds[j] == highspy.HighsVarType.kInteger for j in columns] == form.integer.tolist()


@pytest.mark.parametrize("ending", WRITERS)
@RELAXED
@given(seed=st.integers(0, 10_000), quadratic=st.booleans(), integer=st.booleans())
def test_a_file_has_all_numbers_of_the_program(
    ending: str, seed: int, quadratic: bool, integer: bool, draw: Draw, tmp_path: Path
) -> None:
    form = draw(seed, quadratic=quadratic, integer=integer)
    check_same_data(read(WRITERS[ending](form), ending, tmp_path), form)


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("kind", [{}, {"quadratic": True}, {"integer": True}])
@pytest.mark.parametrize("seed", range(3))
def test_a_form_read_back_from_its_file_has_the_same_optimum(
    ending: str, kind: dict[str, bool], seed: int, draw: Draw, tmp_path: Path
) -> None:
    form = draw(seed, **kind)
    highs = read(WRITERS[ending](form), ending, tmp_path)
    assert highs.run() == highspy.HighsStatus.kOk
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    expected = to_cvxpy(form).problem.solve(solver="HIGHS" if form.integer.any() else "CLARABEL")
    assert highs.getObjectiveValue() == pytest.approx(expected, rel=1e-5, abs=1e-5)


HOSTILE = [
    "e1",
    "E",
    "α",
    "inf",
    "nano",
    "1st",
    "two words",
    "free",
    "End",
    "a+b",
    "x:y",
    "",
    "é",
    "s.t.",
    "obj",
    "b",
    "b",
]


@pytest.mark.parametrize("ending", WRITERS)
def test_hostile_names_become_legal_and_unique_and_highs_keeps_them(ending: str, tmp_path: Path) -> None:
    n = len(HOSTILE)
    form = StandardForm(
        name="a name\nwith a line break",
        P=Quadratic(n, (QuadraticPiece(sp.eye_array(n, format="csr"), np.ones(n)),)),
        q=np.ones(n),
        constant=0.0,
        F=sp.csr_array(np.eye(n)),
        g=-np.ones(n),
        lower=np.full(n, -np.inf),
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool),
        columns=tuple(ColumnBlock(name, j, j + 1, scalar=j % 2 == 0) for j, name in enumerate(HOSTILE)),
        rows=tuple(RowBlock(name, NONNEGATIVE, i, i + 1) for i, name in enumerate(HOSTILE)),
        maximize=True,
    )
    text = WRITERS[ending](form)
    assert "minimises the negative" in text
    highs = read(text, ending, tmp_path)
    check_same_data(highs, form)
    again = tmp_path / f"again.{ending}"
    assert highs.writeModel(str(again)) == highspy.HighsStatus.kOk
    assert legal_rows(form)[2] in again.read_text()


def test_legal_names_are_not_changed() -> None:
    assert legal_names(["slack[3]", "margin[3,17]", "edge", "w_1", "b"]) == [
        "slack(3)",
        "margin(3,17)",
        "edge",
        "w_1",
        "b",
    ]
    assert legal_names(["α[0]", "e1", "x", "x", "x_2"]) == ["alpha(0)", "_e1", "x", "x_2", "x_2_2"]
    long = legal_names(["x" * 400, "x" * 400])
    assert len(set(long)) == 2
    assert all(len(name) <= 255 for name in long)


@pytest.mark.parametrize("ending", WRITERS)
def test_degenerate_programs_are_read_too(ending: str, draw: Draw, tmp_path: Path) -> None:
    form = draw(1)
    empty = np.zeros_like(form.q)
    check_same_data(read(WRITERS[ending](replace(form, q=empty)), ending, tmp_path), replace(form, q=empty))
    no_rows = replace(form, F=sp.csr_array((0, form.n)), g=np.zeros(0), rows=())
    check_same_data(read(WRITERS[ending](no_rows), ending, tmp_path), no_rows)
    hollow = replace(form, F=sp.csr_array((form.m, form.n)))
    check_same_data(read(WRITERS[ending](hollow), ending, tmp_path), hollow)


def test_lines_of_lp_files_stay_short(draw: Draw) -> None:
    form = draw(3, quadratic=True)
    form = replace(form, columns=tuple(replace(block, name=block.name * 100) for block in form.columns))
    assert max(map(len, write_lp(form).splitlines())) <= 500


@pytest.mark.parametrize("ending", WRITERS)
def test_cones_are_rejected_with_a_hint_to_cbf(ending: str, draw: Draw) -> None:
    with pytest.raises(UnsupportedError, match=r"'ball' has second-order cones; write a CBF file"):
        WRITERS[ending](draw(0, cones=True))
