"""Handling of Ctrl-C during an evaluation: Ctrl-C ends the whole run, not only one fit; finished tasks are kept.

On Ctrl-C, a solver stops with the best point so far. Inside an evaluation, this would give a task with an incomplete
fit. Solvers catch `KeyboardInterrupt`, so Ctrl-C raises another exception here.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
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


@contextmanager
def block_interrupts_in_children() -> Iterator[None]:
    """Block Ctrl-C in processes that are started inside the block, because a terminal sends it to all processes.

    The parent process ends its children. It receives a Ctrl-C itself when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The first process that is started also starts the resource trackers, which unblock the signal in this process.
    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker process, also in one that another part of the program has started before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _raise_run_interrupted(number: int, frame: FrameType | None) -> None:
    """Raise `RunInterrupted`; a signal handler."""
    raise RunInterrupted
