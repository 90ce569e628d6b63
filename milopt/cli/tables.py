"""Tables on stdout in the format that `--format` names: text, CSV, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import typer

from milopt.cli.output import print_table, to_json_data

if TYPE_CHECKING:
    from milopt.table import Table


class OutputFormat(StrEnum):
    """Formats in which tables are printed."""

    text = "text"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


def print_result(
    text: str,
    table: Table,
    rows: Sequence[Mapping[str, object]],
    notes: Sequence[str],
    table_format: OutputFormat,
) -> None:
    """Print a result as a text, or its table with its notes (see `print_formatted`)."""
    if table_format is OutputFormat.text:
        typer.echo(text)
    else:
        print_formatted(table, rows, notes, table_format)


def print_formatted(
    table: Table, rows: Sequence[Mapping[str, object]], notes: Sequence[str], table_format: OutputFormat
) -> None:
    """Print a table as Markdown or LaTeX, or its rows as CSV.

    The notes become comments in LaTeX, and paragraphs below the table in Markdown. CSV has no place for notes, so they
    go to stderr.
    """
    if table_format is OutputFormat.csv:
        from milopt.table import format_csv

        typer.echo(format_csv([{name: _csv_value(value) for name, value in row.items()} for row in rows]))
        for note in notes:
            typer.echo(note, err=True)
    elif table_format is OutputFormat.markdown:
        typer.echo("\n\n".join([table.markdown(), *notes]))
    else:
        typer.echo("\n".join([table.latex(), *(f"% {' '.join(note.split())}" for note in notes)]))


def print_listing(
    heads: Sequence[str],
    cells: Sequence[Sequence[str]],
    notes: Sequence[str],
    table_format: OutputFormat,
    right: Sequence[str] = (),
    spare: Sequence[str] = (),
    values: Sequence[Mapping[str, object]] | None = None,
) -> None:
    """Print a list of items as a table with one row per item; the notes come below it.

    Columns named in `right` have numbers. Columns named in `spare` are left out of a text that would be too wide.
    `values` are the rows for CSV, by column, if they have more digits than the cells.
    """
    from milopt.table import Table

    if table_format is OutputFormat.text:
        print_table(heads, cells, right=right, spare=spare)
        for note in notes:
            typer.echo(note)
        return
    table = Table("", tuple(heads), tuple(map(tuple, cells)), frozenset(right))
    rows = [dict(zip(heads, row, strict=True)) for row in cells] if values is None else values
    print_formatted(table, rows, notes, table_format)


def _csv_value(value: object) -> object:
    """Return a value as a cell of a CSV file: a number or text; empty if it is missing, not finite or None."""
    plain = to_json_data(value)
    return "; ".join(map(str, plain)) if isinstance(plain, list) else plain
