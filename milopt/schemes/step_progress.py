"""Steps of a scheme shown while it runs: callbacks, and a printer of one line per step."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TextIO, TypeAlias

from milopt.outcome.result import Step
from milopt.schemes.scheme import Steps, T

OnStep: TypeAlias = Callable[[Step], object]
"""Function that is called with every step as soon as it is made."""


def report_steps(steps: Steps[T], on_step: OnStep | None) -> Steps[T]:
    """Yield the steps of a generator, and call `on_step` with each; return the result of the generator."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if on_step is not None:
            on_step(step)
        yield step


def join_callbacks(*callbacks: OnStep | None) -> OnStep | None:
    """Return one function that calls all given ones; None if all are None."""
    given = [callback for callback in callbacks if callback is not None]
    if len(given) < 2:
        return given[0] if given else None
    return lambda step: [callback(step) for callback in given]


def relative_gap(step: Step) -> float | None:
    """Return |objective - bound| / (1 + |objective|); None if the step has no finite bound."""
    if step.bound is None or not math.isfinite(step.bound) or not math.isfinite(step.objective):
        return None
    return abs(step.objective - step.bound) / (1 + abs(step.objective))


class StepPrinter:
    """Callback that prints one line per step: number, objective, bound, gap, residual, changes and seconds.

    Parameters
    ----------
    titles : sequence of str
        Names of the programs that are solved one after the other. Each begins a new table.
    stream : text stream or None, default=None
        Where the lines are written; None writes to stderr.

    Examples
    --------
    >>> import sys
    >>> import milopt
    >>> printer = milopt.StepPrinter(["my program"], sys.stdout)
    >>> printer(milopt.Step(2.0, 1.7, None, 0.25))
    my program
      step       objective           bound       gap  residual  changed   seconds
         1               2             1.7   1.0e-01         -        0      0.25
    """

    header = (
        f"{'step':>6}  {'objective':>14}  {'bound':>14}  {'gap':>8}  {'residual':>8}  {'changed':>7}  {'seconds':>8}"
    )

    def __init__(self, titles: Sequence[str] = (), stream: TextIO | None = None) -> None:
        self._titles = list(titles)
        self._stream = stream
        self._count = 0
        self._seconds = math.inf

    def __call__(self, step: Step) -> None:
        """Print the line of a step; start a new table at the first step, and if the elapsed time has become smaller."""
        if step.seconds < self._seconds:
            self._count = 0
            title = [self._titles.pop(0)] if self._titles else []
            self._write("\n".join([*title, self.header]))
        self._seconds, self._count = step.seconds, self._count + 1
        self._write(self._format(step))

    def _format(self, step: Step) -> str:
        """Return the line of a step; numbers that a step does not have are "-"."""
        residual = None if step.certificate is None else step.certificate.worst
        cells = (
            f"{self._count:6d}",
            f"{step.objective:14.8g}",
            _format_optional(step.bound, 14, ".8g"),
            _format_optional(relative_gap(step), 8, ".1e"),
            _format_optional(residual, 8, ".1e"),
            f"{step.changed:7d}",
            f"{step.seconds:8.2f}",
        )
        return "  ".join(cells)

    def _write(self, text: str) -> None:
        """Write a line at once, so that it can be seen while the scheme runs."""
        stream = sys.stderr if self._stream is None else self._stream
        stream.write(f"{text}\n")
        stream.flush()


def _format_optional(number: float | None, width: int, spec: str) -> str:
    """Return a number with a width, or "-" for None."""
    return f"{'-' if number is None else format(number, spec):>{width}}"
