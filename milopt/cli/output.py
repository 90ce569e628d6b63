"""Output of results to stdout, as JSON or as tables."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar

import typer

PIPE_WIDTH = 120
"""Characters per line if stdout is not a terminal and COLUMNS is not set."""
RECORDED_ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("recorded_arguments")
"""Arguments of the command line that is running."""
MAX_UNBROKEN_LENGTH = 24
"""Number of characters up to which a word is never broken."""


def recorded_command() -> str:
    """Return the command line that is running, as one would type it."""
    return shlex.join(["milopt", *RECORDED_ARGUMENTS.get(())])


def print_json(data: Mapping[str, object]) -> None:
    """Print one JSON object; its keys keep their order."""
    typer.echo(json.dumps(to_json_data(data), indent=2, ensure_ascii=False, allow_nan=False))


def to_json_data(value: object) -> object:
    """Convert a value to types that JSON has.

    Arrays, tuples and sets become lists, NaN and infinity become None (null), and other objects become text.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): to_json_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json_data(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def page_width() -> int:
    """Return the number of characters per line: of the terminal or COLUMNS, or PIPE_WIDTH if there is neither."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return PIPE_WIDTH


def print_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str] = (),
    indent: int = 0,
    spare: Sequence[str] = (),
) -> None:
    """Print a table without lines between its cells.

    Columns named in `right` hold numbers and are aligned to the right. The table is indented by `indent` characters. If
    the page is too narrow for whole words, columns named in `spare` are left out, the last one first.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    cells = {head: [row[k] for row in rows] for k, head in enumerate(heads)}
    whole = {heads[0], *right}
    widths = _column_widths(cells, whole, page_width() - indent, list(spare))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False, show_header=any(heads))
    for head, width in widths.items():
        table.add_column(
            head, justify="right" if head in right else "left", overflow="fold", no_wrap=head in whole, width=width
        )
    for row in rows:
        table.add_row(*(Text(cell) for head, cell in zip(heads, row, strict=True) if head in widths))
    # The console is as wide as the table, so that on a narrow page the terminal breaks lines. Rich would drop columns.
    page = Console(width=indent + sum(widths.values()) + 2 * len(widths), highlight=False, emoji=False)
    with page.capture() as captured:
        page.print(Padding(table, (0, 0, 0, indent)))
    # Remove the blanks with which Rich pads lines.
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def print_wrapped(begin: str, text: str) -> None:
    """Print `begin` and a text that is broken between words; further lines are indented by two characters."""
    for line in textwrap.wrap(begin + text, max(20, page_width()), subsequent_indent="  ", break_long_words=False):
        typer.echo(line)


def _column_widths(
    cells: Mapping[str, Sequence[str]], whole: Collection[str], page: int, spare: list[str]
) -> dict[str, int]:
    """Return the width of every column that is shown, by its heading.

    `cells` has the texts of each column by heading, and `page` is the width of the page. Columns in `whole` (names and
    numbers) are never broken; the text of other columns is broken between words. Columns in `spare` are left out, the
    last one first, if the page is too narrow; they are then removed from this list.
    """
    from rich.cells import cell_len

    wanted = {head: max(map(cell_len, [head, *column])) for head, column in cells.items()}
    widths = dict(wanted)
    for head in cells.keys() - set(whole):
        longest = max(cell_len(word) for cell in (head, *cells[head]) for word in (cell.split() or [""]))
        widths[head] = min(longest, MAX_UNBROKEN_LENGTH)
    while spare and sum(widths.values()) + 2 * (len(widths) - 1) > page:
        del widths[spare.pop()]
    room = max(0, page - sum(widths.values()) - 2 * (len(widths) - 1))
    # The columns that need the least additional width come first, so that as many as possible fit on one line.
    for head in sorted(widths, key=lambda head: wanted[head] - widths[head]):
        more = min(room, wanted[head] - widths[head])
        widths[head] += more
        room -= more
    return widths
