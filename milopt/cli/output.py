"""Results on stdout: JSON for programs, tables for people."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Mapping, Sequence

import typer

PIPE_WIDTH = 120
"""Columns of a page that is not a terminal, unless COLUMNS says otherwise."""


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
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = (), indent: int = 0
) -> None:
    """A table without lines: headings, and texts taken as they stand; columns named in `right` hold numbers."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False, show_header=any(heads))
    for number, head in enumerate(heads):
        # Names and numbers stay in one piece; only what is words may go on in the next line.
        whole = number == 0 or head in right
        made.add_column(
            head, justify="right" if head in right else "left", overflow="fold", no_wrap=whole, min_width=len(head)
        )
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    page = Console(width=page_width(), highlight=False, emoji=False)
    # On a page that is too narrow the terminal breaks lines; Rich would leave columns out.
    least = Measurement.get(page, page.options.update(width=10**4), made).minimum
    page.width = max(page.width, indent + least)
    with page.capture() as captured:
        page.print(Padding(made, (0, 0, 0, indent)))
    # Rich fills lines with blanks to their end, which nobody wants in a file.
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())
