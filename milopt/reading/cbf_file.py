"""Parser of CBF files:  min or max c'x + d   s.t.  A x + b in K,  x in K_x,  some x integer.

The linear, second-order, rotated second-order and exponential cones are supported. For other cones and for semidefinite
variables, an error names the section or the cone. Every error states the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Mask, Vector
from milopt.data.messages import quote
from milopt.data.text_file import TextFile
from milopt.errors import DataError
from milopt.reading.flat_model import MatrixEntries

LATEST_CBF_VERSION = 4
"""Latest supported version of the format."""
MAX_COLUMNS_OR_ROWS = 1 << 27
"""Maximum number of columns, and of rows, in a file; more would not fit into memory."""
SUPPORTED_CONES = ("F", "L=", "L+", "L-", "Q", "QR", "EXP")
"""Codes of the supported cones in CBF files."""
IS_MAXIMISED_BY_SENSE = {"MIN": False, "MAX": True}
"""Values of the section OBJSENSE; True means maximisation."""


@dataclass(frozen=True)
class ConeRun:
    """Consecutive columns or rows, from `start` to `stop` - 1, in one cone with the CBF code `code`."""

    code: str
    start: int
    stop: int


@dataclass(frozen=True)
class CbfModel:
    """Content of a CBF file: min or max cost'x + constant s.t. A x + b in row_cones, x in column_cones.

    `integer` is True for the columns with integer values.
    """

    name: str
    maximizes: bool
    constant: float
    cost: Vector
    A: sp.csr_array
    b: Vector
    integer: Mask
    column_cones: tuple[ConeRun, ...]
    row_cones: tuple[ConeRun, ...]


def read_cbf(path: Path) -> CbfModel:
    """Parse a CBF file."""
    return _CbfReader(path).parse()


class _CbfReader:
    """State of parsing one CBF file."""

    def __init__(self, path: Path) -> None:
        self._file = TextFile(path, comment="#")
        self._lines = (line.split() for line in self._file if not line.lstrip().startswith("#"))
        self._name = path.name.split(".")[0]
        self._n = self._m = 0
        self._column_cones: tuple[ConeRun, ...] = ()
        self._row_cones: tuple[ConeRun, ...] = ()
        self._maximizes = False
        self._constant = 0.0
        self._integer: set[int] = set()
        self._cost, self._A, self._b = MatrixEntries(), MatrixEntries(), MatrixEntries()

    def parse(self) -> CbfModel:
        """Parse the file, and return its content."""
        seen: set[str] = set()
        for words in self._lines:
            title = " ".join(words)
            if not seen and title != "VER":
                raise self._error("a CBF file begins with VER and its version")
            if title in seen:
                raise self._error(f"the section {title} occurs twice")
            self._parse_section(title, seen)
            seen.add(title)
        for needed in ("VER", "OBJSENSE", "VAR"):
            if needed not in seen:
                raise self._error(f"the section {needed} is missing; the file is not complete")
        return CbfModel(
            name=self._name,
            maximizes=self._maximizes,
            constant=self._constant,
            cost=self._cost.matrix((1, self._n)).toarray().ravel(),
            A=self._A.matrix((self._m, self._n)),
            b=self._b.matrix((1, self._m)).toarray().ravel(),
            integer=np.isin(np.arange(self._n), list(self._integer)),
            column_cones=self._column_cones,
            row_cones=self._row_cones,
        )

    def _parse_section(self, title: str, seen: set[str]) -> None:
        """Parse the section with this title; `seen` are the titles of the sections before it."""
        if (title in ("INT", "OBJACOORD") and "VAR" not in seen) or (title == "BCOORD" and "CON" not in seen):
            raise self._error(f"the section {title} comes before the section that declares its columns or rows")
        if title == "ACOORD" and not {"VAR", "CON"} <= seen:
            raise self._error("the section ACOORD comes before VAR or CON")
        match title:
            case "VER":
                version = self._parse_integer_at_most(self._next_line(1)[0], LATEST_CBF_VERSION)
                if version < 1:
                    raise self._error(f"version {version} of the format is not supported")
            case "OBJSENSE":
                sense = self._next_line(1)[0].upper()
                if sense not in IS_MAXIMISED_BY_SENSE:
                    raise self._error(f"OBJSENSE is MIN or MAX, not {quote(sense)}")
                self._maximizes = IS_MAXIMISED_BY_SENSE[sense]
            case "VAR":
                self._n, self._column_cones = self._parse_cones()
            case "CON":
                self._m, self._row_cones = self._parse_cones()
            case "INT":
                self._integer = {self._parse_index(words[0], self._n) for words in self._counted_lines(1)}
            case "OBJACOORD":
                for column, value in self._counted_lines(2):
                    self._cost.add(0, self._parse_index(column, self._n), self._parse_number(value))
            case "OBJBCOORD":
                self._constant = self._parse_number(self._next_line(1)[0])
            case "ACOORD":
                for row, column, value in self._counted_lines(3):
                    self._A.add(
                        self._parse_index(row, self._m), self._parse_index(column, self._n), self._parse_number(value)
                    )
            case "BCOORD":
                for row, value in self._counted_lines(2):
                    self._b.add(0, self._parse_index(row, self._m), self._parse_number(value))
            case _:
                raise self._error(f"milopt does not support the section {quote(title)}")

    def _parse_cones(self) -> tuple[int, tuple[ConeRun, ...]]:
        """Parse the cones of the section VAR or CON; return (number of columns or rows, cones)."""
        total_text, count_text = self._next_line(2)
        total, count = (
            self._parse_integer_at_most(total_text, MAX_COLUMNS_OR_ROWS),
            self._parse_integer_at_most(count_text, MAX_COLUMNS_OR_ROWS),
        )
        runs, start = [], 0
        for _ in range(count):
            code, size_text = self._next_line(2)
            size = self._parse_integer_at_most(size_text, MAX_COLUMNS_OR_ROWS)
            if code not in SUPPORTED_CONES:
                raise self._error(
                    f"milopt does not support the cone {quote(code)}; it supports {', '.join(SUPPORTED_CONES)}"
                )
            if (code == "EXP" and size != 3) or (code == "QR" and size < 2) or size < 1:
                raise self._error(f"a cone {code} cannot have {size} entries")
            runs.append(ConeRun(code, start, start + size))
            start += size
        if start != total:
            raise self._error(f"the cones have {start} entries in total, but {total} were declared")
        return total, tuple(runs)

    # -- lines and numbers -------------------------------------------------------------------------------------

    def _next_line(self, count: int) -> list[str]:
        """Return the words of the next line, or raise an error if the line does not have exactly `count` words."""
        words = next(self._lines, None)
        if words is None:
            raise self._error("the file ends in the middle of a section")
        if len(words) != count:
            raise self._error(f"{count} words were expected, not {quote(' '.join(words))}")
        return words

    def _counted_lines(self, width: int) -> Iterator[list[str]]:
        """Yield the lines of a section, each with `width` words, after the first line, which is their number."""
        for _ in range(self._parse_integer_at_most(self._next_line(1)[0], MAX_COLUMNS_OR_ROWS)):
            yield self._next_line(width)

    def _parse_integer_at_most(self, text: str, most: int) -> int:
        """Return the text as an integer, or raise an error if it is not an integer from 0 to `most`."""
        if not (text.isascii() and text.isdigit()) or len(text) > 12 or int(text) > most:
            raise self._error(f"{quote(text)} is not a whole number of at most {most}")
        return int(text)

    def _parse_index(self, text: str, count: int) -> int:
        """Return the text as an index, or raise an error if it is not an integer from 0 to count - 1."""
        if count == 0:
            raise self._error(f"the index {quote(text)} is out of range: there are no entries")
        return self._parse_integer_at_most(text, count - 1)

    def _parse_number(self, text: str) -> float:
        """Return the text as a number, or raise an error if it is not a finite number."""
        try:
            value = float(text) if "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._error(f"{quote(text)} is not a finite number")
        return value

    def _error(self, problem: str) -> DataError:
        """Return (do not raise) an error with the file, the current line and the problem."""
        return self._file.error(problem)
