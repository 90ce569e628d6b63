"""Shell completion of solvers, models, data sets and comma-separated lists."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from milopt.cli.arguments import complete_data, complete_model, complete_solver


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("milopt fit musk1 --solver hi", {"highs"}),
        ("milopt fit musk1 --model set", {"set-kernel-svm"}),
        ("milopt compare --solvers highs,cla", {"highs,clarabel"}),
        ("milopt fit musk", {"musk1", "musk2"}),
        ("milopt ins", {"inspect"}),
    ],
)
def test_the_shell_completes_names(words: str, expected: set[str]) -> None:
    environment = {
        "_MILOPT_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from milopt.cli import main; main()"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert set(done.stdout.split()) == expected


def test_a_missing_data_folder_completes_nothing(small_csv, monkeypatch) -> None:
    monkeypatch.setenv("MILOPT_DATA", "/nonexist")
    assert complete_data("musk") == []
    assert complete_data(str(small_csv)[:-3]) == [str(small_csv)]


def test_completion_covers_families_and_ignores_case() -> None:
    assert "cvxpy:SCS" in complete_solver("cvxpy:s")
    assert complete_model("MI-") == ["mi-svm"]


def test_files_and_names_are_completed(small_csv, monkeypatch) -> None:
    assert complete_data(str(small_csv)[:-3]) == [str(small_csv)]
    monkeypatch.chdir(small_csv.parent)
    assert "small.csv" in complete_data("sma")
    assert complete_data("/nowhere/at/all") == []
