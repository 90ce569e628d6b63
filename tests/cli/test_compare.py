"""`milopt compare`: rows are printed as soon as they are finished, and remain after Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest


def test_the_table_has_every_model_solver_and_reason(run, small_csv: Path) -> None:
    outcome = run("compare", small_csv, "--solvers", "highs,clarabel,libsvm", "--folds", 2, "--jobs", 1)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    for word in ("kind", "rows", "columns", "objective", "certificate", "iter.", "seconds", "accuracy"):
        assert word in lines[0]
    refused = [line.split()[:2] for line in lines if " not supported [" in line]
    models = ("mi-svm", "miles", "miordm", "safe", "shapelet-boost")
    assert refused == [[model, "libsvm"] for model in models]
    assert any(line.startswith("[1] libsvm only solves ") for line in lines)
    assert sum(" solvers agree: " in line or "different stationary points" in line for line in lines) == 6
    assert outcome.err == ""


def test_solvers_that_are_not_installed_are_listed_below_the_table(run, small_csv: Path, monkeypatch) -> None:
    from milopt.solvers.ecos.solver import ECOS
    from milopt.solving.solver import Availability

    monkeypatch.setattr(ECOS, "availability", lambda self: Availability(False, None, "pip install ecos"))
    arguments = ("compare", small_csv, "--models", "set-kernel-svm", "--folds", 2, "--jobs", 1)
    outcome = run(*arguments)
    assert outcome.code == 0, outcome.err
    note = next(line for line in outcome.out.splitlines() if line.startswith("not installed: "))
    assert "ecos" in note.partition(";")[0]
    assert note.endswith("`milopt solvers` shows how to install them")
    # Solvers that the user did not ask for are not missed.
    assert "not installed" not in run(*arguments, "--solvers", "highs").out


def test_json_has_the_cells_and_the_agreement(run, small_csv: Path) -> None:
    outcome = run(
        "compare", small_csv, "--models", "miles,set-kernel-svm", "--folds", 2, "--set", "C=10", "--jobs", 1, "--json"
    )
    result = outcome.json("compare")
    assert {cell["solver"] for cell in result["cells"]} >= {"highs", "clarabel", "native", "libsvm"}
    assert [agreement["agree"] for agreement in result["agreement"]] == [True, True]
    assert result["settings"] == {"C": "10.0"}


def test_an_unknown_hyper_parameter_suggests_similar_names(run, small_csv: Path) -> None:
    outcome = run("compare", small_csv, "--models", "miles", "--set", "lm=1")
    assert outcome.code == 2
    assert '"lam"' in outcome.sentence()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "solver=ecos"), '"solver" is not set by --set'),
        (("--set", "random_state=3"), '"random_state" is not set by --set'),
        (("--set", "options=none"), '"options" is not set by --set'),
        (("--solvers", ""), "contains no name"),
        (("--models", ""), "contains no name"),
        (("--folds", 99), "99 folds"),
        (("--models", "set-kernel-svm", "--set", "C=-1"), "C must be a positive number"),
    ],
)
def test_mistakes_print_one_sentence_and_no_table(run, small_csv: Path, arguments, words: str) -> None:
    outcome = run("compare", small_csv, *arguments)
    assert outcome.code == 2
    assert words in outcome.sentence()


def test_a_model_of_the_user_is_compared_in_processes(run, own_models: Path, small_csv: Path) -> None:
    outcome = run(
        "compare", small_csv, "--models", f"{own_models}:BallModel", "--solvers", "clarabel,highs", "--folds", 2
    )
    assert outcome.code == 0, outcome.out + outcome.err
    assert "highs     SOCP" in outcome.out
    assert "only clarabel has a certified point" in outcome.out


def test_a_cell_without_certificate_exits_with_3(run, small_csv: Path) -> None:
    limit = ("--time-limit", 1e-6, "--folds", 2, "--jobs", 1)
    outcome = run("compare", small_csv, "--models", "mi-svm", "--solvers", "cvxpy:OSQP", *limit)
    assert outcome.code == 3, outcome.err
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("jobs", "to_all_processes"),
    [(1, False), (2, True)],
    ids=["signal to the command only", "signal to the command and its workers"],
)
def test_ctrl_c_leaves_the_finished_rows(start, jobs: int, to_all_processes: bool) -> None:
    # Set-kernel SVMs are fast; MI-SVM with Pyomo takes most of a minute.
    models, solvers = "set-kernel-svm,mi-svm", "highs,clarabel,pyomo:highs"
    process = start("compare", "musk1", "--models", models, "--solvers", solvers, "--jobs", jobs)
    assert process.stdout is not None
    first = [process.stdout.readline() for _ in range(3)]
    (os.killpg if to_all_processes else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == ""
    rows = [line.split()[:2] for line in [*first, *out.splitlines()]]
    assert rows[1:3] == [["set-kernel-svm", "highs"], ["set-kernel-svm", "clarabel"]]
    assert ["mi-svm", "pyomo:highs"] not in rows
    assert "interrupted after" in out.splitlines()[-1]
    assert not running_processes(process.pid)


def running_processes(group: int) -> list[str]:
    """Return the processes of a group that have not ended within a minute."""
    running: list[str] = []
    for _ in range(1200):
        listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
        lines = [line.split(maxsplit=2) for line in listed.splitlines()]
        running = [line[2] for line in lines if line[0] == str(group) and not line[1].startswith("Z")]
        if not running:
            break
        time.sleep(0.05)
    return running
