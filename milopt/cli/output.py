"""Results on stdout: JSON for programs, tables for people."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence

import typer

PIPE_WIDTH = 120
"""Columns of a page that is not a terminal, unless COLUMNS says otherwise."""
LONG_WORD = 24
"""A word longer than this may go on in the next line."""


def print_json(data: Mapping[str, object]) -> None:
    """One JSON object, its keys in the order in which they were put in."""
    typer.echo(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: object) -> object:
    """The same in what JSON has: no NaN and no infinity (null instead), no arrays, no tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(held) for held in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def page_width() -> int:
    """Columns of the terminal, or of a page that is none."""
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
    """A table without lines: headings, and texts taken as they stand; columns named in `right` hold numbers.

    Those in `spare` are left out, the last one first, while the page is too narrow for whole words.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    cells = {head: [row[k] for row in rows] for k, head in enumerate(heads)}
    whole = {heads[0], *right}
    widths = _column_widths(cells, whole, page_width() - indent, list(spare))
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False, show_header=any(heads))
    for head, width in widths.items():
        made.add_column(
            head, justify="right" if head in right else "left", overflow="fold", no_wrap=head in whole, width=width
        )
    for row in rows:
        made.add_row(*(Text(cell) for head, cell in zip(heads, row, strict=True) if head in widths))
    # On a page that is too narrow the terminal breaks lines; Rich would leave columns out.
    page = Console(width=indent + sum(widths.values()) + 2 * len(widths), highlight=False, emoji=False)
    with page.capture() as captured:
        page.print(Padding(made, (0, 0, 0, indent)))
    # Rich fills lines with blanks to their end, which nobody wants in a file.
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def _column_widths(
    cells: Mapping[str, Sequence[str]], whole: Collection[str], page: int, spare: list[str]
) -> dict[str, int]:
    """The columns that are shown, by heading, and their widths.

    Names and numbers stay in one piece; only what is words goes on in the next line, between two of them.
    """
    from rich.cells import cell_len

    wanted = {head: max(map(cell_len, [head, *column])) for head, column in cells.items()}
    widths = dict(wanted)
    for head in cells.keys() - set(whole):
        longest = max((cell_len(word) for cell in cells[head] for word in cell.split()), default=0)
        widths[head] = max(cell_len(head), min(longest, LONG_WORD))
    while spare and sum(widths.values()) + 2 * (len(widths) - 1) > page:
        del widths[spare.pop()]
    room = max(0, page - sum(widths.values()) - 2 * (len(widths) - 1))
    # What lacks little first: it gets by with one line then.
    for head in sorted(widths, key=lambda head: wanted[head] - widths[head]):
        more = min(room, wanted[head] - widths[head])
        widths[head] += more
        room -= more
    return widths
