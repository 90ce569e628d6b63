"""Text in reStructuredText: titles, tables, escapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"([\\*|])|(?<=\w)_(?=\W|$)")


def title(text: str, underline: str = "=") -> str:
    """Return a title with its underline and an empty line."""
    return f"{text}\n{underline * len(text)}\n\n"


def escape(text: str) -> str:
    """Escape the characters of plain text that reStructuredText would read as markup; backticks stay code."""
    return _MARKUP.sub(lambda match: "\\" + match[0], text)


def plain_text(docstring: str) -> str:
    """Return the paragraphs of a plain text: indented ones as literal blocks, those that begin with `*` as lists."""
    paragraphs = []
    for paragraph in docstring.strip().split("\n\n"):
        if paragraph.startswith("    "):
            paragraphs.append("::\n\n" + paragraph)
        elif paragraph.startswith("* "):
            paragraphs.append("\n".join(line[:2] + escape(line[2:]) for line in paragraph.splitlines()))
        else:
            paragraphs.append(escape(paragraph))
    return "\n\n".join(paragraphs) + "\n\n"


def code(text: str) -> str:
    """Return a text as code."""
    return f"``{text}``"


def codes(texts: Iterable[str]) -> str:
    """Return texts as code, separated by commas; a dash if there are none."""
    return ", ".join(map(code, texts)) or "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], widths: str = "auto") -> str:
    """Return a table whose cells are reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [header, *rows]:
        for k, cell in enumerate(row):
            first, *others = (cell or "–").split("\n")
            lines.append(f"   {'* -' if k == 0 else '  -'} {first}")
            lines += [f"       {line}" if line else "" for line in others]
    return "\n".join(lines) + "\n\n"


def contents(pages: Iterable[str], hidden: bool = False) -> str:
    """Return a table of contents of pages."""
    options = ["   :hidden:"] if hidden else ["   :maxdepth: 1"]
    return "\n".join([".. toctree::", *options, "", *(f"   {page}" for page in pages)]) + "\n\n"
