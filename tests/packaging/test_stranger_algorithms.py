"""A scheme and a solver of another package: installed, found by name, ranked, saved and reported."""

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
    """Install the package into a new folder; return a function that runs Python with it."""
    folder = tmp_path_factory.mktemp("stranger")
    shutil.copytree(STRANGER, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target"]
    command = [sys.executable, "-m", "pip", *install, str(folder / "site"), str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "site"), str(ROOT)])}

    def run_python(*arguments: str, **variables: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run_python


@pytest.fixture(scope="module")
def output(run: Runs) -> dict[str, Any]:
    """Run the script that uses the package."""
    result: dict[str, Any] = json.loads(run(str(Path(__file__).with_name("use_stranger_algorithms.py"))))
    assert Path(result["from"]).parent.parent.name == "site"
    return result


def test_the_scheme_runs_by_its_name_and_keeps_the_best_result(output: dict[str, Any]) -> None:
    restarts, once = output["restarts"], output["ccp"]
    assert (restarts["scheme"], restarts["termination"], restarts["point"]) == (
        "random_restarts",
        "stationary",
        "certified",
    )
    assert restarts["objective"] < once["objective"] * (1 - 1e-6)
    assert output["fitted"]["scheme"] == "random_restarts"


def test_the_steps_of_all_restarts_are_in_the_history(output: dict[str, Any]) -> None:
    restarts = output["restarts"]
    assert restarts["steps"] >= 5 + output["ccp"]["steps"]
    assert restarts["seconds"] == sorted(restarts["seconds"])
    assert 0 < restarts["solve"] <= restarts["total"]


def test_the_scheme_is_saved_by_its_name(output: dict[str, Any]) -> None:
    assert output["loaded"] == "random_restarts"
    assert output["kept"] == "RandomRestarts(restarts=2, seed=0)"


def test_auto_chooses_the_solver_if_it_ranks_first(output: dict[str, Any]) -> None:
    small = output["small"]
    assert (small["solver"], small["attempts"], small["point"]) == ("proxqp", ["proxqp"], "certified")
    assert small["objective"] == pytest.approx(output["clarabel"]["objective"], abs=1e-6)


def test_auto_does_not_choose_the_solver_for_other_programs(output: dict[str, Any]) -> None:
    assert output["large"]["solver"] == "clarabel"
    assert output["linear"]["solver"] == "highs"


def test_a_time_limit_that_the_solver_cannot_keep_gives_a_warning_and_another_choice_of_auto(
    output: dict[str, Any],
) -> None:
    assert output["limited"]["solver"] == "proxqp"
    assert output["warnings"] == ["proxqp may exceed the time limit of 60 s: ProxQP has no setting for a time limit."]
    assert output["automatic within a limit"]["solver"] == "clarabel"


def test_the_command_line_lists_completes_and_runs_scheme_and_solver(run: Runs) -> None:
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


def test_scheme_and_solver_pass_the_checks_for_extensions(run: Runs) -> None:
    output = json.loads(run("-W", "ignore", str(Path(__file__).with_name("check_stranger_algorithms.py"))))
    assert output["solver"] >= 60
    assert set(output["excepted"]) | set(output["unneeded"]) == set(check_stranger_algorithms.EXCEPTIONS)
    assert "ProxQP has no setting for a time limit" in output["time limit"]
    assert output["scheme"] >= 17
    assert "saved by its name" in output["passed by the scheme"]


def test_no_file_of_milopt_names_scheme_or_solver() -> None:
    for path in (ROOT / "milopt").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "random_restarts" not in text, path
        assert '"proxqp"' not in text, path
