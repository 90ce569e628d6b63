"""Tables of strings that are printed as aligned text or as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Table of strings with a title and a header.

    Columns whose cells are all empty are left out, unless the table has no rows.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    """Headers of the columns with numbers, which are aligned to the right."""

    def __post_init__(self) -> None:
        used = [k for k in range(len(self.header)) if not self.rows or any(row[k] for row in self.rows)]
        object.__setattr__(self, "header", tuple(self.header[k] for k in used))
        object.__setattr__(self, "rows", tuple(tuple(row[k] for k in used) for row in self.rows))

    def __str__(self) -> str:
        everything = (self.header, *self.rows)
        widths = [max(len(row[k]) for row in everything) for k in range(len(self.header))]
        lines = [self.title] if self.title else []
        lines += ["  " + self._format_row(row, widths) for row in everything]
        return "\n".join(lines)

    def _format_row(self, row: tuple[str, ...], widths: list[int]) -> str:
        """Return one row as aligned text; `widths` are the numbers of characters of the columns."""
        cells = (
            cell.rjust(width) if name in self.numeric else cell.ljust(width)
            for name, cell, width in zip(self.header, row, widths, strict=True)
        )
        return "  ".join(cells).rstrip()

    def html(self) -> str:
        """Return the table as HTML, with all text escaped."""
        head = "".join(f"<th{self._style_attribute(name)}>{escape(name)}</th>" for name in self.header)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{self._style_attribute(name)}>{escape(cell)}</td>"
                for name, cell in zip(self.header, row, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _style_attribute(self, name: str) -> str:
        """Return the HTML style attribute that aligns the column with the header `name`."""
        return f' style="text-align:{"right" if name in self.numeric else "left"}"'
