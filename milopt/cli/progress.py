"""Progress on stderr: in a terminal a line that is removed at the end, otherwise a few lines for a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar
    from rich.progress import TaskID


LOG_SECONDS = 10.0
"""Smallest number of seconds between two lines in the log of a batch job."""
MAX_LOG_LINES = 50
"""Largest number of lines in the log of a batch job."""


class ProgressLine:
    """Line with a spinner, the current activity, the number of finished items, and an estimate of the time left.

    If `bar` is None, no line is shown. Then `log`, if given, prints lines.
    """

    def __init__(self, bar: ProgressBar | None, task: TaskID | None, log: ProgressLog | None = None) -> None:
        self._bar, self._task, self._log = bar, task, log
        self._start: tuple[float, int] | None = None
        """Time of the first number of finished items, and this number, which may include items of an earlier run."""

    def update(self, text: str | None = None, done: int | None = None, total: int | None = None) -> None:
        """Change the text, the number of finished items, or the total number; None leaves a value unchanged."""
        if self._log is not None:
            self._log.update(text, done, total)
        if self._bar is None or self._task is None:
            return
        self._bar.update(self._task, description=text, completed=done, total=total)
        if done is not None and total is not None:
            now = perf_counter()
            began, first = self._start = self._start or (now, done)
            left = format_time_left(estimate_seconds_left(done - first, total - done, now - began))
            self._bar.update(self._task, left=left)

    def print_result(self, line: str) -> None:
        """Print a line of the result to stdout; the progress line is hidden meanwhile."""
        if self._bar is not None:
            self._bar.stop()
        typer.echo(line)
        sys.stdout.flush()
        if self._bar is not None:
            self._bar.start()


class ProgressLog:
    """Progress for a log: now and then a line with the number of finished items, and an estimate of the time left.

    A line is printed if at least `LOG_SECONDS` seconds have passed since the last one, or since the start, and if one
    more of `MAX_LOG_LINES` equal parts of the items is finished.
    """

    def __init__(self, text: str, unit: str) -> None:
        self._text, self._unit = text, unit
        self._start: tuple[float, int] | None = None
        self._printed_at, self._printed = perf_counter(), 0

    def update(self, text: str | None, done: int | None, total: int | None) -> None:
        """Print a line if it is due. None leaves the text unchanged, or means that the number is not known."""
        self._text = self._text if text is None else text
        if done is None or not total:
            return
        now = perf_counter()
        began, first = self._start = self._start or (now, done)
        if now - self._printed_at < LOG_SECONDS or (done - self._printed) * MAX_LOG_LINES < total:
            return
        self._printed_at, self._printed = now, done
        left = format_time_left(estimate_seconds_left(done - first, total - done, now - began))
        line = f"{self._text}: {done} of {total} {self._unit}".rstrip()
        typer.echo(", ".join(filter(None, (line, left))), err=True)


def estimate_seconds_left(done: int, remaining: int, elapsed: float) -> float | None:
    """Return the estimated seconds for the remaining items if `done` items took `elapsed` seconds; None if unknown."""
    return elapsed / done * remaining if done > 0 and remaining else None


def format_time_left(seconds: float | None) -> str:
    """Return an estimate of the time left as text, such as "about 3 min left"; empty if it is None."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"about {max(1, round(seconds))} s left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 120 else f"about {round(seconds / 3600)} h left"


@contextmanager
def show_progress(text: str, total: int | None = None, unit: str = "") -> Iterator[ProgressLine]:
    """Show a progress line during the block; if stderr is not a terminal, print lines for a log now and then.

    With a total number of items, the line has a bar and the number of finished items, followed by `unit`. A total of 0
    means that the number will be known later.
    """
    if not sys.stderr.isatty():
        yield ProgressLine(None, None, None if total is None else ProgressLog(text, unit))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as ProgressBar

    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn(unit, markup=False)]
        columns.append(TextColumn("{task.fields[left]}", markup=False))
    bar = ProgressBar(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    with bar:
        yield ProgressLine(bar, bar.add_task(text, total=total or None, left=""))
