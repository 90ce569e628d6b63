"""Ctrl-C while compiled code runs: Python sees the signal only between its own instructions.

Ways to let it through: `run_interruptible` sends the call to a thread and waits (any call, at 0.5 ms or so),
`noted_interrupt` notes the signal without raising (free, for calls that come back to Python now and then to ask), and
`delayed_interrupt` keeps it until the call has ended.

Whoever enters compiled code often should note: an exception that is raised while numba takes arguments apart becomes
another one, or ends the process by a segmentation fault.
"""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from time import monotonic
from types import FrameType

LEAVE = 30.0
"""Seconds for which the process, at its end, waits for calls that were left behind."""


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: while compiled code is imported or entered, it becomes another one."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


class Ended(Enum):
    """How an interruptible call ended."""

    FINISHED = "it returned"
    STOPPED = "it returned early, asked by Ctrl-C"
    ABANDONED = "it did not react to Ctrl-C: its thread goes on, and whatever it works on must not be touched again"


_left_behind: list[threading.Event] = []
"""Set by each call that was left behind, once it has ended after all."""


@atexit.register
def _wait_for_those_left_behind() -> None:
    """Compiled code that comes back to an interpreter which is no more, to ask whether to stop, aborts the process."""
    end = monotonic() + LEAVE
    for done in _left_behind:
        done.wait(max(0.0, end - monotonic()))


def run_interruptible(call: Callable[[], object], stop: Callable[[], None], patience: float = 1.0) -> Ended:
    """Run `call`; at Ctrl-C ask it to `stop`, and leave it behind if it has not after `patience` seconds.

    Outside the main thread, where Python delivers no Ctrl-C, it is just the call.
    """
    if threading.current_thread() is not threading.main_thread():
        call()
        return Ended.FINISHED

    failures: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            call()
        except BaseException as failure:  # handed to the caller's thread, which raises it
            failures.append(failure)
        finally:
            done.set()

    ended = Ended.FINISHED
    try:
        with _raised_interrupt():
            threading.Thread(target=work, daemon=True).start()
            # Not Thread.join: interrupted, it takes a running thread for a finished one (Python 3.11).
            done.wait()
    except KeyboardInterrupt:
        ended = Ended.STOPPED
        stop()
        if not done.wait(patience):
            _left_behind[:] = [one for one in _left_behind if not one.is_set()]
            _left_behind.append(done)
            ended = Ended.ABANDONED
        _take_note()
    if failures and ended is not Ended.ABANDONED:
        raise failures[0]
    return ended


@contextmanager
def delayed_interrupt() -> Iterator[None]:
    """While inside, Ctrl-C waits: for compiled code with a handler of its own, which may take it and tell no one."""
    handler = signal.getsignal(signal.SIGINT)
    outside = threading.current_thread() is not threading.main_thread()
    if outside or handler is None or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        # Such code may leave its own handler behind; Python's must be back before the signal is let through.
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_notes: list[Callable[[], None]] = []
"""Of those who note Ctrl-C at present, the innermost last."""


@contextmanager
def noted_interrupt(note: Callable[[], None]) -> Iterator[None]:
    """While inside, Ctrl-C calls `note`, and those around it, instead of raising.

    In the main thread, and where the handler is Python's own, only: whoever has another one knows what to do.
    """
    if not _is_ours():
        yield
        return
    _notes.append(note)
    signal.signal(signal.SIGINT, _take_note)
    try:
        yield
    finally:
        _notes.pop()
        if not _notes:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _raised_interrupt() -> Iterator[None]:
    """While inside, Ctrl-C raises, though it be noted around."""
    if not _notes or not _is_ours():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _take_note)


def _is_ours() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _take_note)


def _take_note(number: int = 0, frame: FrameType | None = None) -> None:
    for note in reversed(_notes):
        note()
