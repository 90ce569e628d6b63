"""Master and oracles of GunPoint as files: readable names, and the optimum that other readers compute."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import highspy
import numpy as np
import pytest

import milopt
from milopt.compilation.minorant import one_hot_minorant
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.column_generation import ColumnGeneration
from milopt.solving.step_session import StepSession
from tests.inspection.test_cbf import read_cbf

BOOST = f"{Path(__file__).parents[2] / 'models' / 'shapelet_boost.py'}:ShapeletBoost"
COMMAND = ("inspect", "gunpoint", "--model", BOOST, "--window", "0.4", "--stride", "5")


@cache
def declare_boosting(ball: str) -> SemiInfinite:
    data = milopt.load_data("gunpoint", window=0.4, stride=5)
    problem = ShapeletBoost(ball=ball, random_state=0).program(data.bags, data.labels)
    assert isinstance(problem, SemiInfinite)
    return problem


@cache
def first_step(ball: str, solver: str) -> tuple[float, np.ndarray]:
    """Return the optimum and the witnesses of the first convex step of the oracle at the start of the master."""
    oracle = declare_boosting(ball).oracles[0]
    (price,), (atom,) = oracle.prices, oracle.program.maxima()
    price.value = declare_boosting(ball).start[oracle.prices[price]]
    first = atom.segments.argmax(next(iter(oracle.starts({price: price.value}))))
    witnesses = {atom: one_hot_minorant(atom, first)}
    with StepSession(oracle.program, milopt.get_solver(solver), witnesses=witnesses) as session:
        outcome = session.solve()
    assert outcome.certificate.holds(1e-6)
    return outcome.objective, first - atom.segments.offsets[:-1]


def read(file: Path) -> tuple[float, list[str], list[str]]:
    """Read and solve a file with HiGHS; return the optimum and the names of the columns and of the rows."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(file)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value, list(highs.getLp().col_names_), list(highs.getLp().row_names_)


def kinds(names: list[str]) -> set[str]:
    return {re.sub(r"\([\d,]*\)$", "", name) for name in names}


@pytest.mark.parametrize("format", ["lp", "mps"])
def test_the_oracle_is_its_first_convex_step(run, tmp_path: Path, format: str) -> None:
    file = tmp_path / f"oracle.{format}"
    assert run(*COMMAND, "--part", "oracle", "--format", format, "-o", file).code == 0
    value, columns, rows = read(file)
    assert value == pytest.approx(first_step("l1", "clarabel")[0], rel=1e-6)
    assert kinds(columns) == {"u.coefficients", "bag_max_0", "norm1_1", "norm1_1.plus", "norm1_1.minus"}
    assert {"ball", "bag_max_0.epigraph"} <= kinds(rows)


@pytest.mark.parametrize(("ball", "format"), [("l1", "lp"), ("l1", "mps"), ("hilbert", "cbf")])
def test_the_file_names_its_convex_step_and_the_witnesses(run, ball: str, format: str) -> None:
    text = run(*COMMAND, "--set", f"ball={ball}", "--part", "oracle", "--format", format).out
    mark = {"lp": "\\", "mps": "*", "cbf": "#"}[format]
    comments = [line for line in text.splitlines() if line.startswith(mark)]
    assert (
        f"{mark} one convex step of a DC program: 26 of the 50 maxima of bag_max(u(950 points)) in the objective,"
        in (comments[2])
    )
    places = dict(tuple(map(int, pair)) for line in comments[3:] for pair in re.findall(r" (\d+):(\d+)", line))
    witnesses = first_step(ball, "clarabel")[1]
    assert len(places) == 26
    assert all(witnesses[bag] == instance for bag, instance in places.items())


@pytest.mark.parametrize("format", ["lp", "mps"])
def test_the_master_after_five_rounds_is_written(run, tmp_path: Path, format: str) -> None:
    file = tmp_path / f"master.{format}"
    assert run(*COMMAND, "--part", "master", "--iteration", 5, "--format", format, "-o", file).code == 0
    value, columns, rows = read(file)
    result = milopt.solve(declare_boosting("l1"), scheme=ColumnGeneration(max_rounds=5))
    assert value == pytest.approx(result.objective, rel=1e-9)
    assert set(columns) == {"gamma", *(f"d({i})" for i in range(50))}
    assert rows[:2] == ["simplex(0)", "balance(0)"]
    assert rows[2:] == [f"edge({t})(0)" for t in range(len(rows) - 2)]
    assert len(rows) == len(declare_boosting("l1").master.constraints)


def test_the_oracle_over_the_hilbert_ball_is_a_cone_program(run) -> None:
    text = run(*COMMAND, "--set", "ball=hilbert", "--part", "oracle", "--format", "cbf").out
    for name in ("u.coefficients", "bag_max_0", "bag_max_0.epigraph", "ball"):
        assert re.search(rf"^# (columns|rows) \d+\.\.\d+: {re.escape(name)}$", text, re.MULTILINE), name
    assert read_cbf(text).solve(solver="CLARABEL") == pytest.approx(first_step("hilbert", "ecos")[0], rel=1e-6)


def test_the_summary_states_kind_and_size_of_a_step(run) -> None:
    shown = run(*COMMAND, "--set", "ball=hilbert", "--part", "oracle", "--format", "summary").out
    assert shown.startswith("weak learning: DC (each convex step is of kind SOCP), maximise ")
    assert shown.splitlines()[0].endswith("*d) @ bag_max(u(950 points))")
    assert "24 bags convex side (epigraph 456 rows), 26 bags need a witness" in shown
    assert re.search(r"ball +1 +101 +second-order cone +\S+ - norm\(u\)", shown)
