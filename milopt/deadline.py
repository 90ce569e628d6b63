"""Deadline of the current call, for long computations outside of a solver, such as kernel values.

Kernels are called deep inside the compilation of a program, where no argument carries the time limit. So the deadline
is a context variable: `with deadline(seconds):` sets it for a block of code, and long computations inside the block
call `seconds_left()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

_deadline: ContextVar[float | None] = ContextVar("milopt deadline", default=None)
"""Time of the deadline on the clock `perf_counter`; None if there is no deadline."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Set the deadline of a `with` block to `seconds` from now, unless an enclosing block has an earlier deadline."""
    enclosing = _deadline.get()
    new = None if seconds is None else perf_counter() + seconds
    ends = [end for end in (enclosing, new) if end is not None]
    token = _deadline.set(min(ends, default=None))
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left() -> float | None:
    """Return the seconds until the deadline, at least 0; None if there is no deadline."""
    end = _deadline.get()
    return None if end is None else max(end - perf_counter(), 0.0)
