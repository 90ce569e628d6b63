"""Atoms of another package work like those of milopt: installed, checked, solved, certified and written to files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import milopt
from tests.packaging.source_tree import ROOT

STRANGER = ROOT / "tests" / "stranger"


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Install the package into a new folder, run its script there, and return its output."""
    folder = tmp_path_factory.mktemp("stranger")
    shutil.copytree(STRANGER, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target"]
    command = [sys.executable, "-m", "pip", *install, str(folder / "site"), str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "site"), str(ROOT)])}
    script = [sys.executable, str(Path(__file__).with_name("use_stranger_atoms.py"))]
    done = subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert Path(result["from"]).is_relative_to(folder / "site")
    return result


def optimum(name: str) -> float:
    """Return the optimum of the program of `use_stranger_atoms.py`, declared again in cvxpy."""
    random = np.random.default_rng(3)
    A, b = random.normal(size=(6, 2)), random.normal(size=6)
    x = cp.Variable(2)
    constraints = [cp.abs(x) <= 3]
    if name == "peak":
        objective = cp.norm_inf(A @ x - b) + 0.1 * cp.sum(x)
        constraints += [cp.norm_inf(x) + cp.norm_inf(x - 1) <= 2.5]
    else:
        objective = cp.sum(cp.logistic(2 * (A @ x - b))) / 2 + 0.1 * cp.norm1(x)
        constraints += [cp.logistic(0.5 * cp.norm(x - 1)) / 0.5 <= 2]
    return float(cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL"))


SOLVERS = {
    "peak": {"highs", "clarabel", "ecos", "cvxpy:SCS", "cvxpy:HIGHS", "pyomo:highs"},
    "softplus": {"clarabel", "ecos", "cvxpy:CLARABEL", "cvxpy:ECOS", "cvxpy:SCS"},
}


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_that_supports_the_cones_is_certified(name: str, output: dict[str, Any]) -> None:
    answers = output[name]["answers"]
    assert answers.keys() >= SOLVERS[name]
    assert name == "peak" or "highs" not in answers
    best = optimum(name)
    for solver, (objective, point) in answers.items():
        assert point == "certified", solver
        assert objective == pytest.approx(best, abs=1e-5), solver


def test_the_atoms_are_written_to_latex_and_to_cbf(output: dict[str, Any]) -> None:
    assert r"\operatorname{peak}_{" in output["peak"]["latex"]
    assert r"\operatorname{softplus}_{2}" in output["softplus"]["latex"]
    assert "EXP" not in output["peak"]["cbf"]
    assert output["softplus"]["cbf"].count("EXP 3") == 14


def test_no_file_of_milopt_names_the_atoms() -> None:
    folder = Path(milopt.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    assert len(texts) > 100
    assert not any("stranger_atoms" in text or "softplus" in text for text in texts)
