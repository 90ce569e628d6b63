"""What a solver prints: the process's standard output kept as text, whether C, Rust or Python writes it."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TypeVar

T = TypeVar("T")


def captured(call: Callable[[], T]) -> tuple[T, str]:
    """The call's value, and all that was written meanwhile to descriptor 1 or to `sys.stdout`.

    Both belong to the whole process: what other threads print meanwhile is captured too.
    """
    _flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file:
        try:
            os.dup2(file.fileno(), 1)
            with redirect_stdout(file):
                value = call()
                _flush()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return value, file.read()


def _flush() -> None:
    """Empty Python's and the C library's buffers, so that each text lands on its own side."""
    if sys.stdout is not None:
        sys.stdout.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
