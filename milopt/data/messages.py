"""How a message about a file names the file, the line, and what was found there: always on one line."""

from __future__ import annotations

from pathlib import Path

from milopt.errors import DataError

_SHOWN = 60


def shown(text: object) -> str:
    """Text from a file in double quotes: what cannot be printed is escaped, what is long is cut."""
    whole = str(text)
    return f'"{printable(whole)}"' if len(whole) <= _SHOWN else f'"{printable(whole[:_SHOWN])}..."'


def printable(text: str) -> str:
    """The text with what cannot be printed escaped, so that it stays on its line."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def spelled_path(path: Path | str) -> str:
    """A path as a message gives it: on one line, and no longer than a few lines of a screen."""
    body = printable(str(path))
    return body if len(body) <= 300 else f"{body[:100]}...{body[-100:]}"


def file_error(path: Path, problem: str, line: int | None = None) -> DataError:
    """`FILE, line N: problem.`"""
    where = spelled_path(path) if line is None else f"{spelled_path(path)}, line {line}"
    return DataError(f"{where}: {problem}.")
