"""The README: its test command is the one that is run on every change, and its commands and code print what it says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"```sh\n(milopt .*?)\n```\n(?:\n```text\n(.*?)```)?", TEXT, re.DOTALL)


def test_the_readme_and_the_checks_run_the_same_command() -> None:
    stated = re.search(r"```sh\n(.+)\n```", TEXT.split("## Tests")[1])
    assert stated is not None
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == stated[1]


def test_the_readmes_code_prints_what_it_says() -> None:
    names: dict[str, object] = {}
    pairs = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", TEXT, re.DOTALL)
    assert len(pairs) >= 6
    for code, stated in pairs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)  # the project's own text, nobody else's
        assert printed.getvalue() == stated


@pytest.mark.parametrize(("command", "stated"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_the_readmes_commands_print_what_it_says(command: str, stated: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "118", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        shlex.split(command), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    if stated:
        assert _words(done.stdout) == _words(stated)


VOLATILE_LINES = ("certificate", "iterations", "seconds", "versions")
"""Lines of a report whose digits are those of the machine: rounding errors, the steps they cause, times, versions."""


def _words(text: str) -> list[list[str]]:
    """Split into words line by line, digits as they are; only those of times and of `VOLATILE_LINES` are masked."""
    lines, ends_in_seconds = [], False
    for line in text.splitlines():
        words = line.split()
        if words[-1:] == ["seconds"]:
            ends_in_seconds = True
        elif words and words[0] in VOLATILE_LINES:
            words = re.sub(r"\d+(\.\d+)*(e[+-]\d+)?", "0", line).replace("-", " ").split()
        elif ends_in_seconds and len(words) > 2 and re.fullmatch(r"[\d.]+", words[-1]):
            words[-1] = "0"
        lines.append(words)
    return lines


def test_stale_digits_are_found_and_times_are_not_compared() -> None:
    head, row = "model solver accuracy seconds\n", "  safe highs 0.847 ± 0.052 {}\n"
    stated = head + row.format("9.4") + "objective 1.25\nseconds solve 0.4, total 3\ncertificate gap 8.1e-14"
    same = head + row.format("31.7") + "objective 1.25\nseconds solve 0.0012, total 3\ncertificate gap 7e-15"
    assert _words(stated) != _words(same.replace("0.847", "0.858"))
    assert _words(stated) != _words(same.replace("0.052", "0.048"))
    assert _words(stated) != _words(same.replace("1.25", "1.26"))
    assert _words(stated) == _words(same.replace("7e-15", "7.5e-15"))


def test_the_readme_has_commands_for_everyone() -> None:
    assert len(COMMANDS) >= 4
