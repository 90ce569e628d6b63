"""JSON results of every command whose results `milopt report` shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from milopt.cli.app import app

COMMANDS = {
    "fit": ("fit", "examples/bags.csv", "--model", "mi-svm", "--set", "C=10"),
    "one step": ("fit", "examples/bags.csv", "--model", "miles"),
    "compare": (
        *("compare", "examples/bags.csv", "--models", "miles,set-kernel-svm"),
        *("--solvers", "highs,libsvm", "--folds", "2", "--jobs", "1"),
    ),
    "evaluate": (
        *("evaluate", "examples/bags.csv", "--model", "miles,ls-svm,set-kernel-svm"),
        *("--protocol", "1x2", "--grid", "scale=none", "--no-store"),
    ),
}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the JSON results of the commands, by name; evaluation and comparison also for a second data set."""
    folder = tmp_path_factory.mktemp("results")
    written: dict[str, Path] = {}

    def write(name: str, text: str) -> None:
        written[name] = folder / f"{name}.json"
        written[name].write_text(text)

    for name, command in COMMANDS.items():
        words = [str(ROOT / word) if word.startswith("examples/") else word for word in command]
        write(name, _run(*words))
    for name in ("evaluate", "compare"):
        other: dict[str, Any] = json.loads(written[name].read_text()) | {"data": "other", "digest": "other"}
        write(f"{name} other", json.dumps(other))
    write("rank", _run("rank", str(written["evaluate"]), str(written["evaluate other"])))
    return written


def _run(*words: str) -> str:
    """Return the JSON result of a command."""
    outcome = CliRunner().invoke(app, [*words, "--json"])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout
