"""The lines of a text file, plain or gzip, one at a time and within bounds, with the line's number for messages."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from milopt.data.limits import EMPTY_LINES, LINE_BYTES, UNPACKED_BYTES, UNPACKED_RATIO
from milopt.data.messages import file_error
from milopt.errors import DataError

_GZIP = b"\x1f\x8b"


def regular(path: Path) -> Path:
    """The path, if a file that can be read to an end is there: no folder, no device, no pipe."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise file_error(path, f"the file cannot be opened ({_reason(error)})") from None
    if not stat.S_ISREG(mode):
        raise file_error(path, f"this is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}; give a data file")
    return path


class TextFile:
    """The lines of a UTF-8 file without their ends, empty ones left out; `line` is the number of the last, from 1.

    Lines that start with `comment` need not be UTF-8: comments are for people, and older than UTF-8 in places.
    """

    def __init__(self, path: Path, comment: str = "") -> None:
        self.path = regular(path)
        self._comment = comment.encode()
        self.line = 0
        self._lines = self._read()

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def error(self, problem: str, line: int | None = None) -> DataError:
        """What is wrong at a line, by default the last one that was read."""
        return file_error(self.path, problem, (line or self.line) or None)

    def _read(self) -> Iterator[str]:
        packed = self.path.name.casefold().endswith(".gz")
        room = UNPACKED_BYTES + UNPACKED_RATIO * self.path.stat().st_size if packed else None
        total = empty = 0
        try:
            with self._open(packed) as stream:
                while raw := stream.readline(LINE_BYTES + 1):
                    self.line += 1
                    total += len(raw)
                    if room is not None and total > room:
                        size = f"more than {room >> 20} MB, far more than it should"
                        raise self.error(f"the file unpacks to {size}; unpack it, and give the plain file")
                    if len(raw) > LINE_BYTES:
                        raise self.error(f"the line is longer than {LINE_BYTES >> 20} MB; this is no data file")
                    if raw.isspace():
                        empty += 1
                        if empty > EMPTY_LINES:
                            raise self.error(f"more than {EMPTY_LINES} lines are empty; this is no data file")
                        continue
                    yield self._decoded(raw)
        except (OSError, EOFError, zlib.error) as error:
            after = f" after line {self.line}" if self.line else ""
            raise file_error(self.path, f"the file cannot be read{after} ({_reason(error)})") from None

    def _open(self, packed: bool) -> BufferedReader:
        with self.path.open("rb") as stream:
            magic = stream.read(2)
        if packed and magic != _GZIP:
            raise file_error(self.path, "this is no gzip file, though its name ends in .gz; rename or pack it")
        if not packed and magic == _GZIP:
            raise file_error(self.path, "this is a gzip file; let its name end in .gz")
        # A gzip file reads lines in Python; buffered, it reads them as fast as any other.
        return BufferedReader(gzip.GzipFile(self.path), 1 << 16) if packed else self.path.open("rb")

    def _decoded(self, raw: bytes) -> str:
        if self.line == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        errors = "replace" if self._comment and raw.startswith(self._comment) else "strict"
        try:
            return raw.decode("utf-8", errors).rstrip("\r\n")
        except UnicodeDecodeError:
            raise self.error("the line is not UTF-8 text; save the file as UTF-8") from None


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__
