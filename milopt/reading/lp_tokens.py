"""The words of an LP file: numbers, names, signs and section titles, each with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from milopt.data.messages import shown
from milopt.data.text_file import TextFile
from milopt.errors import DataError


class Section(Enum):
    """The parts of an LP file."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"
    ROWS = "subject to"
    BOUNDS = "bounds"
    GENERAL = "general"
    BINARY = "binary"
    SEMICONTINUOUS = "semi-continuous"
    UNSUPPORTED = "unsupported"
    END = "end"


class Sort(Enum):
    """The sort of a word."""

    NUMBER = "number"
    NAME = "name"
    SIGN = "sign"
    SECTION = "section"


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the file."""

    sort: Sort
    text: str
    line: int
    number: float = 0.0
    section: Section | None = None


_TITLES = (
    (Section.MINIMIZE, r"min(?:imi[sz]e|imum)?"),
    (Section.MAXIMIZE, r"max(?:imi[sz]e|imum)?"),
    (Section.ROWS, r"subject\s+to|such\s+that|s\.t\.|st\.?"),
    (Section.BOUNDS, r"bounds?"),
    (Section.GENERAL, r"gen(?:erals?)?|int(?:egers?)?"),
    (Section.BINARY, r"bin(?:ary|aries)?"),
    (Section.SEMICONTINUOUS, r"semi-continuous|semis?"),
    (Section.UNSUPPORTED, r"sos[12]?|pwlobj|general\s+constraints?|user\s+cuts|lazy\s+constraints"),
    (Section.END, r"end"),
)
# A title begins its line, and neither a name nor a sign follows that would make it a part of an expression.
_TITLE = re.compile(
    r"\s*(?:" + "|".join(f"(?P<{section.name}>{words})" for section, words in reversed(_TITLES)) + r")(?=\s|$)"
    r"(?!\s*(?:[:<>=^*]|free\b))",
    re.IGNORECASE,
)
_ROWS_TITLE = re.compile(r"\s(?:subject\s+to|such\s+that|s\.t\.|st\.?)(?=\s|$)", re.IGNORECASE)
_LETTERS = r"A-Za-z_!\"#$%&(),;?@'`{}~|"
_WORD = re.compile(
    r"\s*(?:"
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<sign><=|=<|>=|=>|->|<|>|=|::|:|\+|-|\*|\^|\[|\]|/)"
    rf"|(?P<name>[{_LETTERS}](?:[{_LETTERS}0-9./]|\[[^\[\]\s]*\])*)"
    r")"
)


class LpTokens:
    """The words of a file, with a look ahead."""

    def __init__(self, path: Path) -> None:
        self._file = TextFile(path, comment="\\")
        self._words = self._read()
        self._ahead: list[Token] = []

    def peek(self, steps: int = 0) -> Token | None:
        """Return the next word, or one a few steps further; None at the end of the file."""
        while len(self._ahead) <= steps:
            word = next(self._words, None)
            if word is None:
                return None
            self._ahead.append(word)
        return self._ahead[steps]

    def take(self) -> Token:
        """Return the next word and go on."""
        word = self.peek()
        if word is None:
            raise self._file.error("the file ends in the middle of an expression")
        self._ahead.pop(0)
        return word

    def takes(self, *texts: str) -> Token | None:
        """Take the next word if it is one of these signs."""
        word = self.peek()
        return self.take() if word is not None and word.sort is Sort.SIGN and word.text in texts else None

    def error(self, problem: str, at: Token | None = None) -> DataError:
        """Return an error at a word, by default the next one."""
        place = at or self.peek()
        return self._file.error(problem, place.line if place else None)

    def _read(self) -> Iterator[Token]:
        has_rows = False
        for raw in self._file:
            line = raw.partition("\\")[0]
            title, start = _TITLE.match(line), 0
            if title is not None:
                assert title.lastgroup is not None
                section = Section[title.lastgroup]
                yield Token(Sort.SECTION, title.group().strip(), self._file.line, section=section)
                has_rows |= section is Section.ROWS
                start = title.end()
            # The objective and the title of the rows may share a line.
            if not has_rows and (title := _ROWS_TITLE.search(line, start)) is not None:
                has_rows = True
                yield from self._words_of(line, start, title.start())
                yield Token(Sort.SECTION, title.group().strip(), self._file.line, section=Section.ROWS)
                start = title.end()
            yield from self._words_of(line, start, len(line))

    def _words_of(self, line: str, start: int, stop: int) -> Iterator[Token]:
        stop = len(line[:stop].rstrip())
        while start < stop:
            found = _WORD.match(line, start, stop)
            if found is None:
                raise self._file.error(f"{shown(line[start:stop].split()[0])} is neither a number, a name nor a sign")
            sort = Sort(found.lastgroup)
            text = found.group(sort.value)
            yield Token(sort, text, self._file.line, number=float(text) if sort is Sort.NUMBER else 0.0)
            start = found.end()
