"""Files that are there whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from milopt.errors import MiloptError


def write_whole(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, of the same ending, and rename it; nothing is left behind on failure."""
    target = Path(path)
    try:
        handle, name = mkstemp(dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix)
    except OSError as error:
        raise MiloptError(f"{target} cannot be written: {error.strerror or error}.") from error
    os.close(handle)
    beside = Path(name)
    try:
        write(beside)
        # mkstemp makes files for their owner's eyes only; a written file has the usual rights.
        beside.chmod(0o666 & ~_mask())
        beside.replace(target)
    except OSError as error:
        raise MiloptError(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """A text file, UTF-8."""
    write_whole(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def _mask() -> int:
    """The process's file mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
