"""CBF files, read back by an independent reader and solved by cvxpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import EXPONENTIAL, SECOND_ORDER
from milopt.errors import ConvexityError
from milopt.inspection.cbf_file import write_cbf
from milopt.inspection.cvxpy_model import to_cvxpy

Draw = Callable[..., StandardForm]


def read_cbf(text: str) -> cp.Problem:
    """Return the problem of a CBF file as cvxpy objects, by the definition of the format."""
    lines: Iterator[str] = iter([line for line in text.splitlines() if line.strip() and not line.startswith("#")])
    sections: dict[str, list[list[str]]] = {}
    for keyword in lines:
        head = next(lines).split()
        body = [head]
        if keyword in ("VAR", "CON"):
            body += [next(lines).split() for _ in range(int(head[1]))]
        elif keyword in ("INT", "OBJACOORD", "ACOORD", "BCOORD"):
            body += [next(lines).split() for _ in range(int(head[0]))]
        sections[keyword] = body
    has_exponential = any(line[0] == "EXP" for line in sections.get("CON", [])[1:])
    assert sections["VER"] == [["2" if has_exponential else "1"]]
    assert sections["OBJSENSE"] == [["MIN"]]
    n = int(sections["VAR"][0][0])
    integer = [int(line[0]) for line in sections.get("INT", [[]])[1:]]
    x = cp.Variable(n)
    constraints = []
    if integer:
        whole = cp.Variable(len(integer), integer=True)
        constraints.append(x[integer] == whole)
    constraints += in_cones(x, sections["VAR"][1:], n)
    if "CON" in sections:
        m = int(sections["CON"][0][0])
        A, b = np.zeros((m, n)), np.zeros(m)
        for i, j, value in sections.get("ACOORD", [[]])[1:]:
            A[int(i), int(j)] += float(value)
        for i, value in sections.get("BCOORD", [[]])[1:]:
            b[int(i)] += float(value)
        constraints += in_cones(A @ x + b, sections["CON"][1:], m)
    cost = np.zeros(n)
    for j, value in sections.get("OBJACOORD", [[]])[1:]:
        cost[int(j)] += float(value)
    constant = float(sections["OBJBCOORD"][0][0]) if "OBJBCOORD" in sections else 0.0
    return cp.Problem(cp.Minimize(cost @ x + constant), constraints)


def in_cones(expression: cp.Expression, cones: list[list[str]], total: int) -> list[cp.Constraint]:
    constraints: list[cp.Constraint] = []
    start = 0
    for cone, size in cones:
        part = expression[start : start + int(size)]
        start += int(size)
        if cone == "L=":
            constraints.append(part == 0)
        elif cone == "L+":
            constraints.append(part >= 0)
        elif cone == "L-":
            constraints.append(part <= 0)
        elif cone == "Q":
            constraints.append(cp.norm(part[1:]) <= part[0] if int(size) > 1 else part >= 0)
        elif cone == "EXP":
            assert int(size) == 3
            constraints.append(cp.ExpCone(part[2], part[1], part[0]))  # CBF: t >= s exp(r/s) of (t, s, r)
        elif cone == "QR":
            constraints.append(cp.quad_over_lin(part[2:], part[1]) <= 2 * part[0])
        else:
            assert cone == "F"
    assert start == total
    return constraints


@pytest.mark.parametrize(
    "kind",
    [{}, {"quadratic": True}, {"cones": True}, {"cones": True, "quadratic": True}, {"integer": True}],
    ids=["LP", "QP", "SOCP", "quadratic SOCP", "MILP"],
)
@pytest.mark.parametrize("seed", range(4))
def test_a_form_read_back_from_its_file_has_the_same_optimum(kind: dict[str, bool], seed: int, draw: Draw) -> None:
    form = draw(seed, **kind)
    solver = "HIGHS" if form.integer.any() else "CLARABEL"
    expected = to_cvxpy(form).problem.solve(solver=solver)
    assert read_cbf(write_cbf(form)).solve(solver=solver) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_several_cones_of_one_block_are_written_one_by_one() -> None:
    """Minimise z + 2 w - x_1 - x_2 in two blocks of cones.

    The constraints are exp(x) <= z, exp(2 y) <= w, x >= 1, y >= 1, |x_i| <= 3.
    """
    F = np.zeros((11, 6))
    F[[0, 3], [0, 1]], F[[2, 5], [2, 3]] = [1.0, 2.0], 1.0
    F[[7, 9, 10], [4, 5, 5]] = [1.0, 1.0, 2.0]
    rows = (RowBlock("e", EXPONENTIAL, 0, 6), RowBlock("b", SECOND_ORDER, 6, 11, sizes=np.array([2, 3])))
    form = StandardForm(
        "two kinds",
        Quadratic(6),
        np.array([0.0, 0.0, 1.0, 2.0, -1.0, -1.0]),
        0.0,
        sp.csr_array(F),
        np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 3.0, 0.0, 3.0, 0.0, 0.0]),
        np.array([1.0, 1.0, *np.full(4, -np.inf)]),
        np.full(6, np.inf),
        np.zeros(6, bool),
        (ColumnBlock("x", 0, 6),),
        rows,
    )
    text = write_cbf(form)
    assert "CON\n13 5\nEXP 3\nEXP 3\nQ 2\nQ 3\nL+ 2\n" in text
    best = np.e + 2 * np.exp(2.0) - 3.0 - 3.0 / np.sqrt(5.0)
    assert read_cbf(text).solve(solver="CLARABEL") == pytest.approx(best, rel=1e-6)
    assert to_cvxpy(form).problem.solve(solver="CLARABEL") == pytest.approx(best, rel=1e-6)


def test_comments_carry_the_names_of_the_blocks(draw: Draw) -> None:
    form = draw(0, cones=True, quadratic=True)
    text = write_cbf(replace(form, maximize=True))
    last = form.n
    for line in (
        "# declared as a maximisation: this file minimises the negative of its objective",
        f"# columns {last - 1}..{last - 1}: b",
        f"# columns {last}..{last}: epigraph of the quadratic objective",
        "# rows 1..4: margin",
        "# rows 5..7: ball",
    ):
        assert line in text.splitlines()


def test_the_first_comment_counts_the_columns_and_rows_of_the_file(draw: Draw) -> None:
    form = draw(0, cones=True, quadratic=True)
    lines = write_cbf(form).splitlines()
    columns, rows = (lines[lines.index(section) + 1].split()[0] for section in ("VAR", "CON"))
    assert int(columns) == form.n + 1
    assert int(rows) > form.m
    assert lines[0].endswith(f": {columns} columns, {rows} rows")


def test_bounds_at_zero_are_cones_of_the_variables(draw: Draw) -> None:
    form = draw(0)
    n = form.n
    form = replace(form, lower=np.zeros(n), upper=np.r_[np.full(n - 1, np.inf), 2.0])
    text = write_cbf(form)
    assert f"VAR\n{n} 1\nL+ {n}\n" in text
    assert "lower bounds" not in text
    assert "upper bounds" in text


def test_a_nonconvex_quadratic_is_rejected() -> None:
    P = Quadratic(2, (QuadraticPiece(sp.eye_array(2, format="csr"), np.array([1.0, -1.0])),))
    form = StandardForm(
        "saddle",
        P,
        np.zeros(2),
        0.0,
        sp.csr_array((0, 2)),
        np.zeros(0),
        -np.ones(2),
        np.ones(2),
        np.zeros(2, bool),
        (),
        (),
    )
    with pytest.raises(ConvexityError, match="negative"):
        write_cbf(form)
