"""Parser of MPS files, free and fixed; every error states the line.

Free files separate fields by blanks. In fixed files, fields start at columns 2, 5, 15, 25, 40 and 50, so that names may
contain blanks. A file that is not valid as a free file is tried as a fixed one.

Readers of MPS files differ in some conventions. This reader uses the following. The first free row is the objective
(unless OBJNAME names another), and other free rows are ignored. The right-hand side of the objective is minus its
constant. Integer columns without any bound lie in [0, 1]. A column with a negative upper bound and no lower bound has
the lower bound -infinity, with a remark. Only the first set of right-hand sides, ranges and bounds is used. QUADOBJ and
QSECTION have one triangle of P, QMATRIX has both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.data.messages import quote
from milopt.data.text_file import TextFile
from milopt.errors import DataError
from milopt.reading.flat_model import INFINITY_THRESHOLD, FlatModel, MatrixEntries, replace_infinite_bounds
from milopt.reading.mps_bounds import (
    BOUND_KINDS,
    BOUND_KINDS_WITHOUT_NUMBER,
    INTEGER_BOUND_KINDS,
    MpsBounds,
    lower_and_upper_row_sides,
)

FIXED_FIELD_STARTS = (1, 4, 14, 24, 39, 49)
"""Positions at which the fields of a fixed line start, from 0."""
IS_MAXIMISED_BY_SENSE = {
    "MAX": True,
    "MAXIMIZE": True,
    "MAXIMISE": True,
    "MIN": False,
    "MINIMIZE": False,
    "MINIMISE": False,
}
"""Values of the section OBJSENSE; True means maximisation."""
UNSUPPORTED_SECTIONS = {
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
"""Sections that are not supported and raise an error, with a description of their content."""

_NUMBER_PATTERN = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?|inf(inity)?)", re.IGNORECASE)


def read_mps(path: Path) -> FlatModel:
    """Parse an MPS file, first as a free file, then as a fixed one; if both fail, raise the error of the first."""
    try:
        return _MpsReader(path, fixed=False).parse()
    except DataError as error:
        try:
            return _MpsReader(path, fixed=True).parse()
        except DataError:
            raise error from None


class _MpsReader:
    """State of parsing one MPS file."""

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
        self._A, self._P = MatrixEntries(), MatrixEntries()
        self._pairs: set[tuple[int, int]] = set()
        self._has_both_triangles = False
        self._bounds = MpsBounds()
        self._rhs: dict[int, float] = {}
        self._ranges: dict[int, float] = {}
        self._sets: dict[str, str] = {}
        self._inside_marker = False
        self._remarks: dict[str, None] = {}
        self._ended = False

    def parse(self) -> FlatModel:
        """Parse the file, and return its content."""
        readers: dict[str, Callable[[list[str]], None]] = {
            "NAME": self._reject_data,
            "OBJSENSE": self._parse_sense,
            "OBJNAME": self._parse_objective_name,
            "ROWS": self._parse_row,
            "COLUMNS": self._parse_column,
            "RHS": lambda fields: self._parse_side(fields, "RHS"),
            "RANGES": lambda fields: self._parse_side(fields, "RANGES"),
            "BOUNDS": self._parse_bound,
            "QUADOBJ": self._parse_quadratic,
            "QSECTION": self._parse_quadratic,
            "QMATRIX": self._parse_quadratic,
        }
        section = ""
        for line in self._file:
            if line.startswith("*") or line.isspace():
                continue
            if not line[0].isspace() and not (section == "OBJSENSE" and line.strip().upper() in IS_MAXIMISED_BY_SENSE):
                section = self._parse_title(line.split(), readers)
                if self._ended:
                    break
                continue
            if not section:
                raise self._error("the first line must be a section such as NAME or ROWS; this is not an MPS file")
            if fields := self._split_fields(line):
                readers[section](fields)
        if not self._ended:
            raise self._error("the file ends without ENDATA; it is not complete")
        return self._build_flat_model()

    def _parse_title(self, words: list[str], readers: dict[str, Callable[[list[str]], None]]) -> str:
        """Parse the title line of a section, split into `words`, and return the title of the section."""
        title = words[0].upper()
        if title == "ENDATA":
            self._ended = True
        elif title in UNSUPPORTED_SECTIONS:
            raise self._error(f"the section {title} has {UNSUPPORTED_SECTIONS[title]}, which milopt does not support")
        elif title not in readers:
            raise self._error(f"{quote(words[0])} is not a section of an MPS file; lines of data begin with a blank")
        elif title == "NAME" and len(words) > 1:
            self._name = words[1]
        elif title == "OBJSENSE" and len(words) > 1:
            self._parse_sense(words[1:])
        elif title in ("RHS", "RANGES", "BOUNDS", "COLUMNS") and len(words) > 1:
            raise self._error(f"the section {title} must be alone on its line; lines of data begin with a blank")
        if title == "QMATRIX":
            self._has_both_triangles = True
        return title

    def _split_fields(self, line: str) -> list[str]:
        """Split a line of data into its nonempty fields, by blanks (free) or by positions (fixed)."""
        if not self._fixed:
            return line.split()
        ends = (*FIXED_FIELD_STARTS[1:], None)
        fields = [line[start:end].strip() for start, end in zip(FIXED_FIELD_STARTS, ends, strict=True)]
        # Lines without a kind (of a row or bound) leave the first field empty, so empty fields are dropped.
        return [field for field in fields if field]

    # -- sections ----------------------------------------------------------------------------------------------

    def _reject_data(self, fields: list[str]) -> None:
        """Raise an error for a line of data in the section NAME, which must not have such lines."""
        raise self._error("a line of data comes before the first section with data")

    def _parse_sense(self, fields: list[str]) -> None:
        """Parse the sense of the objective: MIN or MAX."""
        if len(fields) != 1 or fields[0].upper() not in IS_MAXIMISED_BY_SENSE:
            raise self._error(f"OBJSENSE is MIN or MAX, not {quote(' '.join(fields))}")
        self._maximizes = IS_MAXIMISED_BY_SENSE[fields[0].upper()]

    def _parse_objective_name(self, fields: list[str]) -> None:
        """Parse the name of the objective row."""
        self._objective = fields[0]

    def _parse_row(self, fields: list[str]) -> None:
        """Parse a line of ROWS: the kind of a row (N, L, G or E) and its name."""
        if len(fields) != 2 or fields[0].upper() not in ("N", "L", "G", "E"):
            raise self._error(f"a row is N, L, G or E and a name, not {quote(' '.join(fields))}")
        kind, name = fields[0].upper(), fields[1]
        if name in self._rows or name in self._free_rows or (name == self._objective and kind != "N"):
            raise self._error(f"the row {quote(name)} is declared twice")
        if kind == "N":
            if self._objective is None:
                self._objective = name
            self._free_rows.add(name)
        else:
            self._rows[name] = len(self._senses)
            self._senses.append(kind)

    def _parse_column(self, fields: list[str]) -> None:
        """Parse a line of COLUMNS: the entries of a column, or a marker where integer columns start or end."""
        if len(fields) == 3 and fields[1].strip("'\"").upper() == "MARKER":
            marker = fields[2].strip("'\"").upper()
            if marker not in ("INTORG", "INTEND"):
                raise self._error(f"a marker is INTORG or INTEND, not {quote(fields[2])}")
            self._inside_marker = marker == "INTORG"
            return
        name, pairs = fields[0], fields[1:]
        if len(pairs) not in (2, 4):
            raise self._error(
                "a line of COLUMNS is a column, a row and a number, optionally followed by another row and number"
            )
        if name not in self._columns:
            self._columns[name] = len(self._columns)
            self._cost.append(0.0)
            self._integer.append(self._inside_marker)
            self._column_rows = set()
        elif self._columns[name] != len(self._columns) - 1:
            raise self._error(f"the lines of column {quote(name)} are not adjacent, or the column occurs twice")
        for row, text in zip(pairs[::2], pairs[1::2], strict=True):
            value = self._parse_number(text)
            if row in self._column_rows:
                raise self._error(f"column {quote(name)} has two entries in row {quote(row)}")
            self._column_rows.add(row)
            if row in self._rows:
                self._A.add(self._rows[row], self._columns[name], value)
            elif row == self._objective:
                self._cost[-1] = value
            elif row not in self._free_rows:
                raise self._error(f"the row {quote(row)} is not declared in ROWS")

    def _parse_side(self, fields: list[str], section: str) -> None:
        """Parse a line of RHS or RANGES: the name of the set, which is optional, and one or two rows with numbers."""
        pairs = fields
        if len(fields) % 2:
            pairs = fields[1:]
        if len(pairs) not in (2, 4):
            raise self._error(
                f"a line of {section} is a set, a row and a number, optionally followed by another row and number"
            )
        if not self._is_first_set(section, fields[0] if len(fields) % 2 else ""):
            return
        known = self._rhs if section == "RHS" else self._ranges
        for row, text in zip(pairs[::2], pairs[1::2], strict=True):
            value = self._parse_number(text, finite=False)
            if row == self._objective and section == "RHS":
                self._constant = -self._require_finite(value, text)
            elif row in self._rows:
                if self._rows[row] in known:
                    raise self._error(f"the row {quote(row)} has two numbers in {section}")
                known[self._rows[row]] = value
            elif row not in self._free_rows:
                raise self._error(f"the row {quote(row)} is not declared in ROWS")

    def _parse_bound(self, fields: list[str]) -> None:
        """Parse a line of BOUNDS: the kind, the name of the set (optional), a column, and for most kinds a number."""
        kind, rest = fields[0].upper(), fields[1:]
        if kind not in BOUND_KINDS:
            raise self._error(f"{quote(fields[0])} is not a kind of bound; the kinds are {', '.join(BOUND_KINDS)}")
        is_bare = kind in BOUND_KINDS_WITHOUT_NUMBER
        # The name of the set is optional, and a superfluous number may follow kinds that need none ("BV BND x 1").
        if (is_bare and rest and (len(rest) == 1 or rest[0] in self._columns)) or (not is_bare and len(rest) == 2):
            rest = ["", *rest]
        if len(rest) not in ((2, 3) if is_bare else (3,)):
            raise self._error(
                f"a bound is a kind, a set, a column and, except for {', '.join(BOUND_KINDS_WITHOUT_NUMBER)}, a number"
            )
        if not self._is_first_set("BOUNDS", rest[0]):
            return
        if rest[1] not in self._columns:
            raise self._error(f"the column {quote(rest[1])} is not declared in COLUMNS")
        column = self._columns[rest[1]]
        self._bounds.set(kind, column, 0.0 if is_bare else self._parse_number(rest[2], finite=False))
        if kind in INTEGER_BOUND_KINDS:
            self._integer[column] = True

    def _parse_quadratic(self, fields: list[str]) -> None:
        """Parse a line of the quadratic objective: two columns and their entry of P."""
        if len(fields) != 3:
            raise self._error("a line of the quadratic objective is two columns and a number")
        for name in fields[:2]:
            if name not in self._columns:
                raise self._error(f"the column {quote(name)} is not declared in COLUMNS")
        i, j, value = self._columns[fields[0]], self._columns[fields[1]], self._parse_number(fields[2])
        place = (i, j) if self._has_both_triangles else (max(i, j), min(i, j))
        if place in self._pairs:
            raise self._error(f"the quadratic objective has two entries for {quote(fields[0])}, {quote(fields[1])}")
        self._pairs.add(place)
        self._P.add(*place, value)
        if not self._has_both_triangles and i != j:
            self._P.add(place[1], place[0], value)

    # -- numbers and sets --------------------------------------------------------------------------------------

    def _parse_number(self, text: str, finite: bool = True) -> float:
        """Return the text as a number, or raise an error if it is not a number or, with `finite`, is infinite."""
        if not _NUMBER_PATTERN.fullmatch(text):
            raise self._error(f"{quote(text)} is not a number")
        value = float(text.lower().replace("d", "e"))
        return self._require_finite(value, text) if finite else value

    def _require_finite(self, value: float, text: str) -> float:
        """Return the value, or raise an error that quotes `text` if |value| is at least `INFINITY_THRESHOLD`."""
        if not abs(value) < INFINITY_THRESHOLD:
            raise self._error(f"the number {quote(text)} is infinite; only bounds and sides of rows may be")
        return value

    def _is_first_set(self, section: str, name: str) -> bool:
        """Return True if `name` is the first set of the section, otherwise add a remark that this set is ignored."""
        first = self._sets.setdefault(section, name)
        if name != first:
            self._add_remark(
                f"The set {quote(name)} of {section} was ignored; the first set, {quote(first)}, was used."
            )
        return name == first

    def _add_remark(self, sentence: str) -> None:
        """Add a sentence to the remarks of the program, unless the remarks contain it already."""
        self._remarks[sentence] = None

    def _error(self, problem: str) -> DataError:
        """Return (do not raise) an error with the file, the current line and the problem."""
        return self._file.error(problem)

    # -- result ------------------------------------------------------------------------------------------------

    def _build_flat_model(self) -> FlatModel:
        """Return the content of the file, after all sections were parsed."""
        n, m = len(self._columns), len(self._senses)
        names = tuple(self._columns)
        for j in self._bounds.columns_with_negative_upper_bound():
            self._add_remark(
                f"The column {quote(names[j])} has a negative upper bound and no lower bound in the file; its lower "
                "bound is set to -infinity."
            )
        lower, upper = self._bounds.lower_and_upper_bounds(self._integer)
        row_lower, row_upper = lower_and_upper_row_sides(self._senses, self._rhs, self._ranges)
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
            row_lower=replace_infinite_bounds(row_lower),
            row_upper=replace_infinite_bounds(row_upper),
            lower=replace_infinite_bounds(lower),
            upper=replace_infinite_bounds(upper),
            integer=np.array(self._integer, dtype=bool),
            semicontinuous=np.isin(np.arange(n), list(self._bounds.semicontinuous)),
            columns=names,
            rows=tuple(self._rows),
            remarks=tuple(self._remarks),
        )
