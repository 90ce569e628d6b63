"""One thread for the linear algebra libraries: sums then run in one order, and every worker gives the same numbers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.Lock()
_INSIDE: list[Any] = []
"""The limits set by the threads that are inside now; the limit itself belongs to the whole process."""


@contextmanager
def one_thread() -> Iterator[None]:
    """While any thread is inside, the libraries that are loaded use one thread; the last one out restores them."""
    # scipy brings a library of its own, which a limit set before it is loaded would not reach.
    import scipy.linalg  # noqa: F401 -- for its library
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it comes without types

    with _LOCK:
        _INSIDE.append(threadpool_limits(limits=1))
    try:
        yield
    finally:
        with _LOCK:
            # Whoever leaves takes the youngest limit back; the oldest, which knows how it was, goes last.
            _INSIDE.pop().restore_original_limits()
