"""Capture the standard output of a solver as text, whether C, Rust or Python code writes it."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TypeVar

T = TypeVar("T")


def capture_output(call: Callable[[], T]) -> tuple[T, str]:
    """Call a function and return its value together with everything it wrote to standard output.

    Both file descriptor 1 and `sys.stdout` are redirected. They belong to the whole process, so output that other
    threads write during the call is captured too.
    """
    _flush_standard_output()
    original = os.dup(1)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file:
        try:
            os.dup2(file.fileno(), 1)
            with redirect_stdout(file):
                value = call()
                _flush_standard_output()
        finally:
            os.dup2(original, 1)
            os.close(original)
        file.seek(0)
        return value, file.read()


def _flush_standard_output() -> None:
    """Flush the buffers of Python and of the C library, so that buffered text goes to the present standard output."""
    if sys.stdout is not None:
        sys.stdout.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
