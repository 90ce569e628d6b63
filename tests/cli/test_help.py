"""`milopt --help` is fast, because it imports no large package, and every command has its help."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = ("compare", "fit", "predict", "evaluate", "rank", "inspect", "models", "solvers", "data")


def test_help_loads_at_most_three_times_as_many_modules_as_numpy() -> None:
    """Count modules; `benchmarks/help_time.py` compares times, which depend on the machine."""
    assert count_modules("import milopt.cli.app") > count_modules("pass")
    help_page = "import runpy\nsys.argv = ['milopt', '--help']\nrunpy.run_module('milopt.cli', run_name='__main__')"
    assert count_modules(help_page) <= 3 * count_modules("import numpy")


def count_modules(code: str) -> int:
    """Return the number of modules that a process has loaded at its end."""
    last = "import atexit, sys\natexit.register(lambda: print(len(sys.modules), file=sys.stderr))\n"
    done = subprocess.run([sys.executable, "-c", last + code], capture_output=True, text=True, check=True)
    return int(done.stderr)


def test_help_imports_no_large_package() -> None:
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


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_shows_flags_without_a_value(run, command: str) -> None:
    shown = run(*command.split(), "--help").out
    assert "--help" in shown
    assert "<bool>" not in shown
    assert "BOOLEAN" not in shown


def test_help_lists_every_command(run) -> None:
    for arguments in (("--help",), ()):
        shown = run(*arguments)
        assert all(f" {command} " in shown.out + shown.err for command in COMMANDS)
