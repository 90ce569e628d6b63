"""`milopt compare`: rows as they finish, and what is finished stays after Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest


def test_the_table_has_every_formulation_solver_and_reason(run, small_csv: Path) -> None:
    outcome = run("compare", small_csv, "--solvers", "highs,clarabel,libsvm", "--folds", 2, "--jobs", 1)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    for word in ("kind", "rows", "columns", "objective", "certificate", "iter.", "seconds", "accuracy"):
        assert word in lines[0]
    refused = [line.split()[:2] for line in lines if " cannot: " in line]
    every = ("mi-svm", "miles", "shapelet-boost")
    assert refused == [[model, "libsvm"] for model in every]
    assert sum(" agree, to " in line or "another stationary point" in line for line in lines) == 4
    assert outcome.err == ""


def test_the_same_as_json(run, small_csv: Path) -> None:
    said = run(
        "compare", small_csv, "--models", "miles,set-kernel-svm", "--folds", 2, "--set", "C=10", "--jobs", 1, "--json"
    )
    found = said.json("compare")
    assert {cell["solver"] for cell in found["cells"]} >= {"highs", "clarabel", "native", "libsvm"}
    assert [one["agree"] for one in found["agreement"]] == [True, True]
    assert found["settings"] == {"C": "10.0"}


def test_a_hyper_parameter_that_no_model_has_gets_near_names(run, small_csv: Path) -> None:
    outcome = run("compare", small_csv, "--models", "miles", "--set", "lm=1")
    assert outcome.code == 2
    assert '"lam"' in outcome.sentence()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "solver=ecos"), '"solver" is not set by --set'),
        (("--set", "random_state=3"), '"random_state" is not set by --set'),
        (("--set", "options=none"), '"options" is not set by --set'),
        (("--solvers", ""), "names nothing"),
        (("--models", ""), "names nothing"),
        (("--folds", 99), "99 folds"),
        (("--models", "set-kernel-svm", "--set", "C=-1"), "C must be a positive number"),
    ],
)
def test_mistakes_are_one_sentence_and_no_table(run, small_csv: Path, arguments, words: str) -> None:
    outcome = run("compare", small_csv, *arguments)
    assert outcome.code == 2
    assert words in outcome.sentence()


def test_an_own_model_is_compared_in_processes(run, own_models: Path, small_csv: Path) -> None:
    outcome = run("compare", small_csv, "--models", f"{own_models}:Ball", "--solvers", "clarabel,highs", "--folds", 2)
    assert outcome.code == 0, outcome.out + outcome.err
    assert "highs     SOCP" in outcome.out
    assert "clarabel alone has a certified point" in outcome.out


def test_a_cell_without_its_certificate_exits_3(run, small_csv: Path) -> None:
    limit = ("--time-limit", 1e-6, "--folds", 2, "--jobs", 1)
    outcome = run("compare", small_csv, "--models", "mi-svm", "--solvers", "cvxpy:OSQP", *limit)
    assert outcome.code == 3, outcome.err
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("jobs", "all_of_them"),
    [(1, False), (2, True)],
    ids=["the command, which works alone", "as a terminal does, the command and its workers"],
)
def test_ctrl_c_leaves_the_finished_rows(start, jobs: int, all_of_them: bool) -> None:
    # Set-kernel SVMs take moments; MI-SVM by Pyomo takes most of a minute.
    models, solvers = "set-kernel-svm,mi-svm", "highs,clarabel,pyomo:highs"
    process = start("compare", "musk1", "--models", models, "--solvers", solvers, "--jobs", jobs)
    assert process.stdout is not None
    first = [process.stdout.readline() for _ in range(3)]
    (os.killpg if all_of_them else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == ""
    rows = [line.split()[:2] for line in [*first, *out.splitlines()]]
    assert rows[1:3] == [["set-kernel-svm", "highs"], ["set-kernel-svm", "clarabel"]]
    assert ["mi-svm", "pyomo:highs"] not in rows
    assert "interrupted after" in out.splitlines()[-1]
    assert not alive(process.pid)


def alive(group: int) -> list[str]:
    """The processes of a group that have not ended within a minute."""
    found: list[str] = []
    for _ in range(1200):
        listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
        lines = [line.split(maxsplit=2) for line in listed.splitlines()]
        found = [line[2] for line in lines if line[0] == str(group) and not line[1].startswith("Z")]
        if not found:
            break
        time.sleep(0.05)
    return found
