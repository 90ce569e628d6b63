"""Handling of Ctrl-C while compiled code runs; Python itself handles signals only between its own instructions.

There are three ways to handle Ctrl-C. `run_interruptible` runs a call in a thread and waits for the thread; this works
for any call and costs about 0.5 ms. `call_on_interrupt` calls a function that records the signal, instead of raising
KeyboardInterrupt; this costs nothing and is for calls that return to Python now and then to check the record.
`delay_interrupts` blocks the signal until the call has ended.

Code that enters compiled functions often should use `call_on_interrupt`: an exception that is raised while numba
unpacks arguments is replaced by another exception, or ends the process with a segmentation fault.
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
"""Largest number of seconds for which the process, at its exit, waits for all abandoned calls together."""


def is_interrupt(error: BaseException) -> bool:
    """Return True if an error was caused by Ctrl-C.

    The causes and contexts of the error are examined too, because another exception may replace KeyboardInterrupt while
    compiled code is imported or entered.
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
"""One event per abandoned call; the event is set if the call ends later."""


@atexit.register
def _wait_for_abandoned_calls() -> None:
    """Wait for abandoned calls before the interpreter exits.

    If the interpreter has exited, compiled code that calls back into Python aborts the process.
    """
    end = monotonic() + ABANDONED_CALL_TIMEOUT
    for done in _abandoned_calls:
        done.wait(max(0.0, end - monotonic()))


def run_interruptible(call: Callable[[], object], stop: Callable[[], None], patience: float = 1.0) -> CallEnd:
    """Run `call` in a thread, so that Ctrl-C can end the wait for it; return how the call ended.

    At Ctrl-C, `stop` is called, which asks `call` to return early. The call is abandoned (its thread continues) if it
    has not returned after another `patience` seconds. Exceptions of `call` are raised here, unless the call was
    abandoned. Python delivers Ctrl-C to the main thread only, so in other threads `call` is called directly.
    """
    if threading.current_thread() is not threading.main_thread():
        call()
        return CallEnd.FINISHED

    failures: list[BaseException] = []
    done = threading.Event()

    def run_call() -> None:
        """Run the call in its thread and store an exception for the main thread."""
        try:
            call()
        except BaseException as failure:  # the calling thread raises it again
            failures.append(failure)
        finally:
            done.set()

    ended = CallEnd.FINISHED
    try:
        with _raise_on_interrupt():
            threading.Thread(target=run_call, daemon=True).start()
            # Thread.join is not used: after an interrupt, it treats a running thread as finished (Python 3.11).
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
def delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the `with` block.

    Use the block for compiled code whose own signal handler may discard the signal. It has no effect outside of the
    main thread and on systems without signal masks.
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
"""Functions to call at Ctrl-C, one per active `call_on_interrupt` block, the innermost block last."""


@contextmanager
def call_on_interrupt(note: Callable[[], None]) -> Iterator[None]:
    """Call `note` at Ctrl-C within the `with` block instead of raising KeyboardInterrupt.

    The `note` functions of enclosing blocks are called too. The block has an effect only in the main thread, and only
    if the signal handler is Python's default: other handlers are left in place.
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
def _raise_on_interrupt() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, even inside `call_on_interrupt`."""
    if not _observers or not _can_set_handler():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _call_observers)


def _can_set_handler() -> bool:
    """Return True if this is the main thread and the handler of Ctrl-C is Python's default or that of this module."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _call_observers)


def _call_observers(number: int = 0, frame: FrameType | None = None) -> None:
    """Call all observers, that of the innermost block first; also the signal handler inside `call_on_interrupt`."""
    for note in reversed(_observers):
        note()
