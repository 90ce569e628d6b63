"""Ctrl-C during a run: it ends the run and not just a fit, and what is finished is kept.

A solver takes Ctrl-C as the wish to stop with the best point so far. Inside an evaluation that would leave a task with
a point that nobody asked for, so that here it is not a KeyboardInterrupt, which solvers wait for.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(BaseException):
    """Ctrl-C, meant for the whole run."""


@contextmanager
def stoppable() -> Iterator[None]:
    """While inside, Ctrl-C raises `Stopped`; in the main thread, and with Python's own handler, only."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def undisturbed() -> None:
    """Make a worker process deaf to Ctrl-C, which a terminal sends to all: its parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped
