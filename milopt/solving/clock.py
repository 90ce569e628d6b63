"""A clock that a whole scheme shares: the seconds that are left of its time limit, and the work of its sessions."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter


@dataclass
class Work:
    """Seconds of all sessions that were solved with a clock."""

    build: float = 0.0
    """Lowering, kernel evaluation, and building the solver's own model."""
    solve: float = 0.0
    """Inside the solver."""


class Clock:
    """Starts when made."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.work = Work()
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
        other = Clock(None if left is None else max(left, least))
        other.work = self.work
        return other

    def is_over(self) -> bool:
        """Whether the limit has passed, or Ctrl-C was pressed."""
        return self.interrupted or (self.limit is not None and self.elapsed() >= self.limit)

    def why(self) -> str:
        """Why it is over, as a sentence's beginning."""
        return "Interrupted" if self.interrupted else "Time limit"
