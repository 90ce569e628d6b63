"""`--format`: every command that prints a table prints it as text, CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import milopt
from tests.pdflatex import MISSING, compile_latex


@pytest.fixture
def model_file(small_csv: Path, tmp_path: Path) -> Path:
    """Return the file of a fitted model."""
    data, file = milopt.load_data(small_csv), tmp_path / "model.milopt"
    milopt.models.SetKernelSVM().fit(data.bags, data.labels).save(file)
    return file


@pytest.fixture
def commands(small_csv: Path, model_file: Path, tmp_path: Path, run) -> dict[str, tuple[object, ...]]:
    """Return the arguments of every command that prints a table, by name."""
    evaluation = tmp_path / "evaluation.json"
    other = tmp_path / "other_set.csv"
    other.write_text(small_csv.read_text().replace("0.3", "0.4"))
    options = ("-m", "set-kernel-svm,miles,ls-svm", "--protocol", "1x2", "--no-store", "--set", "scale=minmax01")
    evaluate = ("evaluate", small_csv, other, *options)
    evaluation.write_text(run(*evaluate, "--json").out)
    return {
        "compare": ("compare", small_csv, "--models", "miles", "--solvers", "highs,libsvm", "--folds", 2, "--jobs", 1),
        "evaluate": evaluate,
        "rank": ("rank", evaluation, "--control", "miles"),
        "predict": ("predict", model_file, small_csv),
        "fit": ("fit", small_csv, "-m", "set-kernel-svm"),
        "models": ("models", "miles", "mi-svm"),
        "solvers": ("solvers",),
        "schemes": ("schemes",),
        "data": ("data", "--no-sizes"),
    }


NAMES = ("compare", "evaluate", "rank", "predict", "fit", "models", "solvers", "schemes", "data")


@pytest.mark.parametrize("name", NAMES)
def test_every_table_is_printed_in_every_format(run, commands, name: str) -> None:
    latex = run(*commands[name], "--format", "latex").out.splitlines()
    table = [line for line in latex if not line.startswith("%")]
    assert table[0].startswith(r"\begin{tabular}{@{}l")
    assert (table[1], table[3], table[-2:]) == (r"\toprule", r"\midrule", [r"\bottomrule", r"\end{tabular}"])
    columns = re.sub(r"p\{[^}]*\}", "p", table[0].split("{@{}", 1)[1].removesuffix("@{}}"))
    assert all(row.replace(r"\&", "").count("&") == len(columns) - 1 for row in (table[2], *table[4:-2]))

    shown = run(*commands[name], "--format", "csv").out
    rows = list(csv.reader(io.StringIO(shown)))
    assert len({len(row) for row in rows}) == 1

    markdown = [line for line in run(*commands[name], "--format", "markdown").out.splitlines() if line.startswith("|")]
    assert set(markdown[1]) <= set("|-: ")
    assert len(markdown) - 2 == len(table) - 6
    if name != "fit":
        # CSV has one row per number of a fit.
        assert len(markdown) - 2 == len(rows) - 1


def test_csv_has_the_numbers_of_the_json_result(run, commands) -> None:
    rows = list(csv.DictReader(io.StringIO(run(*commands["evaluate"], "--format", "csv").out)))
    expected = run(*commands["evaluate"], "--json").json("evaluate")["evaluations"]
    assert [(row["data"], row["model"], float(row["accuracy"])) for row in rows] == [
        (report["data"], row["model"], row["accuracy"]) for report in expected for row in report["table"]
    ]


def test_csv_of_a_fit_has_numbers_that_are_not_rounded(run, commands) -> None:
    rows = {
        row["entry"]: row["value"] for row in csv.DictReader(io.StringIO(run(*commands["fit"], "--format", "csv").out))
    }
    expected = run(*commands["fit"], "--json").json("fit")
    assert float(rows["objective"]) == expected["objective"]
    assert len(rows["objective"]) > 12
    assert rows["data.bags"] == str(expected["data"]["bags"])
    assert "certificate.gap" in rows


def test_a_file_of_several_data_sets_is_ranked_with_wins_ties_and_losses(run, commands) -> None:
    ranking = run(*commands["rank"], "--json").json("rank")
    assert ranking["data"] == ["small", "other_set"]
    counts = {model["model"]: model["wins_ties_losses"] for model in ranking["models"]}
    assert counts.pop("miles") is None
    assert [sum(count) for count in counts.values()] == [2, 2]
    assert "wins/ties/losses" in run(*commands["rank"]).out


def test_notes_are_comments_in_latex_and_on_stderr_beside_csv(run, commands) -> None:
    outcome = run(*commands["rank"], "--format", "csv")
    assert "Friedman" in outcome.err
    assert "Friedman" not in outcome.out
    assert any(line.startswith("% Friedman") for line in run(*commands["rank"], "--format", "latex").out.splitlines())


def test_the_tables_of_a_summary_are_printed_in_every_format(run, small_csv: Path) -> None:
    command = ("inspect", small_csv, "-m", "miles", "--tables")
    assert run(*command, "latex").out.count(r"\begin{tabular}") == 4
    assert run(*command, "markdown").out.startswith("variables\n\n| name | size | bounds |\n")
    assert run(*command, "csv").out.startswith("name,size,bounds\nu,16,0 .. inf\n")


def test_the_printed_command_names_all_data_sets(run, commands) -> None:
    shown = run(*commands["evaluate"]).out.strip().splitlines()[-1]
    small, other = (str(path) for path in commands["evaluate"][1:3])
    assert shown.startswith(f"The same table: milopt evaluate {small} {other} --model set-kernel-svm,miles,ls-svm ")


def test_a_report_shows_every_data_set_of_an_evaluation(run, commands, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = run("report", commands["rank"][1], "-o", page)
    assert outcome.code == 0, outcome.err
    text = page.read_text()
    assert {"small", "other_set"} <= set(text.replace("<", " ").replace(",", " ").split())
    assert "2 results of milopt" in text


def test_a_report_has_one_ranking_of_the_same_data_sets(run, commands, tmp_path: Path) -> None:
    page, ranking = tmp_path / "page.html", tmp_path / "ranking.json"
    ranking.write_text(run(*commands["rank"], "--json").out)
    assert run("report", commands["rank"][1], ranking, "-o", page).code == 0
    assert page.read_text().count("<h2>Ranks over") == 1
    assert "3 results of milopt" in page.read_text()


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "pdflatex is there")
def test_every_table_compiles(run, commands, small_csv: Path, tmp_path: Path) -> None:
    every = commands | {"models": ("models",)}
    texts = [run(*every[name], "--format", "latex").out for name in NAMES]
    texts.append(run("inspect", small_csv, "-m", "miles", "--tables", "latex").out)
    assert all(text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 0 for text in texts)
    preamble = r"\usepackage{booktabs}\usepackage[a4paper,margin=2cm]{geometry}\setlength{\parindent}{0pt}"
    compile_latex("\n\n".join([r"\small", *texts]), tmp_path, preamble)
