"""Comma-separated tables, plain or gzip: a header `bag,label,f0,f1,...`, then one instance a line.

The columns `bag` and `label` may stand anywhere; every other column is a feature, and has a name of its own. Rows of
one bag need not be adjacent. Where bags need not be labelled, the column `label` may be missing, or empty in places.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from milopt.data.data_set import DataSet
from milopt.data.gathering import Gathering
from milopt.data.limits import COLUMNS
from milopt.data.messages import shown
from milopt.data.numbers import fault, parsed
from milopt.data.text_file import TextFile
from milopt.errors import DataError

_BLOCK = 1 << 20
"""Characters that are parsed at once."""


def read_csv(path: Path, name: str, labelled: bool = True) -> DataSet:
    """The bags of a table."""
    return _Table(path, labelled).read(name)


def names_bags(path: Path) -> bool:
    """Whether the header of a table names bags and labels; a file that cannot be read may be one that should."""
    try:
        header = next(iter(TextFile(path)), "")
        columns = next(_reader(header[:COLUMNS]), [])
    except (DataError, csv.Error):
        return True
    return {"bag", "label"} <= {column.strip().casefold() for column in columns}


def _reader(line: str) -> Iterator[list[str]]:
    return csv.reader([line], strict=True, skipinitialspace=True)


class _Table:
    """One reading of one table."""

    def __init__(self, path: Path, labelled: bool) -> None:
        self.text = TextFile(path)
        self.labelled = labelled
        self.rows = Gathering(self.text.error, labelled=labelled)
        # Grows in place: the numbers are never in memory twice.
        self.values = bytearray()
        self.block: list[tuple[int, str]] = []
        self.width = 0
        self.features: tuple[str, ...] = ()

    def read(self, name: str) -> DataSet:
        lines = iter(self.text)
        header = next(lines, None)
        if header is None:
            raise self.text.error(
                "the file is empty; it needs a header such as bag,label,f0,f1 and one instance a line"
            )
        bag, label = self._header(header)
        first_two = (bag, label) == (0, 1)
        commas, pending = self.width - 1, 0
        for line in lines:
            plain = line.count(",") == commas and '"' not in line
            if plain and first_two:
                first, second, rest = line.split(",", 2)
            else:
                fields = line.split(",") if plain else self._fields(line)
                first, second = fields[bag], "" if label is None else fields[label]
                rest = self._features_of(fields, bag, label)
            self.rows.add(first, second, self.text.line)
            self.block.append((self.text.line, rest))
            pending += len(rest)
            if pending > _BLOCK:
                self._flush()
                pending = 0
        self._flush()
        if not self.rows:
            raise self.text.error("there is a header and nothing below it; give one instance a line")
        instances = np.frombuffer(self.values, dtype=np.float64).reshape(len(self.rows), len(self.features))
        return self.rows.data_set(name, str(self.text.path), instances, self.features)

    def _header(self, line: str) -> tuple[int, int | None]:
        """Where the columns `bag` and `label` stand."""
        if line.count(",") >= COLUMNS:
            raise self.text.error(f"the header has more than {COLUMNS} columns; this is no table of bags")
        names = [column.strip() for column in self._split(line)]
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
            # What pandas writes as the name of its index.
            number = names.index("") + 1
            raise self.text.error(f"column {number} has no name; write with index=False, or name it")
        if len(set(self.features)) < len(self.features):
            twice = next(name for name, count in Counter(self.features).items() if count > 1)
            raise self.text.error(f"two columns are called {shown(twice)}; every feature needs a name of its own")
        return bag, label

    def _split(self, line: str) -> list[str]:
        try:
            return next(_reader(line))
        except csv.Error as error:
            raise self.text.error(f"the quotes of the line do not match ({error})") from None

    def _fields(self, line: str) -> list[str]:
        """The fields of a line that has quotes, or the wrong number of them."""
        if line.count(",") <= COLUMNS:
            fields = self._split(line)
            if len(fields) == self.width:
                return fields
            count = str(len(fields))
        else:
            count = f"more than {COLUMNS}"
        raise self.text.error(f"the line has {count} fields where the header has {self.width}")

    def _features_of(self, fields: list[str], bag: int, label: int | None) -> str:
        chosen = [field for i, field in enumerate(fields) if i not in (bag, label)]
        # A comma inside a quoted feature would move the columns.
        for i, field in enumerate(chosen):
            if "," in field:
                raise self.text.error(f"{self.features[i]} is {shown(field)}, which is no number")
        return ",".join(chosen)

    def _flush(self) -> None:
        """Parse the pending lines; where that fails, find the first bad value."""
        if not self.block:
            return
        values = parsed([rest for _, rest in self.block], len(self.features))
        if values is None:
            for line, rest in self.block:
                for feature, text in zip(self.features, rest.split(","), strict=True):
                    if problem := fault(text):
                        raise self.text.error(f"{shown(feature)} {problem}; every value must be a finite number", line)
            raise self.text.error("the line holds something that is no number", self.block[0][0])
        self.values += values.data.cast("B")
        self.block.clear()
