"""Limit of the linear algebra libraries to one thread, so that all processes add in one order, with equal results."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.Lock()
_ACTIVE_LIMITS: list[Any] = []
"""Limits set by the threads that are inside `limit_to_one_thread` now; a limit holds for the whole process."""


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Limit the linear algebra libraries to one thread inside the block.

    The limit holds for the whole process. If several Python threads are inside, the last one that leaves restores the
    original settings.
    """
    # scipy brings its own linear algebra library, apart from that of numpy. A limit only affects libraries that are
    # already loaded, so scipy.linalg is imported first.
    import scipy.linalg  # noqa: F401 -- loads its library
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

    with _LOCK:
        _ACTIVE_LIMITS.append(threadpool_limits(limits=1))
    try:
        yield
    finally:
        with _LOCK:
            # Limits are removed in reverse order, so that the first limit, which has the original settings, is last.
            _ACTIVE_LIMITS.pop().restore_original_limits()
