"""`milopt --help` is quick, for it imports nothing heavy, and every command has a help of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = ("compare", "fit", "predict", "evaluate", "rank", "inspect", "models", "solvers", "data")


def test_help_loads_at_most_three_times_as_many_modules_as_numpy() -> None:
    """`benchmarks/help_time.py` compares the seconds, which depend on the machine."""
    assert modules_of("import milopt.cli.app") > modules_of("pass")
    help_page = "import runpy\nsys.argv = ['milopt', '--help']\nrunpy.run_module('milopt.cli', run_name='__main__')"
    assert modules_of(help_page) <= 3 * modules_of("import numpy")


def modules_of(code: str) -> int:
    """How many modules a process has loaded at its end."""
    last = "import atexit, sys\natexit.register(lambda: print(len(sys.modules), file=sys.stderr))\n"
    done = subprocess.run([sys.executable, "-c", last + code], capture_output=True, text=True, check=True)
    return int(done.stderr)


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
