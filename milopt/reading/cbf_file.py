"""CBF files:  min or max c'x + d   s.t.  A x + b in K,  x in K_x,  some x integer.

Read are the linear, second-order, rotated second-order and exponential cones of the format; a file with others, or with
semidefinite variables, is refused by the name of the section or of the cone. Every problem is reported with its line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Mask, Vector
from milopt.data.messages import shown
from milopt.data.text_file import TextFile
from milopt.errors import DataError
from milopt.reading.flat_model import Entries

LATEST_VERSION = 4
LARGEST_COUNT = 1 << 27
"""Columns and rows of a file; more would not fit into memory."""
CONES = ("F", "L=", "L+", "L-", "Q", "QR", "EXP")
SENSES = {"MIN": False, "MAX": True}


@dataclass(frozen=True)
class ConeRun:
    """Consecutive columns or rows in one cone, by the code of the format."""

    code: str
    start: int
    stop: int


@dataclass(frozen=True)
class CbfModel:
    """The numbers of a file."""

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
    """Return the program in a CBF file."""
    return _CbfReader(path).model()


class _CbfReader:
    """One pass over a file; `model` returns what it holds."""

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
        self._cost, self._A, self._b = Entries(), Entries(), Entries()

    def model(self) -> CbfModel:
        """Read the file."""
        seen: set[str] = set()
        for words in self._lines:
            title = " ".join(words)
            if not seen and title != "VER":
                raise self._error("a CBF file begins with VER and its version")
            if title in seen:
                raise self._error(f"the section {title} is there twice")
            self._section(title, seen)
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

    def _section(self, title: str, seen: set[str]) -> None:
        if (title in ("INT", "OBJACOORD") and "VAR" not in seen) or (title == "BCOORD" and "CON" not in seen):
            raise self._error(f"the section {title} stands before the one that declares its columns or rows")
        if title == "ACOORD" and not {"VAR", "CON"} <= seen:
            raise self._error("the section ACOORD stands before VAR or CON")
        match title:
            case "VER":
                version = self._whole(self._line(1)[0], LATEST_VERSION)
                if version < 1:
                    raise self._error(f"version {version} of the format is not known")
            case "OBJSENSE":
                sense = self._line(1)[0].upper()
                if sense not in SENSES:
                    raise self._error(f"OBJSENSE is MIN or MAX, not {shown(sense)}")
                self._maximizes = SENSES[sense]
            case "VAR":
                self._n, self._column_cones = self._cones()
            case "CON":
                self._m, self._row_cones = self._cones()
            case "INT":
                self._integer = {self._index(words[0], self._n) for words in self._counted(1)}
            case "OBJACOORD":
                for column, value in self._counted(2):
                    self._cost.add(0, self._index(column, self._n), self._number(value))
            case "OBJBCOORD":
                self._constant = self._number(self._line(1)[0])
            case "ACOORD":
                for row, column, value in self._counted(3):
                    self._A.add(self._index(row, self._m), self._index(column, self._n), self._number(value))
            case "BCOORD":
                for row, value in self._counted(2):
                    self._b.add(0, self._index(row, self._m), self._number(value))
            case _:
                raise self._error(f"milopt does not read the section {shown(title)}")

    def _cones(self) -> tuple[int, tuple[ConeRun, ...]]:
        total_text, count_text = self._line(2)
        total, count = self._whole(total_text, LARGEST_COUNT), self._whole(count_text, LARGEST_COUNT)
        runs, start = [], 0
        for _ in range(count):
            code, size_text = self._line(2)
            size = self._whole(size_text, LARGEST_COUNT)
            if code not in CONES:
                raise self._error(f"milopt does not read the cone {shown(code)}; it reads {', '.join(CONES)}")
            if (code == "EXP" and size != 3) or (code == "QR" and size < 2) or size < 1:
                raise self._error(f"a cone {code} cannot have {size} entries")
            runs.append(ConeRun(code, start, start + size))
            start += size
        if start != total:
            raise self._error(f"the cones have {start} entries together; {total} were announced")
        return total, tuple(runs)

    # -- lines and numbers -------------------------------------------------------------------------------------

    def _line(self, count: int) -> list[str]:
        words = next(self._lines, None)
        if words is None:
            raise self._error("the file ends in the middle of a section")
        if len(words) != count:
            raise self._error(f"{count} words were expected, not {shown(' '.join(words))}")
        return words

    def _counted(self, width: int) -> Iterator[list[str]]:
        """Yield the lines of a section that begins with their number."""
        for _ in range(self._whole(self._line(1)[0], LARGEST_COUNT)):
            yield self._line(width)

    def _whole(self, text: str, most: int) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 12 or int(text) > most:
            raise self._error(f"{shown(text)} is no whole number of at most {most}")
        return int(text)

    def _index(self, text: str, count: int) -> int:
        if count == 0:
            raise self._error(f"the index {shown(text)} is out of range: there are none")
        return self._whole(text, count - 1)

    def _number(self, text: str) -> float:
        try:
            value = float(text) if "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._error(f"{shown(text)} is no finite number")
        return value

    def _error(self, problem: str) -> DataError:
        return self._file.error(problem)
