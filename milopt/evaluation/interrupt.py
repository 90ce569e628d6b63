"""Handling of Ctrl-C during an evaluation: Ctrl-C ends the whole run, not only one fit; finished tasks are kept.

On Ctrl-C, a solver stops with the best point so far. Inside an evaluation, this would give a task with an incomplete
fit. Solvers catch `KeyboardInterrupt`, so Ctrl-C raises another exception here.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class RunInterrupted(BaseException):
    """Exception raised by Ctrl-C that ends the whole run."""


@contextmanager
def stop_on_interrupt() -> Iterator[None]:
    """Let Ctrl-C raise `RunInterrupted`; only in the main thread, and only if Python's own handler is installed."""
    is_main_thread = threading.current_thread() is threading.main_thread()
    if not is_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _raise_run_interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker process; terminals send it to all processes, and the parent process decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _raise_run_interrupted(number: int, frame: FrameType | None) -> None:
    """Raise `RunInterrupted`; a signal handler."""
    raise RunInterrupted
