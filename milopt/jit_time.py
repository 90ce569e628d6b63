"""The seconds that this process has spent on just-in-time compilation, and a clock that leaves them out.

Native algorithms are compiled by numba when they are first used, once per machine. A first fit may take a minute for
that reason alone, so that compilation must not be reported as the time of a solver. `milopt.compiled` adds to the count
here; this module does not import numba.
"""

from __future__ import annotations

from time import perf_counter


class CompilationTimer:
    """Add up the seconds of compilations; one that begins within another is part of it.

    numba compiles under a lock, one function with all that it calls after the other, so that one count is enough for
    all threads.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    def start(self) -> None:
        """Note that a compilation begins."""
        if self._depth == 0:
            self._began = perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """Note that a compilation ends."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._began


TIMER = CompilationTimer()


def jit_seconds() -> float:
    """Return the seconds of all compilations of this process so far."""
    return TIMER.seconds


def working_seconds() -> float:
    """Read a clock that stands still while native algorithms are compiled."""
    return perf_counter() - TIMER.seconds
