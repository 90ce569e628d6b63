"""`--positive`: the user names the positive class, or a warning does; every result states it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import milopt


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """Return a file with thirty bags of four instances; one instance of every active bag is near (3, 3)."""
    rng = np.random.default_rng(0)
    lines = ["bag,label,f0,f1"]
    for bag in range(30):
        rows = np.clip(rng.normal(size=(4, 2)), -1.5, 1.5)
        if bag % 2:
            rows[rng.integers(4)] = 3 + 0.1 * rng.normal(size=2)
        label = "active" if bag % 2 else "inactive"
        lines += [f"b{bag},{label},{x:.4f},{y:.4f}" for x, y in rows]
    file = tmp_path / "named.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_fit_and_its_predictions_name_the_positive_class(run, named: Path, tmp_path: Path) -> None:
    saved = tmp_path / "model"
    document = run("fit", named, "-m", "mi-svm", "--positive", "active", "--save", saved, "--json").json("fit")
    assert (document["positive_label"], document["train_accuracy"]) == ("active", 1.0)
    text = run("fit", named, "-m", "mi-svm", "--positive", "active")
    assert "\npositive    class active\n" in text.out
    assert "Warning" not in text.err
    outcome = run("predict", saved, named)
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert {row["positive_label"] for row in rows} == {"active"}
    assert all((float(row["score"]) > 0) == (row["predicted"] == "active") for row in rows)
    plain = run("predict", saved, named, "--json").json("predict")
    assert (plain["classes"], plain["positive_label"]) == (["active", "inactive"], "active")
    instances = run("predict", saved, named, "--instances", "--json").json("predict")["instances"]
    best = {
        row["bag"]: max(instance["score"] for instance in instances if instance["bag"] == row["bag"])
        for row in plain["bags"]
    }
    assert all(row["score"] == pytest.approx(best[row["bag"]]) for row in plain["bags"])


def test_without_a_positive_class_a_warning_states_how_to_choose_it(run, named: Path) -> None:
    outcome = run("fit", named, "-m", "mi-svm", "--json")
    assert outcome.json("fit")["positive_label"] == "inactive"
    assert "Warning: MISVM does not treat the two classes alike" in outcome.err
    assert "--positive" in outcome.err
    assert "Warning" not in run("fit", named, "-m", "set-kernel-svm").err


def test_an_evaluation_names_the_positive_class(run, named: Path) -> None:
    fixed = ("evaluate", named, "-m", "mi-svm", "--protocol", "1x3", "--set", "C=10", "--grid", "scale=minmax01")
    outcome = run(*fixed, "--positive", "active", "--no-store", "--json")
    row = outcome.json("evaluate")["table"][0]
    assert (row["positive_label"], row["accuracy"], row["auc"]) == ("active", 1.0, 1.0)
    assert "--positive active" in outcome.json("evaluate")["command"]
    text = run(*fixed, "--no-store")
    assert ", seed 0, positive class inactive\n" in text.out
    assert text.err.count("mi-svm does not treat the two classes alike") == 1


def test_a_comparison_names_the_positive_class(run, named: Path) -> None:
    asked = ("compare", named, "--models", "mi-svm,set-kernel-svm", "--solvers", "clarabel", "--folds", "2", "-j", "1")
    cells = run(*asked, "--positive", "active", "--json").json("compare")["cells"]
    assert [(cell["positive_label"], cell["accuracy"]) for cell in cells[:1]] == [("active", 1.0)]
    text = run(*asked)
    assert ", seed 0, positive class inactive: " in text.out
    assert text.err.count("does not treat the two classes alike") == 1


def test_inspect_declares_the_program_of_the_positive_class(run, named: Path) -> None:
    signs = [
        run("inspect", named, "-m", "set-kernel-svm", "-f", "lp", "--positive", label).out
        for label in ("active", "inactive")
    ]
    assert signs[0] != signs[1]


@pytest.mark.parametrize("label", ["0", "0.0", "1"])
def test_a_number_selects_the_label_with_this_value(run, small_csv: Path, label: str) -> None:
    document = run("fit", small_csv, "-m", "set-kernel-svm", "--positive", label, "--json").json("fit")
    assert document["positive_label"] == int(float(label))


@pytest.mark.parametrize("command", ["fit", "inspect", "evaluate", "compare"])
def test_mistakes_print_one_sentence(run, named: Path, tmp_path: Path, command: str) -> None:
    models = ("--models", "mi-svm") if command == "compare" else ("-m", "mi-svm")
    unknown = run(command, named, *models, "--positive", "activ").sentence()
    assert unknown == "positive='activ' is not a label of the training bags: give 'active' or 'inactive'."
    assert '"positive" is ' in run(command, named, *models, "--set", "positive=active").sentence()
    three = tmp_path / "three.csv"
    three.write_text("bag,label,f0\n" + "".join(f"{bag},{'abc'[bag % 3]},{bag % 3}\n" for bag in range(30)))
    part = ("--part", "a") if command == "inspect" else ()
    several = run(command, three, *models, *part, "--positive", "a").sentence()
    assert several.startswith("positive='a' is for two classes, but there are 3")


def test_python_evaluates_and_compares_with_the_positive_class_too(named: Path) -> None:
    result = milopt.evaluate(named, "mi-svm", "1x3", grid={}, settings={"positive": "active"})
    assert (result.table[0].positive_label, result.table[0].accuracy) == ("active", 1.0)
