"""Files that are there whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from milopt.errors import MiloptError

HAS_LOCKS = find_spec("fcntl") is not None
"""Whether the system has advisory locks, as Unix does."""
PART_PREFIX = ".milopt-part-"
"""How the names of files begin that are not written to their end yet."""


def write_whole(
    path: str | os.PathLike[str],
    write: Callable[[Path], object],
    what: str = "The file",
    failure: type[MiloptError] = MiloptError,
) -> None:
    """Let `write` fill a file beside `path`, of the same ending, and rename it; nothing is left behind on failure.

    What a killed process left behind is removed by the next one that writes to the same folder. A link stays one: what
    it leads to is written. So does what is no file of the disk's, such as a pipe: it is written to as it stands. The
    file has the rights of any new one.
    """
    with _told(path, what, failure):
        if _is_stream(Path(path)):
            write(Path(path))
        else:
            remove_leftovers(Path(os.path.realpath(path)).parent)
            replace_whole(Path(os.path.realpath(path)), write)


def replace_whole(target: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a part beside the target and rename it; raise an OSError as it comes."""
    handle, beside = _new_part(target)
    try:
        write(beside)
        # What was renamed must not be empty after a power failure.
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(target)
    finally:
        if handle is not None:
            os.close(handle)
        with suppress(FileNotFoundError):
            beside.unlink()


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


def remove_leftovers(folder: Path) -> None:
    """Remove the parts that killed processes left in a folder.

    A process holds a lock on the part that it writes, and loses the lock when it ends in any way. So a part that can be
    locked is nobody's. Without such locks, as on Windows, parts are left as they are.
    """
    if not HAS_LOCKS:
        return
    import fcntl

    # Whatever cannot be listed, opened or locked is left as it is: it is somebody else's, or in use, or gone by now.
    with suppress(OSError):
        for part in [folder / name for name in os.listdir(folder) if name.startswith(PART_PREFIX)]:
            with suppress(OSError):
                handle = os.open(part, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    part.unlink()
                finally:
                    os.close(handle)


def _new_part(target: Path) -> tuple[int | None, Path]:
    """Make an empty file beside the target, with the rights of any new file, and the handle that holds its lock."""
    while True:
        part = target.parent / f"{PART_PREFIX}{secrets.token_hex(8)}{target.suffix}"
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        if not HAS_LOCKS:
            os.close(handle)
            return None, part
        import fcntl

        # Nobody holds the lock for longer than it takes to remove a file. On a file system without locks, parts are
        # written without them.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, part
        # Another process removed the part between its making and its lock.
        os.close(handle)


def _is_stream(path: Path) -> bool:
    """A device, a pipe, a socket: renaming a file to its name would take it away from everybody."""
    return path.exists() and not path.is_file() and not path.is_dir()
