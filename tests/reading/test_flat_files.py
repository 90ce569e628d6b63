"""MPS and LP files: the numbers agree with HiGHS's reader, except for documented differences."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt.errors import DataError
from milopt.reading.flat_model import FlatModel
from milopt.reading.lp_file import read_lp
from milopt.reading.mps_file import read_mps
from tests.fuzz.mutated_programs import FIXED, LP, MPS


def read_by_highs(path: Path) -> FlatModel:
    """Return the model of a file by the reader of HiGHS."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("small_matrix_value", 1e-12)
    assert highs.readModel(str(path)) != highspy.HighsStatus.kError
    lp, hessian = highs.getLp(), highs.getModel().hessian_
    matrix = lp.a_matrix_
    n, m = lp.num_col_, lp.num_row_
    shape, parts = (m, n), (matrix.value_, matrix.index_, matrix.start_)
    A = sp.csc_array(parts, shape=shape) if matrix.format_ == highspy.MatrixFormat.kColwise else sp.csr_array(parts)
    P = sp.csc_array((n, n))
    if hessian.dim_:
        triangle = sp.csc_array((hessian.value_, hessian.index_, hessian.start_), shape=(n, n))
        P = triangle + sp.tril(triangle, -1).T
    kinds = [int(kind) for kind in lp.integrality_] or [0] * n
    return FlatModel(
        name="",
        maximizes=lp.sense_ == highspy.ObjSense.kMaximize,
        constant=lp.offset_,
        cost=np.array(lp.col_cost_),
        P=sp.csr_array(P),
        A=sp.csr_array(A),
        row_lower=np.array(lp.row_lower_),
        row_upper=np.array(lp.row_upper_),
        lower=np.array(lp.col_lower_),
        upper=np.array(lp.col_upper_),
        integer=np.isin(kinds, (1, 3)),
        semicontinuous=np.isin(kinds, (2, 3)),
        columns=tuple(lp.col_names_),
        rows=tuple(lp.row_names_),
    )


def assert_same(first: FlatModel, second: FlatModel) -> None:
    """Compare two models by names, because readers may order columns differently."""
    assert sorted(first.columns) == sorted(second.columns)
    assert first.rows == second.rows
    order = [second.columns.index(name) for name in first.columns]
    assert first.maximizes == second.maximizes
    assert first.constant == pytest.approx(second.constant)
    for name in ("cost", "lower", "upper", "integer", "semicontinuous"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name)[order], err_msg=name)
    for name in ("row_lower", "row_upper"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), err_msg=name)
    np.testing.assert_allclose(first.A.toarray(), second.A.toarray()[:, order])
    np.testing.assert_allclose(first.P.toarray(), second.P.toarray()[np.ix_(order, order)])


def write_file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def random_mps(seed: int) -> str:
    """Return a random MPS file with rows, ranges and bounds of every kind."""
    draw = random.Random(seed)
    rows = [(draw.choice("LGE"), f"r{i}") for i in range(draw.randrange(1, 6))]
    lines = ["NAME drawn", "OBJSENSE", f" {draw.choice(['MIN', 'MAX'])}", "ROWS", " N obj"]
    lines += [f" {sense} {name}" for sense, name in rows] + ["COLUMNS"]
    columns = [f"x{j}" for j in range(draw.randrange(2, 9))]
    inside, whole = False, set()
    for j, name in enumerate(columns):
        if draw.random() < 0.3:
            inside = not inside
            lines.append(f" M{j} 'MARKER' '{'INTORG' if inside else 'INTEND'}'")
        whole |= {name} if inside else set()
        lines.append(f" {name} obj {draw.randrange(-5, 6)}")
        for _, row in draw.sample(rows, draw.randrange(len(rows) + 1)):
            lines.append(f" {name} {row} {draw.uniform(-3, 3):.3f}")
    if inside:
        lines.append(" M99 'MARKER' 'INTEND'")
    lines += ["RHS", f" RHS obj {draw.randrange(-9, 10)}"]
    lines += [f" RHS {name} {draw.randrange(-9, 10)}" for _, name in rows if draw.random() < 0.8] + ["RANGES"]
    lines += [f" RNG {name} {draw.choice([-4, 3, 7])}" for _, name in rows if draw.random() < 0.4] + ["BOUNDS"]
    for name in columns:
        kind = draw.choice(["", "UP", "LO", "FX", "FR", "MI", "PL", "BV", "LI", "UI", "SC", "both"])
        if kind == "SC" and name in whole:
            kind = "SI"  # HiGHS ignores integrality of columns with SC bounds
        if kind == "both":
            lines += [f" LO BND {name} -2", f" UP BND {name} 5"]
        elif kind:
            lines.append(
                f" {kind} BND {name}" + ("" if kind in ("FR", "MI", "PL", "BV") else f" {draw.randrange(1, 9)}")
            )
    if draw.random() < 0.5:
        lines += ["QUADOBJ", *(f" {name} {name} {draw.randrange(1, 4)}" for name in columns[:2])]
        lines.append(f" {columns[1]} {columns[0]} 0.5")
    return "\n".join([*lines, "ENDATA", ""])


