"""The deadline of the call that is under way, for work that no solver does: kernel values that take minutes.

A kernel is called from deep inside a compilation, and no argument carries the clock there. So the deadline is ambient:
`deadline(seconds)` sets it for a block of code, and long computations ask `seconds_left()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

_end: ContextVar[float | None] = ContextVar("milopt deadline", default=None)


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Let work inside the block end after so many seconds, or earlier if the code around it ends earlier."""
    known = _end.get()
    new = None if seconds is None else perf_counter() + seconds
    ends = [end for end in (known, new) if end is not None]
    token = _end.set(min(ends, default=None))
    try:
        yield
    finally:
        _end.reset(token)


def seconds_left() -> float | None:
    """Seconds until the deadline, not below 0; None if there is none."""
    end = _end.get()
    return None if end is None else max(end - perf_counter(), 0.0)
