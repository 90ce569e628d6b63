"""Reader of comma-separated tables, plain or gzip: a header `bag,label,f0,f1,...`, then one instance per line.

The columns `bag` and `label` may be anywhere, and may have other names (`TableColumns`). All other columns are features
with unique names, unless the features are named. Rows of one bag need not be adjacent. If `labelled` is False, the
column `label` may be missing or have empty entries. Features may be missing only if `TableColumns` allows it.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from milopt.data.data_set import DataSet
from milopt.data.limits import MAX_TABLE_COLUMNS
from milopt.data.messages import quote
from milopt.data.numbers import MISSING_HINT, describe_number_error, is_missing, parse_numbers
from milopt.data.row_grouping import RowGrouping
from milopt.data.text_file import TextFile
from milopt.errors import DataError

_BLOCK_CHARACTERS = 1 << 20
"""Number of characters that are parsed at once."""
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""Separators of columns that are not supported, with their names."""
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


@dataclass(frozen=True)
class TableColumns:
    """Names of the columns of a table, and whether features may be missing.

    Attributes
    ----------
    bag, label : str
        Names of the columns with the bag of each instance and with the label of the bag; upper and lower case are not
        distinguished.
    features : tuple of str or None
        Names of the columns with the features; None means all other columns.
    allow_missing : bool
        Whether features may be missing; they become NaN.
    """

    bag: str = "bag"
    label: str = "label"
    features: tuple[str, ...] | None = None
    allow_missing: bool = False


def read_csv(path: Path, name: str, labelled: bool = True, columns: TableColumns | None = None) -> DataSet:
    """Read the bags of a CSV table."""
    return _TableReader(path, labelled, columns or TableColumns()).read(name)


def has_bag_columns(path: Path) -> bool:
    """Return True if the header of a CSV file has the columns `bag` and `label`, or if the file cannot be read.

    A file that cannot be read is not excluded, so that `read_csv` can raise the error.
    """
    try:
        header = next(iter(TextFile(path)), "")
        columns = next(_make_csv_reader(header[:MAX_TABLE_COLUMNS]), [])
    except (DataError, csv.Error):
        return True
    return {"bag", "label"} <= {column.strip().casefold() for column in columns}


def _make_csv_reader(line: str) -> Iterator[list[str]]:
    """Return a CSV reader of one line."""
    return csv.reader([line], strict=True, skipinitialspace=True)


