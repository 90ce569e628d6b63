"""Tokens of LP files: numbers, names, signs and section titles, each with the number of its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from milopt.data.messages import quote
from milopt.data.text_file import TextFile
from milopt.errors import DataError


class LpSection(Enum):
    """Sections of an LP file."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"
    ROWS = "subject to"
    BOUNDS = "bounds"
    GENERAL = "general"
    BINARY = "binary"
    SEMICONTINUOUS = "semi-continuous"
    UNSUPPORTED = "unsupported"
    END = "end"


class TokenKind(Enum):
    """Type of a token."""

    NUMBER = "number"
    NAME = "name"
    SIGN = "sign"
    SECTION = "section"


@dataclass(frozen=True, slots=True)
class Token:
    """Token of an LP file; `number` is set for numbers only, and `section` for section titles only."""

    sort: TokenKind
    text: str
    line: int
    number: float = 0.0
    section: LpSection | None = None


_SECTION_TITLES = (
    (LpSection.MINIMIZE, r"min(?:imi[sz]e|imum)?"),
    (LpSection.MAXIMIZE, r"max(?:imi[sz]e|imum)?"),
    (LpSection.ROWS, r"subject\s+to|such\s+that|s\.t\.|st\.?"),
    (LpSection.BOUNDS, r"bounds?"),
    (LpSection.GENERAL, r"gen(?:erals?)?|int(?:egers?)?"),
    (LpSection.BINARY, r"bin(?:ary|aries)?"),
    (LpSection.SEMICONTINUOUS, r"semi-continuous|semis?"),
    (LpSection.UNSUPPORTED, r"sos[12]?|pwlobj|general\s+constraints?|user\s+cuts|lazy\s+constraints"),
    (LpSection.END, r"end"),
)
"""Regular expression of the titles of each section."""
# A title is at the start of its line, and is not followed by a sign or word that would make it part of an expression.
_SECTION_TITLE_PATTERN = re.compile(
    r"\s*(?:" + "|".join(f"(?P<{section.name}>{words})" for section, words in reversed(_SECTION_TITLES)) + r")(?=\s|$)"
    r"(?!\s*(?:[:<>=^*]|free\b))",
    re.IGNORECASE,
)
_ROWS_TITLE_PATTERN = re.compile(r"\s(?:subject\s+to|such\s+that|s\.t\.|st\.?)(?=\s|$)", re.IGNORECASE)
_NAME_LETTERS = r"A-Za-z_!\"#$%&(),;?@'`{}~|"
_TOKEN_PATTERN = re.compile(
    r"\s*(?:"
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<sign><=|=<|>=|=>|->|<|>|=|::|:|\+|-|\*|\^|\[|\]|/)"
    rf"|(?P<name>[{_NAME_LETTERS}](?:[{_NAME_LETTERS}0-9./]|\[[^\[\]\s]*\])*)"
    r")"
)


class LpTokens:
    """Stream of the tokens of a file, whose next tokens can be read before they are consumed."""

    def __init__(self, path: Path) -> None:
        self._file = TextFile(path, comment="\\")
        self._words = self._read_tokens()
        self._ahead: list[Token] = []

    def peek(self, steps: int = 0) -> Token | None:
        """Return the next token, or the one `steps` tokens later, without consuming it; None at the end of the file."""
        while len(self._ahead) <= steps:
            word = next(self._words, None)
            if word is None:
                return None
            self._ahead.append(word)
        return self._ahead[steps]

    def take(self) -> Token:
        """Consume and return the next token, or raise an error at the end of the file."""
        word = self.peek()
        if word is None:
            raise self._file.error("the file ends in the middle of an expression")
        self._ahead.pop(0)
        return word

    def take_if(self, *texts: str) -> Token | None:
        """Consume and return the next token if it is one of the signs `texts`, otherwise return None."""
        word = self.peek()
        return self.take() if word is not None and word.sort is TokenKind.SIGN and word.text in texts else None

    def error(self, problem: str, at: Token | None = None) -> DataError:
        """Return (do not raise) an error that states the line of the token `at`; None means the next token."""
        place = at or self.peek()
        return self._file.error(problem, place.line if place else None)

    def _read_tokens(self) -> Iterator[Token]:
        """Yield the tokens of the file."""
        has_rows = False
        for raw in self._file:
            line = raw.partition("\\")[0]
            title, start = _SECTION_TITLE_PATTERN.match(line), 0
            if title is not None:
                assert title.lastgroup is not None
                section = LpSection[title.lastgroup]
                yield Token(TokenKind.SECTION, title.group().strip(), self._file.line, section=section)
                has_rows |= section is LpSection.ROWS
                start = title.end()
            # The objective and the title of the rows may be on the same line.
            if not has_rows and (title := _ROWS_TITLE_PATTERN.search(line, start)) is not None:
                has_rows = True
                yield from self._tokenize(line, start, title.start())
                yield Token(TokenKind.SECTION, title.group().strip(), self._file.line, section=LpSection.ROWS)
                start = title.end()
            yield from self._tokenize(line, start, len(line))

    def _tokenize(self, line: str, start: int, stop: int) -> Iterator[Token]:
        """Yield the tokens of line[start:stop]."""
        stop = len(line[:stop].rstrip())
        while start < stop:
            match = _TOKEN_PATTERN.match(line, start, stop)
            if match is None:
                raise self._file.error(f"{quote(line[start:stop].split()[0])} is neither a number, a name nor a sign")
            sort = TokenKind(match.lastgroup)
            text = match.group(sort.value)
            yield Token(sort, text, self._file.line, number=float(text) if sort is TokenKind.NUMBER else 0.0)
            start = match.end()
