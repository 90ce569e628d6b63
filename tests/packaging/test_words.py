"""The words of the source: phrases that readers stumbled over do not come back, and one name means one thing."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("milopt", "models", "solvers", "tests", "examples", "benchmarks")
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
    if path.relative_to(ROOT).parts[:2] not in (("milopt", "models"), ("milopt", "solvers")) and path != Path(__file__)
)
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
STUMBLING_BLOCKS = {
    "one row a bag; write one row per bag": (
        r"\b((one|two) (?!with|of)\w+|a (row|label|weight|number|value|column)) an? "
        r"(bag|class|row|solver|label|instance|column|function|step|round|entry|fold|set|file|model|point|program|pair)\b"
    ),
    "an old word": r"\b(anew|afresh|lest|whoever|whomever|nobody|amid|gladly)\b",
    "give one a bag": r"\bgive one a\b",
    "is no minimum; write is not a minimum": (
        r"(?<![Tt]here )\bis no (minimum|point|number|row|place|file|model|name|solver)\b"
    ),
}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and the strings of a Python file with their lines, or the lines of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], re.sub(r"\s+", " ", token.string)


@pytest.mark.parametrize("pattern", STUMBLING_BLOCKS.values(), ids=STUMBLING_BLOCKS.keys())
def test_phrase_does_not_occur(pattern: str) -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{line}: {text[:120]}"
        for path in [*FILES, *PAGES]
        for line, text in prose(path)
        if re.search(pattern, text)
    ]
    assert hits == []


def test_no_class_name_is_defined_twice() -> None:
    homes = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_two_modules_of_the_library_are_called_names() -> None:
    assert len([path for path in FILES if path.name == "names.py" and "tests" not in path.parts]) <= 1
