"""The README: its test command is the one that is run on every change, and its code prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_and_the_checks_run_the_same_command() -> None:
    section = (ROOT / "README.md").read_text().split("## Tests")[1]
    stated = re.search(r"```sh\n(.+)\n```", section)
    assert stated is not None
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == stated[1]


def test_the_readmes_code_prints_what_it_says() -> None:
    text = (ROOT / "README.md").read_text()
    names: dict[str, object] = {}
    pairs = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(pairs) >= 5
    for code, stated in pairs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)  # the project's own text, nobody else's
        assert printed.getvalue() == stated
