"""A clock that a whole scheme shares: how many seconds are left of its time limit."""

from __future__ import annotations

from time import perf_counter


class Clock:
    """Starts when made."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.interrupted = False
        """Ctrl-C: the time is up, whatever the limit."""
        self._start = perf_counter()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._start

    def left(self) -> float | None:
        """Seconds left, never below a millisecond so that a solver can say so itself; None without a limit."""
        return None if self.limit is None else max(1e-3, self.limit - self.elapsed())

    def extended(self, least: float) -> Clock:
        """A clock with what is left here, but with so many seconds at least: for what a point needs to be one."""
        left = self.left()
        return Clock(None if left is None else max(left, least))

    def is_over(self) -> bool:
        """Whether the limit has passed, or Ctrl-C was pressed."""
        return self.interrupted or (self.limit is not None and self.elapsed() >= self.limit)

    def why(self) -> str:
        """Why it is over, as a sentence's beginning."""
        return "Interrupted" if self.interrupted else "Time limit"
