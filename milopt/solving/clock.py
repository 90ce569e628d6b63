"""A clock shared by all sessions of a scheme: time limit, elapsed time, and seconds of building and solving."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter


@dataclass
class WorkSeconds:
    """Seconds spent in all sessions that use a clock."""

    build: float = 0.0
    """Seconds of lowering, evaluating kernels, and building the solver's own model."""
    solve: float = 0.0
    """Seconds inside the solver."""


class Clock:
    """Time limit of a whole call; the clock starts when it is created.

    Parameters
    ----------
    limit : float or None
        Time limit in seconds; None for no limit.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.work = WorkSeconds()
        self.interrupted = False
        """Whether Ctrl-C was pressed; the time then counts as over, whatever the limit is."""
        self._start = perf_counter()

    def elapsed(self) -> float:
        """Return the seconds since the clock was created."""
        return perf_counter() - self._start

    def seconds_left(self) -> float | None:
        """Return the seconds left, or None without a limit.

        The value is at least one millisecond, so that a solver can still be called and report the limit itself.
        """
        return None if self.limit is None else max(1e-3, self.limit - self.elapsed())

    def with_at_least(self, least: float) -> Clock:
        """Return a new clock whose time limit is the time left on this clock, but at least `least` seconds.

        Without a limit, the new clock has none either. The two clocks share `work`, but not `interrupted`. The new
        clock is for short final work, such as the check of a claim, for which the time left may be too little.
        """
        left = self.seconds_left()
        other = Clock(None if left is None else max(left, least))
        other.work = self.work
        return other

    def is_over(self) -> bool:
        """Return True if the time limit has passed or Ctrl-C was pressed."""
        return self.interrupted or (self.limit is not None and self.elapsed() >= self.limit)

    def end_reason(self) -> str:
        """Return "Interrupted" or "Time limit", as the beginning of a message."""
        return "Interrupted" if self.interrupted else "Time limit"
