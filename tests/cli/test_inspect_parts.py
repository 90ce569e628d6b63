"""`milopt inspect --part`: one program per class, a master and its oracles, also after rounds of column generation."""

from __future__ import annotations

from pathlib import Path

import highspy
import numpy as np
import pytest

import milopt
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.models.shapelet_boost import ShapeletBoost
from milopt.schemes.column_generation import ColumnGeneration

BOOST = f"{Path(__file__).parents[2] / 'models' / 'shapelet_boost.py'}:ShapeletBoost"


@pytest.fixture
def three_classes(tmp_path: Path) -> Path:
    lines = ["bag,label,f0,f1"]
    for bag in range(9):
        label = "abc"[bag % 3] if bag < 7 else "a"
        lines += [f"b{bag},{label},{0.1 * bag},{ord(label)}", f"b{bag},{label},{0.3 * bag},{0.5}"]
    file = tmp_path / "three.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def solve_lp_file(text: str, folder: Path) -> tuple[float, list[str]]:
    """Read and solve an LP file with HiGHS; return the optimum and the names of the rows."""
    file = folder / "read.lp"
    file.write_text(text)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(file)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value, list(highs.getLp().row_names_)


# -- several classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [[], ["--part", "program"], ["--part", "d"]])
def test_several_classes_need_a_part(run, three_classes: Path, part: list[str]) -> None:
    outcome = run("inspect", three_classes, "-m", "set-kernel-svm", *part)
    assert outcome.code == 2
    assert '3 classes, and set-kernel-svm solves one program per class: choose one with --part, "a", "b", "c"' in (
        outcome.sentence()
    )


def test_the_part_of_a_class_is_its_program(run, three_classes: Path) -> None:
    data = milopt.load_data(three_classes)
    model = milopt.models.SetKernelSVM()
    for label in "abc":
        shown = run("inspect", three_classes, "-m", "set-kernel-svm", "--part", label, "-f", "lp")
        assert shown.out.rstrip("\n") == model.program(data.bags, data.labels == label).to_lp().rstrip("\n")
    result = run("inspect", three_classes, "-m", "set-kernel-svm", "--part", "b", "--json").json("inspect")
    assert (result["part"], result["iteration"]) == ("b", None)


def test_the_part_of_a_class_is_the_program_of_fit_with_class_weights(run, three_classes: Path) -> None:
    data = milopt.load_data(three_classes)
    fitted = milopt.models.SetKernelSVM(class_weight="balanced").fit(data.bags, data.labels)
    for label, result in zip("abc", fitted.results_, strict=True):
        weighted = ["--set", "class_weight=balanced", "--part", label, "-f", "lp"]
        shown = run("inspect", three_classes, "-m", "set-kernel-svm", *weighted)
        assert shown.out.rstrip("\n") == result.program.to_lp().rstrip("\n")


def test_a_class_has_a_master_and_oracles(run, three_classes: Path) -> None:
    result = run("inspect", three_classes, "-m", BOOST, "--part", "c", "--json").json("inspect")
    assert (result["part"], result["name"]) == ("c:master", "soft margin")
    result = run("inspect", three_classes, "-m", BOOST, "--part", "c:oracle", "--json").json("inspect")
    assert (result["part"], result["name"]) == ("c:oracle", "weak learning")
    wrong = run("inspect", three_classes, "-m", BOOST, "--part", "c:program")
    assert '"c:master", "c:oracle", "c:oracle1"' in wrong.sentence()


# -- column generation -----------------------------------------------------------------------------------------


def solve_boosting(file: Path, rounds: int) -> tuple[SemiInfinite, milopt.Result]:
    data = milopt.load_data(file)
    problem = ShapeletBoost(random_state=0).program(data.bags, data.labels)
    assert isinstance(problem, SemiInfinite)
    return problem, milopt.solve(problem, scheme=ColumnGeneration(max_rounds=rounds))


def test_the_first_part_is_the_master_without_rows(run, small_csv: Path) -> None:
    result = run("inspect", small_csv, "-m", BOOST, "--json").json("inspect")
    assert result["part"] == "master"
    assert [row["name"] for row in result["tables"]["constraints"]] == ["simplex", "balance"]
    same = run("inspect", small_csv, "-m", BOOST, "--iteration", 0).out
    assert same == run("inspect", small_csv, "-m", BOOST, "--part", "master").out


@pytest.mark.parametrize("rounds", [1, 2])
def test_the_master_after_some_rounds_has_its_optimum(run, small_csv: Path, tmp_path: Path, rounds: int) -> None:
    problem, result = solve_boosting(small_csv, rounds)
    assert len(result.history) == rounds
    shown = run("inspect", small_csv, "-m", BOOST, "--part", "master", "--iteration", rounds, "-f", "lp")
    assert shown.err == ""
    value, names = solve_lp_file(shown.out, tmp_path)
    assert value == pytest.approx(result.objective, abs=1e-9)
    edges = [name for name in problem.master.constraints if name.startswith("edge[")]
    assert names == ["simplex(0)", "balance(0)", *(f"edge({k})(0)" for k in range(len(edges)))]


def test_the_oracle_has_the_prices_of_the_master(run, small_csv: Path, tmp_path: Path) -> None:
    first = run("inspect", small_csv, "-m", BOOST, "--part", "oracle", "-f", "lp")
    later = run("inspect", small_csv, "-m", BOOST, "--part", "oracle", "-f", "lp", "--iteration", 1)
    problem, result = solve_boosting(small_csv, 1)
    oracle = problem.oracles[0]
    (price,) = oracle.prices
    assert later.out != first.out
    for shown, d in ((first, problem.start[problem.variables["d"]]), (later, result.values["d"])):
        price.value = np.maximum(d, 0.0)
        (atom,) = oracle.program.maxima()
        first = atom.segments.argmax(next(iter(oracle.starts({price: price.value}))))
        there = oracle.program.to_lp(witnesses={atom: first})
        assert solve_lp_file(shown.out, tmp_path)[0] == pytest.approx(solve_lp_file(there, tmp_path)[0], abs=1e-7)


def test_the_oracle_over_the_hilbert_ball_is_a_cone_program_in_cbf(run, small_csv: Path) -> None:
    ball = ["--part", "oracle", "--set", "ball=hilbert"]
    shown = run("inspect", small_csv, "-m", BOOST, *ball, "-f", "cbf")
    assert shown.code == 0
    assert "\nQ " in shown.out
    assert "rows" in shown.out.partition(": ball")[0]
    refused = run("inspect", small_csv, "-m", BOOST, *ball, "-f", "lp")
    assert refused.code == 2
    assert "cbf" in refused.sentence().lower()


def test_fewer_rounds_than_requested_give_a_warning(run, small_csv: Path) -> None:
    outcome = run("inspect", small_csv, "-m", BOOST, "--iteration", 500)
    assert outcome.code == 0
    assert "of 500 rounds" in outcome.err


def test_iteration_is_an_error_for_models_without_column_generation(run, small_csv: Path) -> None:
    outcome = run("inspect", small_csv, "-m", "mi-svm", "--iteration", 2)
    assert outcome.code == 2
    assert "leave out --iteration" in outcome.sentence()


def test_a_master_without_columns_prints_a_hint(run) -> None:
    shown = run("inspect", "musk1", "-m", BOOST)
    assert "is semi-infinite: this is its master before column generation" in shown.err
    assert "--part oracle" in shown.err
    assert "semi-infinite" not in run("inspect", "musk1", "-m", BOOST, "--part", "master").err
