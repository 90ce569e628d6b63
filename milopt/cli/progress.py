"""A progress line on stderr, which is removed at the end; it is shown only if stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar
    from rich.progress import TaskID


class ProgressLine:
    """Line with a spinner, the current activity, and the number of finished items.

    If `bar` is None, no progress is shown.
    """

    def __init__(self, bar: ProgressBar | None, task: TaskID | None) -> None:
        self._bar, self._task = bar, task

    def update(self, text: str | None = None, done: int | None = None, total: int | None = None) -> None:
        """Change the text, the number of finished items, or the total number; None leaves a value unchanged."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text, completed=done, total=total)

    def print_result(self, line: str) -> None:
        """Print a line of the result to stdout; the progress line is hidden meanwhile."""
        if self._bar is not None:
            self._bar.stop()
        typer.echo(line)
        sys.stdout.flush()
        if self._bar is not None:
            self._bar.start()


@contextmanager
def show_progress(text: str, total: int | None = None) -> Iterator[ProgressLine]:
    """Show a progress line during the block; show nothing if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield ProgressLine(None, None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as ProgressBar

    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(bar_width=20), MofNCompleteColumn()]
    bar = ProgressBar(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    with bar:
        yield ProgressLine(bar, bar.add_task(text, total=total))
