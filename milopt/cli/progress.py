"""What a person waits for, on stderr and only on a terminal: one line that is gone when the result is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """A line with a spinner, what is being done, and how much of it is done."""

    def __init__(self, bar: Bar | None, task: TaskID | None) -> None:
        self._bar, self._task = bar, task

    def update(self, text: str | None = None, done: int | None = None, total: int | None = None) -> None:
        """Say what is being done now, or how far it is."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text, completed=done, total=total)

    def say(self, line: str) -> None:
        """A line of the result, on stdout; the progress steps aside for it."""
        if self._bar is not None:
            self._bar.stop()
        typer.echo(line)
        sys.stdout.flush()
        if self._bar is not None:
            self._bar.start()


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Progress]:
    """Show progress while inside; nothing at all where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield Progress(None, None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(bar_width=20), MofNCompleteColumn()]
    bar = Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar:
        yield Progress(bar, bar.add_task(text, total=total))
