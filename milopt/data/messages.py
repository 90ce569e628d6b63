"""Formatting of file names, lines and values in error messages, always on one line."""

from __future__ import annotations

from pathlib import Path

from milopt.errors import DataError

_MAX_QUOTED_CHARACTERS = 60
"""Maximum number of characters of a quoted text in a message."""


def quote(text: object) -> str:
    """Return a text in double quotes for a message, with unprintable characters escaped and long text truncated."""
    whole = str(text)
    return (
        f'"{escape_unprintable(whole)}"'
        if len(whole) <= _MAX_QUOTED_CHARACTERS
        else f'"{escape_unprintable(whole[:_MAX_QUOTED_CHARACTERS])}..."'
    )


def escape_unprintable(text: str) -> str:
    """Return the text with unprintable characters escaped, so that it stays on one line."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def format_path(path: Path | str) -> str:
    """Return a path for a message: on one line, and truncated in the middle if it is long."""
    body = escape_unprintable(str(path))
    return body if len(body) <= 300 else f"{body[:100]}...{body[-100:]}"


def file_error(path: Path, problem: str, line: int | None = None) -> DataError:
    """Return (do not raise) a `DataError` with the message "FILE, line N: problem.", or "FILE: problem."."""
    where = format_path(path) if line is None else f"{format_path(path)}, line {line}"
    return DataError(f"{where}: {problem}.")
