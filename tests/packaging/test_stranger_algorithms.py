"""A scheme and a solver of another package: installed, found by their names, ranked, saved and reported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.packaging import check_stranger_algorithms
from tests.packaging.source_tree import ROOT

STRANGER = ROOT / "tests" / "stranger_algorithms"

Runs = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Install the package into a folder of its own; return what runs Python with it."""
    folder = tmp_path_factory.mktemp("stranger")
    shutil.copytree(STRANGER, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target"]
    command = [sys.executable, "-m", "pip", *install, str(folder / "site"), str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "site"), str(ROOT)])}

    def runs(*arguments: str, **variables: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return runs


@pytest.fixture(scope="module")
def found(run: Runs) -> dict[str, Any]:
    """Run the script that uses the package."""
    result: dict[str, Any] = json.loads(run(str(Path(__file__).with_name("use_stranger_algorithms.py"))))
    assert Path(result["from"]).parent.parent.name == "site"
    return result


def test_the_scheme_runs_by_its_name_and_keeps_the_best_end(found: dict[str, Any]) -> None:
    restarts, once = found["restarts"], found["ccp"]
    assert (restarts["scheme"], restarts["termination"], restarts["point"]) == (
        "random_restarts",
        "stationary",
        "certified",
    )
    assert restarts["objective"] < once["objective"] * (1 - 1e-6)
    assert found["fitted"]["scheme"] == "random_restarts"


def test_the_steps_of_all_restarts_are_in_the_history(found: dict[str, Any]) -> None:
    restarts = found["restarts"]
    assert restarts["steps"] >= 5 + found["ccp"]["steps"]
    assert restarts["seconds"] == sorted(restarts["seconds"])
    assert 0 < restarts["solve"] <= restarts["total"]


def test_the_scheme_is_saved_by_its_name(found: dict[str, Any]) -> None:
    assert found["loaded"] == "random_restarts"
    assert found["kept"] == "RandomRestarts(restarts=2, seed=0)"


def test_the_solver_is_chosen_by_auto_where_it_ranks_first(found: dict[str, Any]) -> None:
    small = found["small"]
    assert (small["solver"], small["attempts"], small["point"]) == ("proxqp", ["proxqp"], "certified")
    assert small["objective"] == pytest.approx(found["clarabel"]["objective"], abs=1e-6)


def test_auto_does_not_choose_it_elsewhere(found: dict[str, Any]) -> None:
    assert found["large"]["solver"] == "clarabel"
    assert found["linear"]["solver"] == "highs"


def test_a_time_limit_that_it_cannot_keep_is_told_and_makes_auto_prefer_others(found: dict[str, Any]) -> None:
    assert found["limited"]["solver"] == "proxqp"
    assert found["warnings"] == [
        "proxqp may take longer than the time limit of 60 s: ProxQP has no setting for a time limit."
    ]
    assert found["automatic within a limit"]["solver"] == "clarabel"


def test_the_command_line_lists_completes_and_runs_them(run: Runs) -> None:
    assert "random_restarts" in run("-m", "milopt.cli", "schemes")
    assert "ProxQP has no setting for a time limit" in " ".join(run("-m", "milopt.cli", "solvers").split())
    line = "milopt fit musk1 --scheme ran"
    complete = {"_MILOPT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "4"}
    assert run("-m", "milopt.cli", **complete).split() == ["random_restarts"]
    fit = ["fit", "musk1", "--model", "mi-svm", "--scheme", "random_restarts", "--json"]
    report = json.loads(run("-m", "milopt.cli", *fit))
    assert report["scheme"] == "random_restarts"
    assert report["point"] == "certified"
    assert len(report["history"]) > 6
    assert report["seconds"]["scheme"] > 0


def test_they_pass_the_checks_for_extensions(run: Runs) -> None:
    found = json.loads(run("-W", "ignore", str(Path(__file__).with_name("check_stranger_algorithms.py"))))
    assert found["solver"] >= 60
    assert set(found["excepted"]) | set(found["unneeded"]) == set(check_stranger_algorithms.EXCEPTIONS)
    assert "ProxQP has no setting for a time limit" in found["time limit"]
    assert found["scheme"] >= 17
    assert "saved by its name" in found["passed by the scheme"]


def test_no_file_of_milopt_names_them() -> None:
    for path in (ROOT / "milopt").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "random_restarts" not in text, path
        assert '"proxqp"' not in text, path
