"""Time that this process has spent on just-in-time compilation, and a clock that excludes it.

Native algorithms are compiled by numba when they are first used, once per machine. A first fit may take a minute for
this reason alone, and compilation must not be reported as the time of a solver. `milopt.jit` updates the timer in this
module, which itself does not import numba.
"""

from __future__ import annotations

from time import perf_counter


class CompilationTimer:
    """Timer that adds up the seconds of all compilations; nested compilations are counted once.

    numba compiles under a lock, one function with all the functions that it calls at a time. So one timer is enough for
    all threads.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._began = 0.0

    def start(self) -> None:
        """Record the start of a compilation."""
        if self._depth == 0:
            self._began = perf_counter()
        self._depth += 1

    def stop(self) -> None:
        """Record the end of a compilation."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._began


JIT_TIMER = CompilationTimer()
"""Timer of all compilations of this process."""


def jit_seconds() -> float:
    """Return the seconds that this process has spent on compilation so far."""
    return JIT_TIMER.seconds


def seconds_without_jit() -> float:
    """Return the time of `perf_counter` minus `jit_seconds`, for measurements that exclude compilation."""
    return perf_counter() - JIT_TIMER.seconds
