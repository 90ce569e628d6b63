"""Tables of strings that are printed as aligned text, HTML, Markdown or LaTeX, and rows of values as CSV or a frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from milopt.errors import MiloptError
from milopt.html import Html, element, html_table
from milopt.latex_text import bold_latex, escape_latex, latex_number

if TYPE_CHECKING:
    import pandas


PARAGRAPH_LENGTH = 40
"""Number of characters from which the cells of a column are paragraphs in LaTeX."""
LINE_LENGTH = 90
"""Number of characters per line of a LaTeX page, by which the widths of paragraphs are estimated."""


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
    bold: frozenset[tuple[int, str]] = frozenset()
    """Cells in bold, as pairs of the index of the row and the header of the column; a text has `*` before them."""

    def __post_init__(self) -> None:
        used = [k for k in range(len(self.header)) if not self.rows or any(row[k] for row in self.rows)]
        object.__setattr__(self, "header", tuple(self.header[k] for k in used))
        object.__setattr__(self, "rows", tuple(tuple(row[k] for k in used) for row in self.rows))

    def __str__(self) -> str:
        rows = self._mark_bold_cells(lambda cell: f"*{cell}")
        everything = (self.header, *rows)
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

    def markdown(self) -> str:
        """Return the table as a Markdown table, without the title; numbers are aligned to the right."""
        header = [_escape_markdown(name) for name in self.header]
        rule = ["---:" if name in self.numeric else "---" for name in self.header]
        rows = [[_escape_markdown(cell) for cell in row] for row in self.rows]
        body = self._mark_bold_cells(lambda cell: f"**{cell}**", rows)
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *body))

    def latex(self) -> str:
        """Return the table as a LaTeX `tabular` with the rules of the package booktabs; the title is a comment.

        Numbers in numeric columns are in mathematics mode, and special characters of all other texts are escaped.
        Columns with long texts are paragraphs whose widths are fractions of the line.
        """
        rows = [
            [
                (latex_number(cell) if name in self.numeric else None) or escape_latex(cell)
                for name, cell in zip(self.header, row, strict=True)
            ]
            for row in self.rows
        ]
        body = [" & ".join(row) for row in self._mark_bold_cells(bold_latex, rows)]
        columns = "".join(self._latex_columns())
        lines = [f"% {' '.join(self.title.split())}"] if self.title else []
        lines += [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
        lines += [rf"{' & '.join(map(escape_latex, self.header))} \\", r"\midrule"]
        lines += [rf"{row} \\" for row in body]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

    def html(self) -> Html:
        """Return the table as HTML, with all text escaped."""
        rows = self._mark_bold_cells(lambda cell: element("strong", cell))
        return html_table(self.title, self.header, rows, self.numeric)

    def _mark_bold_cells(
        self, mark: Callable[[str], str], rows: Sequence[Sequence[str]] | None = None
    ) -> list[tuple[str, ...]]:
        """Return the rows, or other texts of the same cells, with the bold cells replaced by `mark(cell)`."""
        return [
            tuple(
                mark(cell) if (number, name) in self.bold else cell for name, cell in zip(self.header, row, strict=True)
            )
            for number, row in enumerate(self.rows if rows is None else rows)
        ]

    def _latex_columns(self) -> list[str]:
        """Return the LaTeX type of every column: "r", "l", or "p" with a width for columns with paragraphs."""
        lengths = {name: max(map(len, (name, *(row[k] for row in self.rows)))) for k, name in enumerate(self.header)}
        long = {
            name: length for name, length in lengths.items() if length >= PARAGRAPH_LENGTH and name not in self.numeric
        }
        short = sum(length + 2 for name, length in lengths.items() if name not in long)
        # At least a quarter of the line remains for paragraphs; a part of it is the space between columns.
        room = max(0.25, 0.95 - short / LINE_LENGTH - 0.03 * len(long))
        widths = {name: rf"p{{{room * length / sum(long.values()):.2f}\linewidth}}" for name, length in long.items()}
        return [widths.get(name, "r" if name in self.numeric else "l") for name in self.header]


def _escape_markdown(text: str) -> str:
    """Return a text for a cell of a Markdown table, in which characters with a meaning in Markdown are escaped."""
    plain = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_|<[" else character for character in plain)


def format_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows of values as CSV, with a header; missing values (None) are empty."""
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def to_data_frame(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    """Return rows of values as a data frame of pandas; raise `MiloptError` if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise MiloptError("A data frame needs pandas, which is not installed; run: pip install pandas") from None
    return pandas.DataFrame([dict(row) for row in rows])
