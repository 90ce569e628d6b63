"""Limit of the linear algebra libraries to one thread, so that sums have one order and all workers the same results."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.Lock()
_ACTIVE_LIMITS: list[Any] = []
"""Limits set by the threads that are inside `one_thread` now; a limit holds for the whole process."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the loaded linear algebra libraries to one thread; the last thread that leaves restores the settings."""
    # scipy has its own library, which must be loaded before the limit is set.
    import scipy.linalg  # noqa: F401 -- loads its library
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

    with _LOCK:
        _ACTIVE_LIMITS.append(threadpool_limits(limits=1))
    try:
        yield
    finally:
        with _LOCK:
            # Limits are removed in reverse order; the first one holds the original settings and is removed last.
            _ACTIVE_LIMITS.pop().restore_original_limits()
