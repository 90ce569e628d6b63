"""Sphinx extension that lets pages link to files of the repository, as they do where the repository is browsed.

Links to pages at the top of the repository become links to their copies on the site, and links to other files become
code, because the site does not have these files.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Page of the site by the name of the page at the top of the repository."""

_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def rewrite_links(text: str, folder: Path, docs: Path) -> str:
    """Return the text of a page in `folder`, whose links lead to pages of the site below `docs`."""

    def replace(link: re.Match[str]) -> str:
        words, target, anchor = link[1], link[2], link[3] or ""
        path = (folder / target).resolve()
        if path.parent == ROOT and path.name in PAGES:
            path = docs / PAGES[path.name]
        elif not path.is_relative_to(docs):
            return words if words.startswith("`") else f"{words} (`{path.relative_to(ROOT)}`)"
        return f"[{words}](/{path.relative_to(docs).as_posix()}{anchor})"

    return _LINK.sub(replace, text)


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Take the text of a page from the top of the repository, and change the links of any Markdown page."""
    docs = Path(app.srcdir).resolve()
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    originals = {copy: ROOT / original for original, copy in PAGES.items()}
    original = originals.get(page.relative_to(docs).as_posix())
    if original is not None:
        source[0], page = original.read_text(encoding="utf-8"), original
        app.env.note_dependency(str(original))
    source[0] = rewrite_links(source[0], page.parent.resolve(), docs)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the function that changes pages when they are read."""
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
