"""Reading of text files, plain or gzip, line by line and within the limits of `limits`."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from milopt.data.limits import MAX_EMPTY_LINES, MAX_LINE_BYTES, MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO
from milopt.data.messages import file_error
from milopt.errors import DataError

_GZIP_MAGIC = b"\x1f\x8b"


def check_regular_file(path: Path) -> Path:
    """Return the path if it is a regular file (not a directory, device or pipe), otherwise raise an error."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise file_error(path, f"the file cannot be opened ({_format_reason(error)})") from None
    if not stat.S_ISREG(mode):
        raise file_error(
            path, f"this is {'a directory' if stat.S_ISDIR(mode) else 'no regular file'}; give a data file"
        )
    return path


class TextFile:
    """Nonempty lines of a UTF-8 file without line ends; `line` is the number of the last line read, from 1.

    Lines that start with `comment` need not be UTF-8, because old files have comments in other encodings.
    """

    def __init__(self, path: Path, comment: str = "") -> None:
        self.path = check_regular_file(path)
        self._comment = comment.encode()
        self.line = 0
        self._lines = self._read_lines()

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def error(self, problem: str, line: int | None = None) -> DataError:
        """Return (do not raise) an error that names the file and a line, by default the last line read."""
        return file_error(self.path, problem, (line or self.line) or None)

    def _read_lines(self) -> Iterator[str]:
        """Yield the nonempty lines without line ends; raise an error if the file exceeds a limit."""
        packed = self.path.name.casefold().endswith(".gz")
        room = MAX_UNPACKED_BYTES + MAX_UNPACKED_RATIO * self.path.stat().st_size if packed else None
        total = empty = 0
        try:
            with self._open(packed) as stream:
                while raw := stream.readline(MAX_LINE_BYTES + 1):
                    self.line += 1
                    total += len(raw)
                    if room is not None and total > room:
                        size = f"more than {room >> 20} MB, far more than expected"
                        raise self.error(f"the file decompresses to {size}; decompress it, and give the plain file")
                    if len(raw) > MAX_LINE_BYTES:
                        raise self.error(f"the line is longer than {MAX_LINE_BYTES >> 20} MB; this is not a data file")
                    if raw.isspace():
                        empty += 1
                        if empty > MAX_EMPTY_LINES:
                            raise self.error(f"more than {MAX_EMPTY_LINES} lines are empty; this is not a data file")
                        continue
                    yield self._decode(raw)
        except (OSError, EOFError, zlib.error) as error:
            after = f" after line {self.line}" if self.line else ""
            raise file_error(self.path, f"the file cannot be read{after} ({_format_reason(error)})") from None

    def _open(self, packed: bool) -> BufferedReader:
        """Open the file for reading (decompress if `packed`), or raise an error if name and content disagree."""
        with self.path.open("rb") as stream:
            magic = stream.read(2)
        if packed and magic != _GZIP_MAGIC:
            raise file_error(self.path, "this is not a gzip file, although its name ends in .gz; rename or compress it")
        if not packed and magic == _GZIP_MAGIC:
            raise file_error(self.path, "this is a gzip file; rename it so that its name ends in .gz")
        # GzipFile.readline is slow; with a buffer it is as fast as for a plain file.
        return BufferedReader(gzip.GzipFile(self.path), 1 << 16) if packed else self.path.open("rb")

    def _decode(self, raw: bytes) -> str:
        """Decode one line without its line end; raise an error if the line is not UTF-8, unless it is a comment."""
        if self.line == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        errors = "replace" if self._comment and raw.startswith(self._comment) else "strict"
        try:
            return raw.decode("utf-8", errors).rstrip("\r\n")
        except UnicodeDecodeError:
            raise self.error("the line is not UTF-8 text; save the file as UTF-8") from None


def _format_reason(error: Exception) -> str:
    """Return the reason of an error as text on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__
