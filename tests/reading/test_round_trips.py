"""Programs that milopt writes and reads back have the same optimum, by names if the format has names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt.errors import DataError
from tests.fuzz.mutated_programs import CBF


def linear(draw: np.random.Generator) -> milopt.Program:
    program = milopt.Program("linear")
    x = program.variable("x", 6, lower=[0, -1, -2, 0, -3, 1], upper=[4, 5, 3, 9, 3, 1])
    y = program.variable("y")
    A = draw.normal(size=(4, 6))
    program.maximize(draw.normal(size=6) @ x - 0.5 * y + 3)
    program.subject_to(A @ x + y >= A @ np.ones(6) - 2, "above")
    program.subject_to(A[:2] @ x == A[:2] @ np.ones(6), "same")
    program.subject_to(y >= -10, "floor")
    return program


def quadratic(draw: np.random.Generator) -> milopt.Program:
    program = linear(draw)
    x = program.variables["x"]
    root = draw.normal(size=(3, 6))
    program.maximize(program.objective - milopt.quad_form(x, root.T @ root) - milopt.sum_squares(x[2:4]))
    return program


def mixed_integer(draw: np.random.Generator) -> milopt.Program:
    program = linear(draw)
    k = program.variable("k", 3, lower=-2, upper=5, integer=True)
    b = program.variable("b", binary=True)
    program.replace("same", draw.normal(size=3) @ k + program.variables["x"].sum() + b <= 6.3)
    program.maximize(program.objective + draw.normal(size=3) @ k + 0.7 * b)
    return program


def second_order(draw: np.random.Generator) -> milopt.Program:
    program = linear(draw)
    x = program.variables["x"]
    program.subject_to(milopt.norm(draw.normal(size=(3, 6)) @ x) <= 8 + 0.1 * program.variables["y"], "ball")
    return program


def exponential(draw: np.random.Generator) -> milopt.Program:
    program = linear(draw)
    x = program.variables["x"]
    program.maximize(program.objective - milopt.exp(0.3 * x[:3]).sum() + milopt.entropy(1 + 0.1 * x[3]))
    program.subject_to(milopt.log_sum_exp(0.2 * x) <= 4, "soft")
    return program


def rotated(draw: np.random.Generator) -> milopt.Program:
    program = quadratic(draw)
    x = program.variables["x"]
    program.subject_to(milopt.sum_squares(x[:2]) <= 5 - 0.1 * x[5], "disc")
    return program


FAMILIES = {
    module.__name__: module for module in (linear, quadratic, mixed_integer, second_order, exponential, rotated)
}
FORMATS = {
    "linear": ("mps", "lp", "cbf"),
    "quadratic": ("mps", "lp", "cbf"),
    "mixed_integer": ("mps", "lp", "cbf"),
    "second_order": ("cbf",),
    "exponential": ("cbf",),
    "rotated": ("cbf",),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("family", "ending"), [(family, ending) for family in FORMATS for ending in FORMATS[family]])
def test_a_form_read_back_from_cbf_has_the_same_optimum(family: str, ending: str, seed: int, tmp_path: Path) -> None:
    program = FAMILIES[family](np.random.default_rng(seed))
    first = milopt.solve(program).require_certified()
    path = tmp_path / f"program.{ending}"
    write: Callable[..., str] = getattr(program, f"to_{ending}")
    write(path)
    again = milopt.read_program(path)
    second = milopt.solve(again).require_certified()
    # Files contain the minimisation of the negative objective.
    assert -second.objective == pytest.approx(first.objective, rel=1e-5, abs=1e-5)
    third = tmp_path / f"again.{ending}"
    getattr(again, f"to_{ending}")(third)
    assert milopt.solve(milopt.read_program(third)).objective == pytest.approx(second.objective, rel=1e-5, abs=1e-5)
    if ending != "cbf" and family != "mixed_integer":
        assert [float(second.values[f"x({i})"]) for i in range(6)] == pytest.approx(first.values["x"], abs=1e-3)
        assert again.labels == milopt.read_program(third).labels


def test_every_part_of_a_cbf_file_is_used(tmp_path: Path) -> None:
    """The optimum of the file agrees with cvxpy, by the definition of the format."""
    import cvxpy as cp

    path = tmp_path / "small.cbf"
    path.write_text(CBF.replace("INT\n1\n4\n", ""))
    x = cp.Variable(7)
    rows = [
        *(x[0] - x[3] == 0, x[1] - 0.5 >= 0, x[6] + 1 >= 0, x[3:5] >= 0, x[5] <= 0, -x[5] - 4 <= 0),
        cp.norm(cp.hstack([x[1], 0.25])) <= x[0],
        cp.quad_over_lin(x[2], x[6] + 0.5) <= 2 * x[0],
        cp.ExpCone(x[2], x[4] + 1, x[6]),
    ]
    problem = cp.Problem(cp.Minimize(x[0] + x[1] + 2 * x[3] + 0.5 * x[6] + 1.5), rows)
    expected = problem.solve(solver="CLARABEL")
    result = milopt.solve(milopt.read_program(path)).require_certified()
    assert result.objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("VER\n2", "VER\n9", 'line 3: "9" is not a whole number of at most 4.'),
        ("QR 3", "PSD 3", 'milopt does not support the cone "PSD"; it supports F, L=, L+, L-, Q, QR, EXP.'),
        ("EXP 3", "EXP 4", "a cone EXP cannot have 4 entries."),
        ("13 6", "14 6", "the cones have 13 entries in total, but 14 were declared."),
        ("0 0 1.0\n0 3", "13 0 1.0\n0 3", '"13" is not a whole number of at most 12.'),
        ("12 -4.0", "12 nan", '"nan" is not a finite number.'),
        ("12 -4.0\n", "", "the file ends in the middle of a section."),
        ("OBJBCOORD", "PSDVAR", 'milopt does not support the section "PSDVAR".'),
    ],
)
def test_a_broken_cbf_file_is_rejected_with_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in CBF
    path = tmp_path / "broken.cbf"
    path.write_text(CBF.replace(old, new, 1))
    with pytest.raises(DataError, match=r"broken\.cbf, line \d+: ") as caught:
        milopt.read_program(path)
    assert message in str(caught.value)
