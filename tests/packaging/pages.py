"""Run the code and the commands of a Markdown page, and compare their output with the text on the page."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CODE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)
COMMANDS = re.compile(r"```sh\n(milopt .*?)\n```\n(?:\n```text\n(.*?)```)?", re.DOTALL)

BLOCK = re.compile(r"^```(\S+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""Any block of a page, with its language or its directive."""

NOT_EXECUTED = re.compile(r"^```sh not-executed\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""Block of commands that are not executed."""
LIST_ITEM = re.compile(r"\s*([*+-]|\d+\.) |\s")
"""Beginning of a line of a list."""

VOLATILE_LINES = ("certificate", "iterations", "seconds", "versions")
"""First words of report lines whose digits depend on the machine: rounding errors, iterations, times, versions."""


def code_of(page: Path) -> list[tuple[str, str]]:
    """Return the Python blocks of a page, each with the output that is stated below it."""
    return CODE.findall(page.read_text(encoding="utf-8"))


def commands_of(page: Path) -> list[tuple[str, str]]:
    """Return the blocks of milopt commands of a page, each with the output that is stated below it."""
    return COMMANDS.findall(page.read_text(encoding="utf-8"))


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return all fenced blocks of a page, each with its language; directives have braces around their name."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands_not_executed(page: Path) -> list[str]:
    """Return the milopt commands of a page that are not executed; a command may continue on the next line."""
    blocks = NOT_EXECUTED.findall(page.read_text(encoding="utf-8"))
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith("milopt ")]


def indented_blocks_of(page: Path) -> list[str]:
    """Return the first lines of all indented blocks of a page that do not belong to a list."""
    text = re.sub(r"^```.*?^```$", "```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found, last, is_after_blank = [], "", True
    for line in text.splitlines():
        if line.startswith("    ") and is_after_blank and not LIST_ITEM.match(last):
            found.append(line)
        is_after_blank = not line.strip()
        last = line if line.strip() else last
    return found


def first_command_of(page: Path) -> str:
    """Return the text of the first block of shell commands of a page."""
    return next(text for language, text in blocks_of(page) if language == "sh")


def check_code(page: Path) -> None:
    """Run the Python blocks of a page from top to bottom, and compare what they print."""
    names: dict[str, object] = {}
    for code, expected in code_of(page):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, str(page), "exec"), names)  # code of this project only
        assert output.getvalue() == expected


def check_commands(commands: str, expected: str, folder: Path) -> None:
    """Run commands in a folder that has a link to the examples, and compare their output if one is stated."""
    link_examples(folder)
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "118", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["sh", "-ec", commands], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    if expected:
        assert comparable_words(done.stdout) == comparable_words(expected)


def link_examples(folder: Path) -> None:
    """Make the folder of the examples available as `examples` in another folder."""
    (folder / "examples").symlink_to(ROOT / "examples")


def comparable_words(text: str) -> list[list[str]]:
    """Split a text into words line by line; digits of times and of `VOLATILE_LINES` become 0."""
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
