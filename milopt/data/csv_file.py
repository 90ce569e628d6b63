"""Reader of comma-separated tables, plain or gzip: a header `bag,label,f0,f1,...`, then one instance per line.

The columns `bag` and `label` may be anywhere. Every other column is a feature with a unique name. Rows of one bag need
not be adjacent. If `labelled` is False, the column `label` may be missing or have empty entries.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from milopt.data.data_set import DataSet
from milopt.data.limits import MAX_COLUMNS
from milopt.data.messages import quote
from milopt.data.numbers import describe_number_error, parse_numbers
from milopt.data.row_grouping import RowGrouping
from milopt.data.text_file import TextFile
from milopt.errors import DataError

_BLOCK_CHARACTERS = 1 << 20
"""Number of characters that are parsed at once."""


def read_csv(path: Path, name: str, labelled: bool = True) -> DataSet:
    """Read the bags of a CSV table."""
    return _TableReader(path, labelled).read(name)


def has_bag_columns(path: Path) -> bool:
    """Return True if the header of a CSV file has the columns `bag` and `label`, or if the file cannot be read.

    A file that cannot be read is not excluded, so that `read_csv` can raise the error.
    """
    try:
        header = next(iter(TextFile(path)), "")
        columns = next(_make_csv_reader(header[:MAX_COLUMNS]), [])
    except (DataError, csv.Error):
        return True
    return {"bag", "label"} <= {column.strip().casefold() for column in columns}


def _make_csv_reader(line: str) -> Iterator[list[str]]:
    """Return a CSV reader of one line."""
    return csv.reader([line], strict=True, skipinitialspace=True)


class _TableReader:
    """Reader of one CSV table."""

    def __init__(self, path: Path, labelled: bool) -> None:
        self.text = TextFile(path)
        self.labelled = labelled
        self.rows = RowGrouping(self.text.error, labelled=labelled)
        # This buffer grows in place, so that the numbers are never in memory twice.
        self.values = bytearray()
        self.block: list[tuple[int, str]] = []
        self.width = 0
        self.features: tuple[str, ...] = ()

    def read(self, name: str) -> DataSet:
        """Read the whole table."""
        lines = iter(self.text)
        header = next(lines, None)
        if header is None:
            raise self.text.error(
                "the file is empty; it needs a header such as bag,label,f0,f1 and one instance per line"
            )
        bag, label = self._parse_header(header)
        first_two = (bag, label) == (0, 1)
        commas, pending = self.width - 1, 0
        for line in lines:
            plain = line.count(",") == commas and '"' not in line
            if plain and first_two:
                first, second, rest = line.split(",", 2)
            else:
                fields = line.split(",") if plain else self._split_quoted_line(line)
                first, second = fields[bag], "" if label is None else fields[label]
                rest = self._join_features(fields, bag, label)
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
        return self.rows.data_set(name, str(self.text.path), instances, self.features)

    def _parse_header(self, line: str) -> tuple[int, int | None]:
        """Parse the header; return (bag, label), the positions of these columns; label is None if there is none."""
        if line.count(",") >= MAX_COLUMNS:
            raise self.text.error(f"the header has more than {MAX_COLUMNS} columns; this is not a table of bags")
        names = [column.strip() for column in self._split_line(line)]
        self.width = len(names)
        folded = [column.casefold() for column in names]
        for wanted in ("bag", "label"):
            if folded.count(wanted) != 1 and (wanted in folded or wanted == "bag" or self.labelled):
                count = "no column" if wanted not in folded else f"{folded.count(wanted)} columns"
                raise self.text.error(
                    f'the header has {count} called "{wanted}"; the first line must be like bag,label,f0,f1'
                )
        bag, label = folded.index("bag"), folded.index("label") if "label" in folded else None
        self.features = tuple(column for i, column in enumerate(names) if i not in (bag, label))
        if not self.features:
            raise self.text.error("the header names no feature; it must be like bag,label,f0,f1")
        if "" in names:
            # pandas writes an empty name for its index.
            number = names.index("") + 1
            raise self.text.error(f"column {number} has no name; write with index=False, or name it")
        if len(set(self.features)) < len(self.features):
            twice = next(name for name, count in Counter(self.features).items() if count > 1)
            raise self.text.error(f"two columns are called {quote(twice)}; every feature needs a unique name")
        return bag, label

    def _split_line(self, line: str) -> list[str]:
        """Split a line at its commas, with support for quotes."""
        try:
            return next(_make_csv_reader(line))
        except csv.Error as error:
            raise self.text.error(f"the quotes of the line do not match ({error})") from None

    def _split_quoted_line(self, line: str) -> list[str]:
        """Return the fields of a line with quotes, or raise an error if their number is not that of the header."""
        if line.count(",") <= MAX_COLUMNS:
            fields = self._split_line(line)
            if len(fields) == self.width:
                return fields
            count = str(len(fields))
        else:
            count = f"more than {MAX_COLUMNS}"
        raise self.text.error(f"the line has {count} fields where the header has {self.width}")

    def _join_features(self, fields: list[str], bag: int, label: int | None) -> str:
        """Return the feature values of a line as text, separated by commas.

        `bag` and `label` are the positions of the columns that are not features.
        """
        chosen = [field for i, field in enumerate(fields) if i not in (bag, label)]
        # A comma inside a quoted value would shift the columns.
        for i, field in enumerate(chosen):
            if "," in field:
                raise self.text.error(f"{self.features[i]} is {quote(field)}, which is not a number")
        return ",".join(chosen)

    def _parse_block(self) -> None:
        """Parse the lines in `block` and append the numbers to `values`; raise an error for the first invalid value."""
        if not self.block:
            return
        values = parse_numbers([rest for _, rest in self.block], len(self.features))
        if values is None:
            for line, rest in self.block:
                for feature, text in zip(self.features, rest.split(","), strict=True):
                    if problem := describe_number_error(text):
                        raise self.text.error(f"{quote(feature)} {problem}; every value must be a finite number", line)
            raise self.text.error("the line contains a value that is not a number", self.block[0][0])
        self.values += values.data.cast("B")
        self.block.clear()
