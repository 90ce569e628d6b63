"""Reader of the text format of the UCR and UEA archives (`.ts`), plain or gzip, for univariate series of any lengths.

Lines with `#` are comments. Lines with `@` are the header, up to `@data`; then there is one series per line,
`v,v,...,v:label`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from milopt.arrays import Floats
from milopt.data.limits import MAX_HEADER_LINES
from milopt.data.messages import quote
from milopt.data.numbers import describe_number_error, parse_numbers
from milopt.data.row_grouping import RowGrouping
from milopt.data.text_file import TextFile
from milopt.declaration.array_conversion import make_read_only

_BLOCK_CHARACTERS = 1 << 20
"""Number of characters that are parsed at once."""


@dataclass(frozen=True)
class LabelledSeries:
    """Series of a file, with the label and the line number of each series."""

    path: Path
    series: tuple[Floats, ...]
    labels: tuple[str, ...]
    lines: tuple[int, ...]


@dataclass
class _Header:
    """Properties of the series that the header states: their length (None if not stated) and the classes.

    `labelled` is an option of the reader: whether every series must have a label.
    """

    labelled: bool = True
    length: int | None = None
    classes: frozenset[str] = frozenset()


def read_ts(path: Path, labelled: bool = True) -> LabelledSeries:
    """Read the series of a file. If `labelled` is False, a label may be missing or "?"."""
    return _SeriesReader(path, labelled).read()


class _SeriesReader:
    """Reader of one file of series."""

    def __init__(self, path: Path, labelled: bool) -> None:
        self.labelled = labelled
        self.text = TextFile(path, comment="#")
        # This buffer grows in place, so that the numbers are never in memory twice.
        self.values = bytearray()
        self.counts: list[int] = []
        self.lines: list[int] = []
        self.block: list[str] = []

    def read(self) -> LabelledSeries:
        """Read the whole file."""
        lines = iter(self.text)
        header = _read_header(lines, self.text, self.labelled)
        labels: list[str] = []
        seen: set[str] = set()
        pending = 0
        for line in lines:
            if line.startswith("#"):
                continue
            values, label = _parse_series_line(line, header, self.text)
            if label not in seen:
                # Every series is a bag of its own, so labels cannot conflict: check only that each label is valid.
                RowGrouping(self.text.error, labelled=self.labelled).add("series", label, self.text.line)
                seen.add(label)
            labels.append(label)
            self.counts.append(values.count(",") + 1)
            self.lines.append(self.text.line)
            self.block.append(values)
            pending += len(values)
            if pending > _BLOCK_CHARACTERS:
                self._parse_block()
                pending = 0
        self._parse_block()
        if not labels:
            raise self.text.error("there is no series after @data; give one series per line")
        stacked = make_read_only(np.frombuffer(self.values, dtype=np.float64))
        ends = np.cumsum(self.counts).tolist()
        series = tuple(stacked[end - count : end] for end, count in zip(ends, self.counts, strict=True))
        return LabelledSeries(self.text.path, series, tuple(labels), tuple(self.lines))

    def _parse_block(self) -> None:
        """Parse the series in `block` and append their numbers to `values`; raise an error for the first invalid value.

        The series are parsed as one row, because their lengths may differ.
        """
        if not self.block:
            return
        first = len(self.counts) - len(self.block)
        numbers = parse_numbers([",".join(self.block)], sum(self.counts[first:]))
        if numbers is None:
            for line, values in zip(self.lines[first:], self.block, strict=True):
                for i, value in enumerate(values.split(",")):
                    if problem := describe_number_error(value):
                        raise self.text.error(f"value {i + 1} {problem}; every value must be a finite number", line)
            raise self.text.error("the line contains a value that is not a number", self.lines[first])
        self.values += numbers.data.cast("B")
        self.block.clear()


def _read_header(lines: Iterator[str], text: TextFile, labelled: bool) -> _Header:
    """Read the header, up to and including @data."""
    header = _Header(labelled)
    for line in lines:
        word = line.strip()
        if word.casefold() == "@data":
            return header
        if text.line > MAX_HEADER_LINES:
            raise text.error(f"there is no @data in the first {MAX_HEADER_LINES} lines; this is not a .ts file")
        if not word.startswith("#"):
            _read_header_line(header, word, text)
    raise text.error("there is no line @data; this is not a .ts file, or it is truncated")


def _read_header_line(header: _Header, line: str, text: TextFile) -> None:
    """Set the property of the series that one header line states, or raise an error if it is not supported.

    Lines with unknown keys are ignored.
    """
    if not line.startswith("@"):
        raise text.error(f"{quote(line)} is not valid before @data; a header line starts with @")
    key, *words = line.split(maxsplit=1)
    value = words[0].strip() if words else ""
    match key.casefold(), value.casefold():
        case "@timestamps", "true":
            raise text.error("the series have time stamps; only plain values are supported")
        case "@univariate", "false":
            raise text.error("the series have several channels; only univariate series are supported")
        case "@dimensions" | "@dimension", count if count != "1":
            raise text.error("the series have several channels; only univariate series are supported")
        case "@targetlabel", "true":
            raise text.error("the series have a regression target instead of a class label")
        case "@serieslength", length:
            if not (length.isascii() and length.isdigit() and len(length) <= 9 and int(length) >= 2):
                raise text.error(f"the series length is {quote(value)}; it must be a whole number, at least 2")
            header.length = int(length)
        case "@classlabel", _:
            given, *classes = value.split() or ["false"]
            if given.casefold() != "true" and header.labelled:
                raise text.error("the series have no class labels; give a file with @classLabel true")
            header.classes = frozenset(classes)


def _parse_series_line(line: str, header: _Header, text: TextFile) -> tuple[str, str]:
    """Return (values as text, label) of a line; raise an error if label or number of values is not as declared."""
    values, colon, label = line.rpartition(":")
    label = label.strip()
    if not header.labelled and (not colon or label == "?"):
        values, label = (values if colon else line), ""
    elif not colon:
        raise text.error("the line has no label; write the values, a colon, and the label")
    if ":" in values:
        raise text.error("the line has several colons; only univariate series are supported")
    if header.classes and label not in header.classes and (label or header.labelled):
        raise text.error(f"the label {quote(label)} is not among the classes of @classLabel")
    count = values.count(",") + 1
    if header.length is not None and count != header.length:
        raise text.error(f"the series has {count} values, but @seriesLength is {header.length}")
    if count < 2:
        raise text.error("the series has fewer than 2 values; a window needs at least 2")
    return values, label
