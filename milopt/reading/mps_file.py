"""MPS files, free and fixed: one pass over the lines, every problem with its line.

Free files separate fields by blanks. In fixed files, fields begin at columns 2, 5, 15, 25, 40 and 50, so that names may
contain blanks; a file that cannot be read as a free one is tried as a fixed one.

The conventions on which readers differ are these. The first free row is the objective, others are left out. The
right-hand side of the objective is minus its constant. Integer columns between markers lie in [0, 1] if no bound is
given. A column with a negative upper bound and no lower bound has the lower bound -infinity, with a remark. Only the
first set of right-hand sides, ranges and bounds is read. QUADOBJ and QSECTION have one triangle of P, QMATRIX has both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.data.messages import shown
from milopt.data.text_file import TextFile
from milopt.errors import DataError
from milopt.reading.flat_model import INFINITE, Entries, FlatModel, without_infinities
from milopt.reading.mps_bounds import BARE_KINDS, INTEGER_KINDS, KINDS, MpsBounds, row_sides

FIELD_STARTS = (1, 4, 14, 24, 39, 49)
"""Where the fields of a fixed line begin, from 0."""
SENSES = {"MAX": True, "MAXIMIZE": True, "MAXIMISE": True, "MIN": False, "MINIMIZE": False, "MINIMISE": False}
UNSUPPORTED = {
    "SOS": "special ordered sets",
    "SOS1": "special ordered sets",
    "SOS2": "special ordered sets",
    "QCMATRIX": "quadratic rows",
    "CSECTION": "cones",
    "INDICATORS": "indicator rows",
    "LAZYCONS": "lazy rows",
    "USERCUTS": "user cuts",
    "GENCONS": "general constraints",
    "PWLOBJ": "a piecewise-linear objective",
}
"""Sections that change the program and have no counterpart here."""

_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?|inf(inity)?)", re.IGNORECASE)


def read_mps(path: Path) -> FlatModel:
    """Return the program in an MPS file."""
    try:
        return _MpsReader(path, fixed=False).model()
    except DataError as error:
        try:
            return _MpsReader(path, fixed=True).model()
        except DataError:
            raise error from None


class _MpsReader:
    """One pass over a file; `model` returns what it holds."""

    def __init__(self, path: Path, fixed: bool) -> None:
        self._file = TextFile(path, comment="*")
        self._fixed = fixed
        self._name = path.name.split(".")[0]
        self._maximizes = False
        self._objective: str | None = None
        self._constant = 0.0
        self._rows: dict[str, int] = {}
        self._senses: list[str] = []
        self._free_rows: set[str] = set()
        self._columns: dict[str, int] = {}
        self._column_rows: set[str] = set()
        self._cost: list[float] = []
        self._integer: list[bool] = []
        self._A, self._P = Entries(), Entries()
        self._pairs: set[tuple[int, int]] = set()
        self._has_both_triangles = False
        self._bounds = MpsBounds()
        self._rhs: dict[int, float] = {}
        self._ranges: dict[int, float] = {}
        self._sets: dict[str, str] = {}
        self._inside_marker = False
        self._remarks: dict[str, None] = {}
        self._ended = False

    def model(self) -> FlatModel:
        """Read the file."""
        readers: dict[str, Callable[[list[str]], None]] = {
            "NAME": self._unexpected,
            "OBJSENSE": self._sense,
            "OBJNAME": self._objective_name,
            "ROWS": self._row,
            "COLUMNS": self._column,
            "RHS": lambda fields: self._side(fields, "RHS"),
            "RANGES": lambda fields: self._side(fields, "RANGES"),
            "BOUNDS": self._bound,
            "QUADOBJ": self._quadratic,
            "QSECTION": self._quadratic,
            "QMATRIX": self._quadratic,
        }
        section = ""
        for line in self._file:
            if line.startswith("*") or line.isspace():
                continue
            if not line[0].isspace() and not (section == "OBJSENSE" and line.strip().upper() in SENSES):
                section = self._section(line.split(), readers)
                if self._ended:
                    break
                continue
            if not section:
                raise self._error("the first line must be a section such as NAME or ROWS; this is no MPS file")
            if fields := self._fields(line):
                readers[section](fields)
        if not self._ended:
            raise self._error("the file ends without ENDATA; it is not complete")
        return self._assembled()

    def _section(self, words: list[str], readers: dict[str, Callable[[list[str]], None]]) -> str:
        title = words[0].upper()
        if title == "ENDATA":
            self._ended = True
        elif title in UNSUPPORTED:
            raise self._error(f"the section {title} has {UNSUPPORTED[title]}, which milopt does not read")
        elif title not in readers:
            raise self._error(f"{shown(words[0])} is no section of an MPS file; lines of data begin with a blank")
        elif title == "NAME" and len(words) > 1:
            self._name = words[1]
        elif title == "OBJSENSE" and len(words) > 1:
            self._sense(words[1:])
        elif title in ("RHS", "RANGES", "BOUNDS", "COLUMNS") and len(words) > 1:
            raise self._error(f"the section {title} stands alone on its line; lines of data begin with a blank")
        if title == "QMATRIX":
            self._has_both_triangles = True
        return title

    def _fields(self, line: str) -> list[str]:
        if not self._fixed:
            return line.split()
        ends = (*FIELD_STARTS[1:], None)
        fields = [line[start:end].strip() for start, end in zip(FIELD_STARTS, ends, strict=True)]
        # The first field is for the kinds of rows and bounds only.
        return [field for field in fields if field]

    # -- sections ----------------------------------------------------------------------------------------------

    def _unexpected(self, fields: list[str]) -> None:
        raise self._error("a line of data stands before the first section that has any")

    def _sense(self, fields: list[str]) -> None:
        if len(fields) != 1 or fields[0].upper() not in SENSES:
            raise self._error(f"OBJSENSE is MIN or MAX, not {shown(' '.join(fields))}")
        self._maximizes = SENSES[fields[0].upper()]

    def _objective_name(self, fields: list[str]) -> None:
        self._objective = fields[0]

    def _row(self, fields: list[str]) -> None:
        if len(fields) != 2 or fields[0].upper() not in ("N", "L", "G", "E"):
            raise self._error(f"a row is N, L, G or E and a name, not {shown(' '.join(fields))}")
        kind, name = fields[0].upper(), fields[1]
        if name in self._rows or name in self._free_rows or (name == self._objective and kind != "N"):
            raise self._error(f"the row {shown(name)} is declared twice")
        if kind == "N":
            if self._objective is None:
                self._objective = name
            self._free_rows.add(name)
        else:
            self._rows[name] = len(self._senses)
            self._senses.append(kind)

    def _column(self, fields: list[str]) -> None:
        if len(fields) == 3 and fields[1].strip("'\"").upper() == "MARKER":
            marker = fields[2].strip("'\"").upper()
            if marker not in ("INTORG", "INTEND"):
                raise self._error(f"a marker is INTORG or INTEND, not {shown(fields[2])}")
            self._inside_marker = marker == "INTORG"
            return
        name, pairs = fields[0], fields[1:]
        if len(pairs) not in (2, 4):
            raise self._error("a line of COLUMNS is a column, a row and a number, and perhaps a row and a number more")
        if name not in self._columns:
            self._columns[name] = len(self._columns)
            self._cost.append(0.0)
            self._integer.append(self._inside_marker)
            self._column_rows = set()
        elif self._columns[name] != len(self._columns) - 1:
            raise self._error(f"the lines of column {shown(name)} do not stand together, or the column is there twice")
        for row, text in zip(pairs[::2], pairs[1::2], strict=True):
            value = self._number(text)
            if row in self._column_rows:
                raise self._error(f"column {shown(name)} has two entries in row {shown(row)}")
            self._column_rows.add(row)
            if row in self._rows:
                self._A.add(self._rows[row], self._columns[name], value)
            elif row == self._objective:
                self._cost[-1] = value
            elif row not in self._free_rows:
                raise self._error(f"the row {shown(row)} is not declared in ROWS")

    def _side(self, fields: list[str], section: str) -> None:
        pairs = fields
        if len(fields) % 2:
            pairs = fields[1:]
        if len(pairs) not in (2, 4):
            raise self._error(f"a line of {section} is a set, a row and a number, and perhaps a row and a number more")
        if not self._is_first_set(section, fields[0] if len(fields) % 2 else ""):
            return
        known = self._rhs if section == "RHS" else self._ranges
        for row, text in zip(pairs[::2], pairs[1::2], strict=True):
            value = self._number(text, finite=False)
            if row == self._objective and section == "RHS":
                self._constant = -self._finite(value, text)
            elif row in self._rows:
                if self._rows[row] in known:
                    raise self._error(f"the row {shown(row)} has two numbers in {section}")
                known[self._rows[row]] = value
            elif row not in self._free_rows:
                raise self._error(f"the row {shown(row)} is not declared in ROWS")

    def _bound(self, fields: list[str]) -> None:
        kind, rest = fields[0].upper(), fields[1:]
        if kind not in KINDS:
            raise self._error(f"{shown(fields[0])} is no kind of bound; the kinds are {', '.join(KINDS)}")
        is_bare = kind in BARE_KINDS
        # The name of the set may be left out; a number may follow kinds that need none, as in "BV BND x 1".
        if (is_bare and rest and (len(rest) == 1 or rest[0] in self._columns)) or (not is_bare and len(rest) == 2):
            rest = ["", *rest]
        if len(rest) not in ((2, 3) if is_bare else (3,)):
            raise self._error(f"a bound is a kind, a set, a column and, except for {', '.join(BARE_KINDS)}, a number")
        if not self._is_first_set("BOUNDS", rest[0]):
            return
        if rest[1] not in self._columns:
            raise self._error(f"the column {shown(rest[1])} is not declared in COLUMNS")
        column = self._columns[rest[1]]
        self._bounds.set(kind, column, 0.0 if is_bare else self._number(rest[2], finite=False))
        if kind in INTEGER_KINDS:
            self._integer[column] = True

    def _quadratic(self, fields: list[str]) -> None:
        if len(fields) != 3:
            raise self._error("a line of the quadratic objective is two columns and a number")
        for name in fields[:2]:
            if name not in self._columns:
                raise self._error(f"the column {shown(name)} is not declared in COLUMNS")
        i, j, value = self._columns[fields[0]], self._columns[fields[1]], self._number(fields[2])
        place = (i, j) if self._has_both_triangles else (max(i, j), min(i, j))
        if place in self._pairs:
            raise self._error(f"the quadratic objective has two entries for {shown(fields[0])}, {shown(fields[1])}")
        self._pairs.add(place)
        self._P.add(*place, value)
        if not self._has_both_triangles and i != j:
            self._P.add(place[1], place[0], value)

    # -- numbers and sets --------------------------------------------------------------------------------------

    def _number(self, text: str, finite: bool = True) -> float:
        if not _NUMBER.fullmatch(text):
            raise self._error(f"{shown(text)} is no number")
        value = float(text.lower().replace("d", "e"))
        return self._finite(value, text) if finite else value

    def _finite(self, value: float, text: str) -> float:
        if not abs(value) < INFINITE:
            raise self._error(f"the number {shown(text)} is infinite; only bounds and sides of rows may be")
        return value

    def _is_first_set(self, section: str, name: str) -> bool:
        first = self._sets.setdefault(section, name)
        if name != first:
            self._remark(f"The set {shown(name)} of {section} was left out; the first one, {shown(first)}, was read.")
        return name == first

    def _remark(self, sentence: str) -> None:
        self._remarks[sentence] = None

    def _error(self, problem: str) -> DataError:
        return self._file.error(problem)

    # -- the end -----------------------------------------------------------------------------------------------

    def _assembled(self) -> FlatModel:
        n, m = len(self._columns), len(self._senses)
        names = tuple(self._columns)
        for j in self._bounds.negative():
            self._remark(
                f"The column {shown(names[j])} has a negative upper bound and no lower bound in the file; its lower "
                "bound is taken as -infinity."
            )
        lower, upper = self._bounds.both(self._integer)
        row_lower, row_upper = row_sides(self._senses, self._rhs, self._ranges)
        P = self._P.matrix((n, n))
        if P.nnz and abs(P - P.T).max() > 0:
            raise self._error("QMATRIX is not symmetric; it has both triangles")
        return FlatModel(
            name=self._name,
            maximizes=self._maximizes,
            constant=self._constant,
            cost=np.array(self._cost, dtype=float),
            P=sp.csr_array(P),
            A=self._A.matrix((m, n)),
            row_lower=without_infinities(row_lower),
            row_upper=without_infinities(row_upper),
            lower=without_infinities(lower),
            upper=without_infinities(upper),
            integer=np.array(self._integer, dtype=bool),
            semicontinuous=np.isin(np.arange(n), list(self._bounds.semicontinuous)),
            columns=names,
            rows=tuple(self._rows),
            remarks=tuple(self._remarks),
        )
