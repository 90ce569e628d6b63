"""Sphinx extension that prepares docstrings: formulas become literal text, foreign members are left out.

The docstrings of milopt show programs in plain text as indented paragraphs, which `help()` prints as they are. In
reStructuredText an indented paragraph is a quotation, whose lines are joined and whose bars are read as markup.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

_UNDERLINE = re.compile(r"-{3,}\s*$")
_BAR_OUTSIDE_CODE = re.compile(r"\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")
"""A bar that is followed by an even number of backticks on its line."""
_LIST_ITEM = re.compile(r"(\* |- |\d+\. |\.\. )")


def mark_formulas(lines: list[str]) -> list[str]:
    """Return the lines of a docstring, with `::` above every indented paragraph before its first section."""
    end = next((k - 1 for k, line in enumerate(lines) if _UNDERLINE.match(line)), len(lines))
    marked: list[str] = []
    last_text = ""
    for k, line in enumerate(lines):
        starts_paragraph = bool(line.strip()) and (not marked or not marked[-1].strip())
        is_quotation = line.startswith("    ") and last_text and not last_text.startswith(" ")
        is_formula = starts_paragraph and is_quotation and not _LIST_ITEM.match(last_text)
        if k < end and is_formula and not last_text.endswith("::"):
            marked += ["::", ""]
        marked.append(line)
        if line.strip():
            last_text = line
    return marked


def escape_bars(lines: list[str]) -> list[str]:
    """Return the lines of a docstring with absolute values such as |e| escaped, except in code and before examples.

    Indented text before the first section is a literal block after `mark_formulas`.
    """
    escaped: list[str] = []
    in_sections = in_examples = False
    for line in lines:
        in_sections = in_sections or bool(_UNDERLINE.match(line))
        in_examples = in_examples or line == "Examples"
        is_literal = in_examples or (line.startswith("    ") and not in_sections)
        escaped.append(line if is_literal else _BAR_OUTSIDE_CODE.sub(r"\\|", line))
    return escaped


def prepare_docstring(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Change the lines of a docstring in place, before numpydoc reads its sections."""
    lines[:] = escape_bars(mark_formulas(lines))


def skip_foreign_member(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: Any) -> bool | None:
    """Leave out methods that classes inherit from other packages, such as `set_params` of scikit-learn."""
    function = getattr(obj, "fget", obj)
    module = getattr(function, "__module__", None) or ""
    return True if inspect.isroutine(function) and not module.startswith("milopt") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions of this module."""
    # numpydoc's own function has the priority 500.
    app.connect("autodoc-process-docstring", prepare_docstring, priority=400)
    app.connect("autodoc-skip-member", skip_foreign_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
