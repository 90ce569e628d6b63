"""Count of the finished fits of an evaluation, also of those in other processes.

A worker process appends one byte per fit to a file, whose size is the number of finished fits. Appending one byte needs
no lock, and the file survives a killed process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TypeAlias

FitsDone: TypeAlias = Callable[[int], object]
"""Function that is called with a number of fits that have finished since its last call."""

POLLING_SECONDS = 0.2
"""Seconds between two looks at the file to which worker processes write."""


@dataclass(frozen=True)
class FitCountFile:
    """File to which processes append one byte per finished fit."""

    path: str

    def __call__(self, fits: int) -> None:
        """Add finished fits."""
        with open(self.path, "ab", buffering=0) as file:
            file.write(b"." * fits)


@contextmanager
def count_in_file(report: FitsDone | None) -> Iterator[FitCountFile | None]:
    """Give a file for the fits of other processes, and pass their number on to `report` during the block.

    `report` is called from another thread. If it is None, there is no file.
    """
    if report is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="milopt-") as folder:
        path = Path(folder, "fits")
        path.touch()
        ended = Event()
        thread = Thread(target=_report_growth, args=(path, report, ended), daemon=True)
        thread.start()
        try:
            yield FitCountFile(os.fspath(path))
        finally:
            ended.set()
            thread.join()


def _report_growth(path: Path, report: FitsDone, ended: Event) -> None:
    """Call `report` with the growth of a file, until `ended` is set."""
    size = 0
    while not ended.wait(POLLING_SECONDS):
        new = path.stat().st_size
        if new > size:
            report(new - size)
            size = new
