"""Files that are there whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile, mkstemp
from typing import BinaryIO

from milopt.errors import MiloptError


def write_whole(
    path: str | os.PathLike[str],
    write: Callable[[Path], object],
    what: str = "The file",
    failure: type[MiloptError] = MiloptError,
) -> None:
    """Let `write` fill a file beside `path`, of the same ending, and rename it; nothing is left behind on failure.

    A link stays one: what it leads to is written. So does what is no file of the disk's, such as a pipe: it is written
    to as it stands. The file has the rights of any new one.
    """
    with _told(path, what, failure):
        if _is_stream(Path(path)):
            write(Path(path))
        else:
            _replaced(Path(os.path.realpath(path)), write)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """A text file, UTF-8."""
    write_whole(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def check_place(path: str | os.PathLike[str], what: str = "The file", failure: type[MiloptError] = MiloptError) -> None:
    """Say so now if a file could not be written there, as far as can be known before."""
    with _told(path, what, failure):
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not _is_stream(Path(path)):
            with TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
                pass


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; raise an OSError if it is anything else.

    A device may never end, and a named pipe would wait for a writer, so neither is opened in a way that waits.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError as error:  # a path with a NUL character
        raise OSError(errno.EINVAL, str(error)) from error
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is a device or a pipe, not a file")
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


@contextmanager
def _told(path: str | os.PathLike[str], what: str, failure: type[MiloptError]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failure(f"{what} cannot be written to {os.fspath(path)}: {error.strerror or error}.") from error


def _replaced(target: Path, write: Callable[[Path], object]) -> None:
    handle, name = mkstemp(dir=target.parent, prefix=".milopt-", suffix=target.suffix)
    os.close(handle)
    beside = Path(name)
    try:
        write(beside)
        # What was renamed must not be empty after a power failure.
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        # mkstemp makes files for their owner's eyes only.
        beside.chmod(0o666 & ~_mask())
        beside.replace(target)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def _is_stream(path: Path) -> bool:
    """A device, a pipe, a socket: renaming a file to its name would take it away from everybody."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _mask() -> int:
    """The process's file mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
