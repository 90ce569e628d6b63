"""HTML for notebooks and reports: elements, tables, and lists of entries, in which every text is escaped.

A plain `str` is text and is escaped; `Html` is markup and is not. So a text can reach a page as markup only if the
program says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

VOID_ELEMENTS = frozenset({"br", "hr", "img", "meta"})
"""Elements that have no content and no closing tag."""


class Html(str):
    """Markup, which is not escaped."""

    __slots__ = ()


def element(name: str, *content: str, **attributes: str | None) -> Html:
    """Return an HTML element.

    Parameters
    ----------
    name : str
        Name of the element, such as "p".
    *content : str
        Texts, which are escaped, and markup (`Html`), which is not.
    **attributes : str or None
        Attributes. An underscore at the end of a name is removed (`class_`), and others become hyphens. An attribute
        that is None is left out.

    Returns
    -------
    Html
        The element.

    Examples
    --------
    >>> from milopt.html import element
    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID_ELEMENTS:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(content)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Return texts, which are escaped, and markup one after the other."""
    return Html("".join(part if isinstance(part, Html) else escape(part, quote=False) for part in parts))


def html_table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: Collection[str] = (),
    class_: str | None = None,
) -> Html:
    """Return a table; the columns whose headers are in `numeric` are aligned to the right."""
    styles = [_cell_style(name in numeric, k == 0) for k, name in enumerate(header)]
    head = [element("th", name, style=style, scope="col") for name, style in zip(header, styles, strict=True)]
    body = (
        element("tr", *(element("td", cell, style=style) for cell, style in zip(row, styles, strict=True)))
        for row in rows
    )
    return element(
        "table",
        *_caption(title),
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_=class_,
    )


def entries_table(title: str, entries: Iterable[tuple[str, str]], class_: str | None = None) -> Html:
    """Return a table of two columns without a header: the name of each entry, and its text."""
    left = "text-align:left"
    rows = (
        element("tr", element("th", name, style=left, scope="row"), element("td", text, style=left))
        for name, text in entries
    )
    return element("table", *_caption(title), element("tbody", *rows), class_=class_)


def _caption(title: str) -> list[Html]:
    """Return the caption of a table in a list, or an empty list if there is no title."""
    return [element("caption", title, style="text-align:left;font-weight:bold;white-space:nowrap")] if title else []


def _cell_style(is_numeric: bool, is_first: bool) -> str:
    """Return the style of a column: numbers are aligned to the right, and numbers and names are not broken."""
    align = f"text-align:{'right' if is_numeric else 'left'}"
    return f"{align};white-space:nowrap" if is_numeric or is_first else align


def notes(texts: Iterable[str]) -> Html:
    """Return texts as paragraphs, one per text; nothing for empty texts."""
    return join(element("p", text, style="margin:0.2em 0") for text in texts if text)


def view(*parts: str) -> Html:
    """Return the parts of an object as one block, for `_repr_html_`."""
    return element("div", *parts, class_="milopt")
