"""Ctrl-C while compiled code runs: Python handles the signal only between its own instructions.

There are three ways to handle it. `run_interruptible` runs the call in a thread and waits for it (any call, about
0.5 ms). `noted_interrupt` records the signal without raising (no cost, for calls that return to Python now and then to
check). `delayed_interrupt` blocks the signal until the call has ended.

Code that enters compiled functions often should use `noted_interrupt`: an exception that is raised while numba unpacks
arguments is replaced by another exception, or ends the process with a segmentation fault.
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

ABANDONED_CALL_TIMEOUT = 30.0
"""Largest number of seconds for which the process waits, at its exit, for all abandoned calls together."""


def is_interrupt(error: BaseException) -> bool:
    """Return True if an error was caused by Ctrl-C.

    While compiled code is imported or entered, KeyboardInterrupt may be replaced by another exception.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


class CallEnd(Enum):
    """How an interruptible call ended."""

    FINISHED = "it returned"
    STOPPED = "it returned early, at the request of Ctrl-C"
    ABANDONED = "it did not react to Ctrl-C: its thread continues, and the objects that it uses must not be used again"


_abandoned_calls: list[threading.Event] = []
"""One event per abandoned call, which is set when the call ends after all."""


@atexit.register
def _wait_for_abandoned_calls() -> None:
    """Wait for abandoned calls before the interpreter exits.

    Compiled code that calls back into an interpreter that has exited aborts the process.
    """
    end = monotonic() + ABANDONED_CALL_TIMEOUT
    for done in _abandoned_calls:
        done.wait(max(0.0, end - monotonic()))


def run_interruptible(call: Callable[[], object], stop: Callable[[], None], patience: float = 1.0) -> CallEnd:
    """Run `call`; at Ctrl-C, call `stop`, and abandon the call if it has not ended after `patience` seconds.

    Exceptions of `call` are raised here, unless the call was abandoned. Python delivers Ctrl-C to the main thread only.
    In other threads, `call` is simply called.
    """
    if threading.current_thread() is not threading.main_thread():
        call()
        return CallEnd.FINISHED

    failures: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        """Run the call in its thread and store an exception for the main thread."""
        try:
            call()
        except BaseException as failure:  # the calling thread raises it
            failures.append(failure)
        finally:
            done.set()

    ended = CallEnd.FINISHED
    try:
        with _raising_interrupt():
            threading.Thread(target=work, daemon=True).start()
            # Not Thread.join: after an interrupt, it treats a running thread as finished (Python 3.11).
            done.wait()
    except KeyboardInterrupt:
        ended = CallEnd.STOPPED
        stop()
        if not done.wait(patience):
            _abandoned_calls[:] = [ended for ended in _abandoned_calls if not ended.is_set()]
            _abandoned_calls.append(done)
            ended = CallEnd.ABANDONED
        _call_observers()
    if failures and ended is not CallEnd.ABANDONED:
        raise failures[0]
    return ended


@contextmanager
def delayed_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until the end of the `with` block.

    This is for compiled code with its own signal handler, which may swallow the signal. The function has no effect
    outside of the main thread and on systems without signal masks.
    """
    handler = signal.getsignal(signal.SIGINT)
    outside = threading.current_thread() is not threading.main_thread()
    if outside or handler is None or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        # Compiled code may have replaced the handler; restore Python's before the signal is unblocked.
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_observers: list[Callable[[], None]] = []
"""Functions to call at Ctrl-C, the innermost block last."""


@contextmanager
def noted_interrupt(note: Callable[[], None]) -> Iterator[None]:
    """Call `note` at Ctrl-C within the `with` block instead of raising KeyboardInterrupt.

    The functions of enclosing blocks are called too. This has an effect only in the main thread, and only if the signal
    handler is Python's default: other handlers are left in place.
    """
    if not _can_set_handler():
        yield
        return
    _observers.append(note)
    signal.signal(signal.SIGINT, _call_observers)
    try:
        yield
    finally:
        _observers.pop()
        if not _observers:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _raising_interrupt() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, even inside `noted_interrupt`."""
    if not _observers or not _can_set_handler():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _call_observers)


def _can_set_handler() -> bool:
    """Return True in the main thread, if the signal handler is Python's default or the one of this module."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _call_observers)


def _call_observers(number: int = 0, frame: FrameType | None = None) -> None:
    """Call all observers, the innermost first; this function is also the signal handler inside `noted_interrupt`."""
    for note in reversed(_observers):
        note()
