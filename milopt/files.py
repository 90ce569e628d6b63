"""Atomic writing of files: a file is written to a temporary file in the same directory, which is then renamed."""

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

HAS_FILE_LOCKS = find_spec("fcntl") is not None
"""True if the operating system has advisory file locks (Unix); False on Windows."""
TEMPORARY_FILE_PREFIX = ".milopt-part-"
"""Prefix of the names of the temporary files that `write_atomically` creates."""


def write_atomically(
    path: str | os.PathLike[str],
    write: Callable[[Path], object],
    subject: str = "The file",
    failure: type[MiloptError] = MiloptError,
) -> None:
    """Write a file atomically: write to a temporary file in the same directory, then rename it.

    If writing fails, the target is unchanged and the temporary file is removed. Temporary files of killed processes are
    removed by the next process that writes to the same directory. A symbolic link is followed, and its target is
    replaced. Pipes and devices are written directly, because a renamed file would replace them. The new file gets the
    default permissions (umask).

    Parameters
    ----------
    path : str or path-like
        Target file.
    write : callable
        Called with the path of the temporary file, which has the same suffix as `path`.
    subject : str, default="The file"
        Subject of the error message.
    failure : type of MiloptError
        Exception to raise if the file cannot be written.
    """
    with _map_os_errors(path, subject, failure):
        if _is_device_or_pipe(Path(path)):
            write(Path(path))
        else:
            remove_stale_temporary_files(Path(os.path.realpath(path)).parent)
            replace_atomically(Path(os.path.realpath(path)), write)


def replace_atomically(target: Path, write: Callable[[Path], object]) -> None:
    """Write a temporary file in the folder of `target`, then rename it to `target`; any OSError is raised unchanged."""
    handle, part = _create_temporary_file(target)
    try:
        write(part)
        # Without fsync, the renamed file might be empty after a power failure.
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        if handle is not None:
            os.close(handle)
        with suppress(FileNotFoundError):
            part.unlink()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, atomically."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def check_can_write(
    path: str | os.PathLike[str], subject: str = "The file", failure: type[MiloptError] = MiloptError
) -> None:
    """Raise `failure` if a file cannot be written to this path; the check creates a temporary file in the folder.

    `subject` is the subject of the error message.
    """
    with _map_os_errors(path, subject, failure):
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not _is_device_or_pipe(Path(path)):
            with TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
                pass


def open_regular_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading in binary mode; raise OSError if the path is anything else.

    Reading from a device may never end, and opening a named pipe would wait for a writer. So devices and pipes are
    rejected without waiting.
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
def _map_os_errors(path: str | os.PathLike[str], subject: str, failure: type[MiloptError]) -> Iterator[None]:
    """Replace any OSError within a `with` block by `failure`, whose message has the subject `subject`."""
    try:
        yield
    except OSError as error:
        raise failure(f"{subject} cannot be written to {os.fspath(path)}: {error.strerror or error}.") from error


def remove_stale_temporary_files(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder.

    A process holds a lock on the temporary file that it writes, and the lock is released when the process ends for any
    reason. So a temporary file that can be locked belongs to no running process. On systems without such locks
    (Windows), temporary files are not removed.
    """
    if not HAS_FILE_LOCKS:
        return
    import fcntl

    # Files that cannot be listed, opened or locked are skipped: they belong to another user, are in use, or are gone.
    with suppress(OSError):
        for part in [folder / name for name in os.listdir(folder) if name.startswith(TEMPORARY_FILE_PREFIX)]:
            with suppress(OSError):
                handle = os.open(part, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    part.unlink()
                finally:
                    os.close(handle)


def _create_temporary_file(target: Path) -> tuple[int | None, Path]:
    """Create an empty temporary file in the folder of `target`, with default permissions.

    Return (handle, path): the open handle that holds the lock on the file (None on systems without locks), and the path
    of the file.
    """
    while True:
        part = target.parent / f"{TEMPORARY_FILE_PREFIX}{secrets.token_hex(8)}{target.suffix}"
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        if not HAS_FILE_LOCKS:
            os.close(handle)
            return None, part
        import fcntl

        # Locking does not wait long: another process holds the lock only while it removes the file. If the file system
        # does not support locks, the temporary file is written without one.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, part
        # Another process removed the temporary file before it was locked: try again.
        os.close(handle)


def _is_device_or_pipe(path: Path) -> bool:
    """Return True if the path is a device, pipe or socket.

    Such a path is written directly, because renaming a file to it would replace the device, pipe or socket.
    """
    return path.exists() and not path.is_file() and not path.is_dir()
