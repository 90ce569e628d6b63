"""`milopt rank`: the table of `milopt.rank` over files that `milopt evaluate --json` wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MODELS, TWO_FOLDS = "set-kernel-svm,miles,odm", ("--protocol", "1x2", "--json")


@pytest.fixture
def files(run, small_csv: Path, tmp_path: Path) -> list[Path]:
    """Return evaluations of three models on two data sets; the second data set is a copy of the first."""
    written = []
    for k, seed in enumerate((0, 1)):
        document = run(
            "evaluate", small_csv, "-m", MODELS, "--protocol", "1x2", "--grid", "scale=none", "--seed", seed, "--json"
        )
        plain = document.json("evaluate") | {"data": f"set {k}"}
        written.append(tmp_path / f"{k}.json")
        written[-1].write_text(json.dumps(plain))
    return written


def test_ranks_are_printed_plotted_and_written_as_json(run, files, tmp_path: Path) -> None:
    shown = run("rank", *files, "--control", "odm", "--plot", tmp_path / "ranks.png")
    assert shown.code == 0, shown.err
    assert "odm (control)" in shown.out
    assert "Friedman: chi-squared" in shown.out
    assert (tmp_path / "ranks.png").stat().st_size > 5000
    ranking = run("rank", *files, "--json").json("rank")
    assert ranking["test"] == "Nemenyi"
    assert sum(model["mean_rank"] for model in ranking["models"]) == pytest.approx(6)


def test_a_file_of_one_model_can_be_renamed(run, small_csv: Path, tmp_path: Path) -> None:
    arguments = []
    for lam in (0.1, 1.0, 10.0):
        for k in range(2):
            document = run(
                "evaluate",
                small_csv,
                "-m",
                "odm",
                "--protocol",
                "1x2",
                "--set",
                f"lam={lam}",
                "--grid",
                "bias=none",
                "--json",
            )
            path = tmp_path / f"{lam}-{k}.json"
            path.write_text(json.dumps(document.json("evaluate") | {"data": f"set {k}"}))
            arguments.append(f"lam {lam:g}={path}")
    ranking = run("rank", *arguments, "--control", "lam 1", "--json").json("rank")
    assert {model["model"] for model in ranking["models"]} == {"lam 0.1", "lam 1", "lam 10"}


def test_mistakes_print_one_sentence(run, files, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("no JSON")
    (tmp_path / "list").write_text("[]")
    for arguments, words in (
        ((tmp_path / "nothing",), "cannot be read"),
        ((tmp_path / "words",), "is not JSON"),
        ((tmp_path / "list",), "is not an evaluation"),
        ((f"one={files[0]}",), "the name 'one' cannot be used"),
        ((files[0],), "3 models on 1 data sets"),
        ((*files, "--control", "od"), '"odm"'),
        ((*files, "--plot", tmp_path / "picture.txt"), "picture"),
    ):
        outcome = run("rank", *arguments)
        assert outcome.code == 2, words
        assert words in outcome.sentence()
