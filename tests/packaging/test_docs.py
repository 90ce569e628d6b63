"""The pages in docs/: their code runs, from top to bottom of a page, and prints what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import milopt
from milopt.declaration import atoms

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md") if "```python" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_prints_what_it_says(page: str) -> None:
    names: dict[str, object] = {}
    text = (DOCS / page).read_text(encoding="utf-8")
    for code, stated in re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)  # the project's own text, nobody else's
        assert printed.getvalue() == stated


def test_the_page_on_atoms_lists_every_atom() -> None:
    table = (DOCS / "atoms.md").read_text(encoding="utf-8").partition("## Composition")[0]
    functions = {name for name in atoms.__all__ if not isinstance(getattr(atoms, name), type)}
    assert "atoms.md" in PAGES
    assert functions == {name for name in functions if f"`{name}(" in table or f"`{name}`" in table}
    assert all(hasattr(milopt, name) for name in functions)
