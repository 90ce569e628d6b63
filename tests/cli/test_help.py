"""`milopt --help` is quick, for it imports nothing heavy, and every command has a help of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMANDS = ("compare", "fit", "predict", "evaluate", "rank", "inspect", "models", "solvers", "data")


def test_help_takes_at_most_three_times_what_numpy_takes() -> None:
    commands = {"numpy": ["-c", "import numpy"], "help": ["-m", "milopt.cli", "--help"]}
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(5):
        for name, arguments in commands.items():
            best[name] = min(best[name], processor_seconds([sys.executable, *arguments]))
    assert best["help"] <= 3 * best["numpy"], best


def processor_seconds(command: list[str]) -> float:
    """What a command costs, whoever else is at work."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom milopt.cli.app import app\n"
        "assert CliRunner().invoke(app, ['fit', '--help']).exit_code == 0\n"
        "heavy = ('numpy', 'scipy', 'sklearn', 'joblib', 'highspy', 'cvxpy', 'milopt.estimator', 'milopt.data')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(run, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert "--json" in outcome.out


def test_help_names_every_command(run) -> None:
    for arguments in (("--help",), ()):
        shown = run(*arguments)
        assert all(f" {command} " in shown.out + shown.err for command in COMMANDS)
