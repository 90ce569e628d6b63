"""`--bag`, `--label` and `--features` name the columns of a table."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def renamed(small_csv: Path, tmp_path: Path) -> Path:
    """Return a table with other names and an additional column."""
    lines = small_csv.read_text().splitlines()[1:]
    file = tmp_path / "renamed.csv"
    file.write_text("\n".join(["id,activity,x,y,comment", *(f"{line},text" for line in lines)]) + "\n")
    return file


OPTIONS = ("--bag", "id", "--label", "activity", "--features", "x,y")


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "-m", "set-kernel-svm"),
        ("compare", "--models", "set-kernel-svm", "--solvers", "highs", "--folds", "2", "--jobs", "1"),
        ("inspect", "-m", "set-kernel-svm"),
    ],
)
def test_columns_are_named(run, renamed: Path, command: tuple[str, ...]) -> None:
    outcome = run(command[0], renamed, *command[1:], *OPTIONS)
    assert outcome.code == 0, outcome.err


def test_an_evaluation_prints_the_names_in_its_command(run, renamed: Path) -> None:
    shown = run("evaluate", renamed, "-m", "miles", "--protocol", "2", "--set", "lam=0.1", "--no-store", *OPTIONS).out
    assert shown.strip().endswith("--bag id --label activity --features x,y")


def test_a_prediction_names_the_columns(run, renamed: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    assert run("fit", renamed, "-m", "set-kernel-svm", *OPTIONS, "--save", model).code == 0
    rows = run("predict", model, renamed, "--bag", "id", "--label", "activity", "--features", "y,x").out.splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == [f"b{k}" for k in range(8)]
    assert rows[1:] == run("predict", model, renamed, *OPTIONS).out.splitlines()[1:]
