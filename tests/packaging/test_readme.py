"""The README's test command is the one that is run on every change."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_and_the_checks_run_the_same_command() -> None:
    section = (ROOT / "README.md").read_text().split("## Tests")[1]
    stated = re.search(r"```sh\n(.+)\n```", section)
    assert stated is not None
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == stated[1]