@pytest.mark.parametrize("seed", range(40))
def test_an_mps_file_agrees_with_highs(seed: int, tmp_path: Path) -> None:
    path = write_file(tmp_path / "drawn.mps", random_mps(seed))
    assert_same(read_mps(path), read_by_highs(path))


def test_a_fixed_mps_file_may_have_blanks_in_names(tmp_path: Path) -> None:
    path = write_file(tmp_path / "fixed.mps", FIXED)
    model = read_mps(path)
    assert model.columns == ("X ONE", "Y TWO")
    assert model.rows == ("LIM 1", "MY ROW")
    assert_same(model, read_by_highs(path))


def test_qmatrix_has_both_triangles_and_quadobj_one(tmp_path: Path) -> None:
    start = "NAME t\nROWS\n N obj\nCOLUMNS\n x obj 1\n y obj 1\n"
    both = read_mps(write_file(tmp_path / "a.mps", start + "QMATRIX\n x x 2\n x y 1\n y x 1\nENDATA\n"))
    upper = read_mps(write_file(tmp_path / "b.mps", start + "QUADOBJ\n x x 2\n x y 1\nENDATA\n"))
    np.testing.assert_array_equal(both.P.toarray(), [[2.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(upper.P.toarray(), both.P.toarray())


def test_a_column_with_only_a_negative_upper_bound_has_no_lower_bound(tmp_path: Path) -> None:
    text = "NAME t\nROWS\n N obj\nCOLUMNS\n x obj 1\n y obj 1\nBOUNDS\n UP B x -3\n LO B y 0\n UP B y -3\nENDATA\n"
    program = milopt.read_program(write_file(tmp_path / "a.mps", text))
    assert program.remarks == (
        'The column "x" has a negative upper bound and no lower bound in the file; its lower bound is set to '
        "-infinity.",
    )
    # The bounds of y contradict each other: the program can be declared, and is infeasible.
    assert milopt.solve(program).termination == "infeasible"


def test_an_lp_file_agrees_with_highs(tmp_path: Path) -> None:
    """HiGHS supports neither ranges nor constants of rows, so these are written in a form that it supports."""
    plain = LP.replace(" -5 <= e - 1.5 b <= 30\n", " R2: e - 1.5 b >= -5\n").replace("a + c = 2 + d", "a + c - d = 2")
    path = write_file(tmp_path / "plain.lp", plain)
    assert_same(read_lp(path), read_by_highs(path))


def test_ranges_and_constants_of_lp_rows_are_used(tmp_path: Path) -> None:
    model = read_lp(write_file(tmp_path / "a.lp", LP))
    second = model.rows.index("R2")
    assert (model.row_lower[second], model.row_upper[second]) == (-5.0, 30.0)
    mix = dict(zip(model.columns, model.A.toarray()[model.rows.index("mix")], strict=True))
    assert (mix["a"], mix["c"], mix["d"]) == (1.0, 1.0, -1.0)
    text = "min x + y st\n c: x + 3 <= 5\n x - y >= -2\n - x + 2 y <= 7\nbounds\n y free\nend\n"
    model = read_lp(write_file(tmp_path / "b.lp", text))
    assert model.rows == ("c", "R2", "R3")
    np.testing.assert_array_equal(model.row_upper, [2.0, np.inf, 7.0])
    np.testing.assert_array_equal(model.A.toarray(), [[1.0, 0.0], [1.0, -1.0], [-1.0, 2.0]])


def test_names_with_brackets_are_names_in_lp_files(tmp_path: Path) -> None:
    text = "max\n obj: x[1] + 2 x[2,a] + [ - x[1]^2 - x[2,a]*x[1] ]\nst\n c: x[1] + x[2,a] <= 4\nend\n"
    model = read_lp(write_file(tmp_path / "a.lp", text))
    assert model.columns == ("x[1]", "x[2,a]")
    np.testing.assert_array_equal(model.P.toarray(), [[-2.0, -1.0], [-1.0, 0.0]])


@pytest.mark.parametrize("solver", ["highs", "clarabel", "ecos", "cvxpy:SCS"])
def test_results_have_values_and_multipliers_by_the_names_of_the_file(solver: str, tmp_path: Path) -> None:
    """Maximise x + 2 y s.t. x + y <= 4, 1 <= x - y + 5 <= 9, y <= 3.

    The optimum is (1, 3), and the multiplier of the load is 1.
    """
    text = "maximize\n x + 2 y\nsubject to\n load: x + y <= 4\n span: -4 <= x - y <= 4\nbounds\n y <= 3\nend\n"
    program = milopt.read_program(write_file(tmp_path / "small.lp", text))
    result = milopt.solve(program, solver)
    assert result.point == "certified"
    assert result.objective == pytest.approx(7.0)
    assert (result.values["x"], result.values["y"]) == pytest.approx((1.0, 3.0), abs=1e-6)
    assert result.duals["load"] == pytest.approx(1.0)
    assert result.duals["span"] == pytest.approx(0.0, abs=1e-6)
    assert result.duals["span.upper"] == pytest.approx(0.0, abs=1e-6)
    assert result.reduced_costs["y"] == pytest.approx(-1.0, abs=1e-6)
    assert program.labels["continuous"] == ("x", "y")
    with pytest.raises(LookupError, match="no variable 'z'"):
        result.values["z"]


def test_semicontinuous_columns_are_0_or_between_their_bounds(tmp_path: Path) -> None:
    text = "min 3 s + t st\n c: s + t >= {}\nbounds\n 2 <= s <= 5\n t <= 1\nsemi-continuous\n s\nend\n"
    for need, optimum in ((0.5, 0.5), (1.5, 6.0), (4.0, 10.0)):
        program = milopt.read_program(write_file(tmp_path / "a.lp", text.format(need)))
        assert milopt.solve(program).objective == pytest.approx(optimum)


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "small.mps.gz"
    path.write_bytes(gzip.compress(MPS.encode()))
    assert milopt.read_program(path).labels["continuous"] == ("a", "b", "e", "f", "g")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("a.mps", " a obj 1 load 1", " a obj 1 laod 1", 'line 13: the row "laod" is not declared in ROWS.'),
        ("a.mps", " b obj 2.5 load 1", " b obj 2.5x load 1", 'line 15: "2.5x" is not a number.'),
        ("a.mps", " UP BND a 4", " UP BND q 4", 'line 30: the column "q" is not declared in COLUMNS.'),
        ("a.mps", " UP BND a 4", " UQ BND a 4", 'line 30: "UQ" is not a kind of bound'),
        ("a.mps", " UP BND a 4", " UP BND a nan", 'line 30: "nan" is not a number.'),
        (
            "a.mps",
            "QUADOBJ",
            "SOS1",
            "line 39: the section SOS1 has special ordered sets, which milopt does not support.",
        ),
        ("a.mps", "QUADOBJ", "FOO", 'line 39: "FOO" is not a section of an MPS file'),
        ("a.mps", "ENDATA\n", "", "line 42: the file ends without ENDATA; it is not complete."),
        ("a.mps", " a mix 1 spare 2", " a load 1", 'line 14: column "a" has two entries in row "load".'),
        ("a.mps", " G need", " G load", 'line 9: the row "load" is declared twice.'),
        ("a.lp", " load: a + b", " load: a + + * b", "line 5: a sign has no term after it."),
        ("a.lp", " load: a + b", " load: [ a ^ 2 ]", "line 5: milopt does not support quadratic rows."),
        ("a.lp", "mix: a + c", "load: a + c", 'line 7: the row "load" occurs twice.'),
        (
            "a.lp",
            " f = 1.5",
            " f = 1.5 = 2 = 3",
            "line 14: a bound is a column and a number such as x <= 4, or x free.",
        ),
        ("a.lp", "end\n", "", "line 22: the file ends without the word end; it is not complete."),
        ("a.lp", " 0 <= a <= 4", " 0 <= a <= §", 'line 11: "§" is neither a number, a name nor a sign.'),
        ("a.txt", "", "", "the name must end in .mps, .qps, .lp or .cbf, optionally followed by .gz."),
    ],
)
def test_a_broken_file_is_rejected_with_its_line(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    text = LP if name.endswith(".lp") else MPS
    assert old in text
    path = tmp_path / name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        milopt.read_program(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_is_rejected_with_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.mps: the file cannot be opened"):
        milopt.read_program(tmp_path / "nothing.mps")
