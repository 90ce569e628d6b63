"""Fixtures that run the command line in this process or in a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

import milopt.cli
from milopt.cli.app import app

SCHEMAS = Path(milopt.cli.__file__).parent / "schemas"

SOCP = '''
"""A model whose program is an SOCP: the norm of the function is bounded instead of penalised."""

from milopt import RBF, BagClassifier, Kernel, Program, bag_mean


class BallModel(BagClassifier):
    """Smallest hinge loss of a function in a ball."""

    radius: float = 5.0
    kernel: Kernel = RBF()

    def declare(self, bags, y, weight):
        program = Program("ball")
        f = program.function("f", self.kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(weight @ slack)
        program.subject_to(y * (bag_mean(f(bags)) + b) >= 1 - slack, name="margin")
        program.subject_to(f.norm() <= self.radius, name="ball")
        program.score(lambda new: bag_mean(f(new)) + b, instances=lambda x: f(x) + b)
        return program


class Broken(BallModel):
    """Raises an exception that milopt does not expect."""

    def declare(self, bags, y, weight):
        raise ZeroDivisionError("nothing can be divided by nothing")
'''


class CommandResult:
    """Exit code and output of a command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def json(self, command: str) -> dict[str, Any]:
        """Return the JSON result; check it against the schema of the command, and for NaN and infinity."""
        assert self.code in (0, 3), self.err
        data = json.loads(self.out, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))
        jsonschema.validate(data, json.loads((SCHEMAS / f"{command}.json").read_text()))
        return data

    def sentence(self) -> str:
        """Return the sentence of an error; check that nothing else was printed."""
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("Error: ")
        return lines[0].removeprefix("Error: ")


Run = Callable[..., CommandResult]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove environment variables that change the output."""
    for name in ("MILOPT_TRACEBACK", "MILOPT_DATA", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run() -> Run:
    """Return a function that runs a command in this process: `run("fit", "musk1", ...)`."""

    def run_command(*arguments: object) -> CommandResult:
        result = CliRunner().invoke(app, list(map(str, arguments)))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return CommandResult(result.exit_code, result.stdout, result.stderr)

    return run_command


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts a command in a new process group."""

    def start_command(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "milopt.cli", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
            start_new_session=True,
        )

    return start_command


@pytest.fixture
def own_models(tmp_path: Path) -> Path:
    """Return a file with models of a user."""
    file = tmp_path / "own.py"
    file.write_text(SOCP)
    return file


@pytest.fixture
def small_csv(tmp_path: Path) -> Path:
    """Return a file with eight bags of two instances in the plane; the second half of the bags is positive."""
    lines = ["bag,label,f0,f1"]
    for bag in range(8):
        label = int(bag >= 4)
        lines += [f"b{bag},{label},{0.1 * bag},{0.3}", f"b{bag},{label},{label + 0.05 * bag},{label - 0.02 * bag}"]
    file = tmp_path / "small.csv"
    file.write_text("\n".join(lines) + "\n")
    return file
