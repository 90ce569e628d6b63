"""Medians of processor time, and tables of benchmarks."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def single_thread() -> None:
    """Restart this command with single-threaded linear algebra, so that processor time measures work."""
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"OMP_NUM_THREADS": "1"})


def time_call(run: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[float, T]:
    """Return the processor seconds and the result of one call."""
    began = time.process_time()
    result = run(*args, **kwargs)
    return time.process_time() - began, result


def median(run: Callable[[], object], runs: int = 7, warm: int = 1) -> float:
    """Return the median processor seconds of several calls, without the first `warm` calls."""
    return statistics.median([time_call(run)[0] for _ in range(warm + runs)][warm:])


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], first: int = 32, least: int = 13) -> None:
    """Print rows as they are computed; the first column is aligned to the left, the others to the right."""
    widths = [first, *(max(least, len(head) + 2) for head in heads[1:])]
    print("".join(_cell(head, width, k) for k, (head, width) in enumerate(zip(heads, widths, strict=True))))
    for row in rows:
        print("".join(_cell(_text(v), w, k) for k, (v, w) in enumerate(zip(row, widths, strict=True))), flush=True)


def _cell(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column == 0 else text.rjust(width)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1e}" if value and abs(value) < 1e-3 else f"{value:.4g}"
    return str(value)
