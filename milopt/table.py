"""Tables of strings that are printed as aligned text or as HTML."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.html import Html, html_table


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

    def html(self) -> Html:
        """Return the table as HTML, with all text escaped."""
        return html_table(self.title, self.header, self.rows, self.numeric)