class _TableReader:
    """Reader of one CSV table."""

    def __init__(self, path: Path, labelled: bool, columns: TableColumns) -> None:
        self.text = TextFile(path)
        self.columns = columns
        self.labelled = labelled
        self.rows = RowGrouping(self.text.error, labelled=labelled)
        # This buffer grows in place, so that the numbers are never in memory twice.
        self.values = bytearray()
        self.block: list[tuple[int, str]] = []
        self.width = 0
        self.features: tuple[str, ...] = ()
        self.places: list[int] = []
        """Positions of the columns with features."""

    def read(self, name: str) -> DataSet:
        """Read the whole table."""
        lines = iter(self.text)
        header = next(lines, None)
        if header is None:
            raise self.text.error(
                "the file is empty; it needs a header such as bag,label,f0,f1 and one instance per line"
            )
        bag, label = self._parse_header(header)
        first_two = (bag, label) == (0, 1) and self.places == list(range(2, self.width))
        commas, pending = self.width - 1, 0
        for line in lines:
            plain = line.count(",") == commas and '"' not in line
            if plain and first_two:
                first, second, rest = line.split(",", 2)
            else:
                fields = line.split(",") if plain else self._split_quoted_line(line)
                first, second = fields[bag], "" if label is None else fields[label]
                rest = self._join_features(fields)
            self.rows.add(first, second, self.text.line)
            self.block.append((self.text.line, rest))
            pending += len(rest)
            if pending > _BLOCK_CHARACTERS:
                self._parse_block()
                pending = 0
        self._parse_block()
        if not self.rows:
            raise self.text.error("there is a header and nothing below it; give one instance per line")
        instances = np.frombuffer(self.values, dtype=np.float64).reshape(len(self.rows), len(self.features))
        missing = self.columns.allow_missing
        return self.rows.data_set(name, str(self.text.path), instances, self.features, allow_nan=missing)

    def _parse_header(self, line: str) -> tuple[int, int | None]:
        """Parse the header; return (bag, label), the positions of these columns; label is None if there is none."""
        if line.count(",") >= MAX_TABLE_COLUMNS:
            raise self.text.error(f"the header has more than {MAX_TABLE_COLUMNS} columns; this is not a table of bags")
        self._check_separator(line)
        names = [column.strip() for column in self._split_line(line)]
        self.width = len(names)
        folded = [column.casefold() for column in names]
        given = self.columns
        for wanted, is_optional in ((given.bag, False), (given.label, not self.labelled)):
            count = folded.count(wanted.casefold())
            if count > 1 or (count == 0 and not is_optional):
                what = f'{count or "no"} column{"s" * (count > 1)} called "{wanted}"'
                like = f"the first line must be like {given.bag},{given.label},f0,f1"
                remedy = "" if count else "; other columns are named by --bag and --label, or bag= and label="
                raise self.text.error(f"the header has {what}; {like}{remedy}")
        bag = folded.index(given.bag.casefold())
        label = folded.index(given.label.casefold()) if given.label.casefold() in folded else None
        self.places = self._find_features(names, {bag, label})
        self.features = tuple(names[i] for i in self.places)
        if not self.features:
            raise self.text.error(f"the header names no feature; it must be like {given.bag},{given.label},f0,f1")
        if "" in self.features:
            # pandas writes an empty name for its index.
            number = names.index("") + 1
            raise self.text.error(f"column {number} has no name; write with index=False, or name it")
        if len(set(self.features)) < len(self.features):
            twice = next(name for name, count in Counter(self.features).items() if count > 1)
            raise self.text.error(f"two columns are called {quote(twice)}; every feature needs a unique name")
        return bag, label

    def _check_separator(self, header: str) -> None:
        """Raise an error if the columns are not separated by commas, but by another character."""
        for separator, word in _OTHER_SEPARATORS.items():
            if separator in header and "," not in header:
                raise self.text.error(
                    f"the columns are separated by {word}; separate them by commas, and write numbers with a decimal "
                    "point"
                )

    def _find_features(self, names: list[str], others: set[int | None]) -> list[int]:
        """Return the positions of the features: all columns besides `others`, or those that the user named."""
        wanted = self.columns.features
        if wanted is None:
            return [i for i in range(len(names)) if i not in others]
        for name in wanted:
            if name not in names:
                known = ", ".join(quote(each) for i, each in enumerate(names[:12]) if i not in others)
                more = ", ..." if len(names) > 12 else ""
                raise self.text.error(f"no column is called {quote(name)}; features may be {known}{more}")
            if names.index(name) in others:
                raise self.text.error(f"{quote(name)} is a feature and the bag or label; name it once")
        return [names.index(name) for name in wanted]

    def _split_line(self, line: str) -> list[str]:
        """Split a line at its commas, with support for quotes."""
        try:
            return next(_make_csv_reader(line))
        except csv.Error as error:
            raise self.text.error(f"the quotes of the line do not match ({error})") from None

    def _split_quoted_line(self, line: str) -> list[str]:
        """Return the fields of a line with quotes, or raise an error if their number is not that of the header."""
        if line.count(",") <= MAX_TABLE_COLUMNS:
            fields = self._split_line(line)
            if len(fields) == self.width:
                return fields
            count = str(len(fields))
        else:
            count = f"more than {MAX_TABLE_COLUMNS}"
        hint = ""
        if count.isdigit() and int(count) > self.width:
            hint = "; if its numbers have decimal commas, write decimal points"
        raise self.text.error(f"the line has {count} fields where the header has {self.width}{hint}")

    def _join_features(self, fields: list[str]) -> str:
        """Return the feature values of a line as text, separated by commas."""
        chosen = [fields[i] for i in self.places]
        # A comma inside a quoted value would shift the columns.
        for feature, field in zip(self.features, chosen, strict=True):
            if "," in field:
                is_decimal = _DECIMAL_COMMA.fullmatch(field.strip()) is not None
                hint = ", but a decimal comma: write a decimal point" if is_decimal else ""
                raise self.text.error(f"{feature} is {quote(field)}, which is not a number{hint}")
        return ",".join(chosen)

    def _parse_block(self) -> None:
        """Parse the lines in `block` and append the numbers to `values`; raise an error for the first invalid value."""
        if not self.block:
            return
        allowed = self.columns.allow_missing
        values = parse_numbers([rest for _, rest in self.block], len(self.features), allowed)
        if values is None:
            for line, rest in self.block:
                for feature, text in zip(self.features, rest.split(","), strict=True):
                    missing = is_missing(text)
                    if (problem := describe_number_error(text)) and not (missing and allowed):
                        hint = MISSING_HINT if missing else ""
                        raise self.text.error(
                            f"{quote(feature)} {problem}; every value must be a finite number{hint}", line
                        )
            raise self.text.error("the line contains a value that is not a number", self.block[0][0])
        self.values += values.data.cast("B")
        self.block.clear()
