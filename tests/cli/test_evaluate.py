"""`milopt evaluate`: the table of `milopt.evaluate`, and the command that reproduces it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import milopt


def test_the_table_equals_that_of_the_python_function(run, small_csv: Path) -> None:
    outcome = run("evaluate", small_csv, "--model", "set-kernel-svm", "--protocol", "1x2", "--grid", "C=1,10", "--json")
    result = outcome.json("evaluate")
    expected = milopt.evaluate(milopt.load_data(small_csv), "set-kernel-svm", "1x2", grid={"C": (1.0, 10.0)})
    assert result["table"][0]["accuracy"] == pytest.approx(expected.table[0].accuracy)
    assert result["protocol"] == "1x2"


def test_finished_tasks_are_stored_unless_no_store_is_given(run, small_csv: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("evaluate", small_csv, "-m", "miles", "--protocol", "1x2", "--set", "lam=0.1")
    assert run(*command, "--no-store").code == 0
    assert not (tmp_path / "milopt-results").exists()
    assert run(*command, "--stride", "2").code == 0
    assert len(list((tmp_path / "milopt-results").glob("*.json"))) == 2
    again = run(*command, "--stride", "2")
    assert "--set lam=0.1 --stride 2" in again.out


def test_a_stored_evaluation_is_resumed(run, small_csv: Path, tmp_path: Path) -> None:
    command = ("evaluate", small_csv, "-m", "miles", "--protocol", "1x2", "--set", "lam=0.1", "--store", tmp_path / "s")
    first = run(*command, "--json").json("evaluate")
    second = run(*command, "--json").json("evaluate")
    assert (first["resumed"], second["resumed"]) == (0, 2)
    assert second["command"].endswith(f"--store {tmp_path / 's'}")
    assert first["table"][0]["accuracy"] == second["table"][0]["accuracy"]


def test_the_printed_command_gives_the_same_table(run, small_csv: Path) -> None:
    shown = run("evaluate", small_csv, "-m", "set-kernel-svm", "--protocol", "1x2", "--set", "C=3", "--seed", 5)
    assert shown.code == 0
    command = shown.out.strip().splitlines()[-1].partition("milopt ")[2]
    again = run(*shlex.split(command))
    assert again.out.split("seconds")[0] == shown.out.split("seconds")[0]
    assert again.out.splitlines()[-1] == shown.out.splitlines()[-1]


def test_a_folder_that_is_not_writable_is_an_error_before_any_fit(run, small_csv: Path) -> None:
    outcome = run("evaluate", small_csv, "-m", "miles", "--protocol", "2", "--store", "/proc")
    assert outcome.code == 2
    assert "The results cannot be stored in /proc" in outcome.sentence()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "milse"), "miles"),
        (("-m", "miles", "--protocol", "often"), "protocol"),
        (("-m", "miles", "--solver", "ecso"), "ecos"),
        (("-m", "miles", "--grid", "lm=1,2"), "lam"),
        (("-m", "miles,mi-svm", "--set", "lm=1"), "lam"),
        (("-m", "miles,mi-svm", "--grid", "lam=1,2"), "mi-svm"),
    ],
)
def test_mistakes_print_one_sentence(run, small_csv: Path, arguments, words: str) -> None:
    outcome = run("evaluate", small_csv, *arguments)
    assert outcome.code == 2
    assert words in outcome.sentence()


def test_models_are_given_as_a_list_or_one_by_one(run, small_csv: Path) -> None:
    rest = (small_csv, "--protocol", "1x2", "--no-store", "--set", "C=1", "--json")
    for models in (("-m", "set-kernel-svm,mi-svm"), ("-m", "set-kernel-svm", "-m", "mi-svm")):
        table = run("evaluate", *rest, *models).json("evaluate")["table"]
        assert [row["model"] for row in table] == ["set-kernel-svm", "mi-svm"]


def test_a_setting_is_that_of_the_models_that_have_it(run, small_csv: Path) -> None:
    rest = ("--protocol", "1x2", "--no-store", "--json", "--set", "lam=0.1", "--set", "C=1", "--set", "kernel=linear")
    both = run("evaluate", small_csv, "-m", "miles,mi-svm", *rest).json("evaluate")
    assert [row["model"] for row in both["table"]] == ["miles", "mi-svm"]
    assert "--set lam=0.1" in both["command"]
    assert "--set C=1.0" in both["command"]


@pytest.mark.parametrize("table_format", ["text", "latex", "markdown", "csv"])
def test_a_wide_table_has_one_row_per_data_set(run, small_csv: Path, tmp_path: Path, table_format: str) -> None:
    other = tmp_path / "other_set.csv"
    other.write_text(small_csv.read_text().replace("0.3", "0.4"))
    rest = ("-m", "miles,ls-svm", "--protocol", "1x2", "--no-store", "--set", "scale=minmax01")
    outcome = run("evaluate", small_csv, other, *rest, "--wide", "--format", table_format)
    assert outcome.code == 0, outcome.err
    best = {"text": "*", "latex": r"\mathbf{", "markdown": "**", "csv": "standard error"}[table_format]
    assert best in outcome.out
    begin = {"text": "  {}  ", "latex": "{} & ", "markdown": "| {} | ", "csv": "{},"}[table_format]
    names = {"latex": r"other\_set", "markdown": r"other\_set"}
    for name in ("small", names.get(table_format, "other_set")):
        assert sum(line.startswith(begin.format(name)[:-2]) for line in outcome.out.splitlines()) == 1
    assert "--wide" in outcome.out + outcome.err


def test_a_picture_of_several_data_sets_has_one_panel_each(run, small_csv: Path, tmp_path: Path) -> None:
    other, picture = tmp_path / "other_set.csv", tmp_path / "picture.svg"
    other.write_text(small_csv.read_text().replace("0.3", "0.4"))
    options = ("-m", "miles,ls-svm", "--protocol", "1x2", "--no-store", "--set", "scale=none", "--plot", picture)
    assert run("evaluate", small_csv, other, *options).code == 0
    text = picture.read_text()
    assert text.count(">small</text>") == text.count(">other_set</text>") == text.count(">miles</text>") == 1
