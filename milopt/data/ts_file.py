"""The text format of the UCR and UEA archives (`.ts`), plain or gzip, for univariate series of any lengths.

Lines with `#` are comments and lines with `@` the header, up to `@data`; then one series a line, `v,v,...,v:label`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from milopt.arrays import Floats
from milopt.data.gathering import Gathering
from milopt.data.limits import HEADER_LINES
from milopt.data.messages import shown
from milopt.data.numbers import fault, parsed
from milopt.data.text_file import TextFile
from milopt.declaration.arrays import read_only

_BLOCK = 1 << 20
"""Characters that are parsed at once."""


@dataclass(frozen=True)
class LabelledSeries:
    """Series, the label of each, and the line on which each stands."""

    path: Path
    series: tuple[Floats, ...]
    labels: tuple[str, ...]
    lines: tuple[int, ...]


@dataclass
class _Header:
    labelled: bool = True
    length: int | None = None
    classes: frozenset[str] = frozenset()


def read_ts(path: Path, labelled: bool = True) -> LabelledSeries:
    """The series of a file; where they need not be labelled, a label may be missing, or "?"."""
    return _SeriesFile(path, labelled).read()


class _SeriesFile:
    """One reading of one file."""

    def __init__(self, path: Path, labelled: bool) -> None:
        self.labelled = labelled
        self.text = TextFile(path, comment="#")
        # Grows in place: the numbers are never in memory twice.
        self.values = bytearray()
        self.counts: list[int] = []
        self.lines: list[int] = []
        self.block: list[str] = []

    def read(self) -> LabelledSeries:
        lines = iter(self.text)
        header = _header(lines, self.text, self.labelled)
        labels: list[str] = []
        seen: set[str] = set()
        pending = 0
        for line in lines:
            if line.startswith("#"):
                continue
            values, label = _row(line, header, self.text)
            if label not in seen:
                # Every series is a bag of its own: all there is to check is that its label is one.
                Gathering(self.text.error, labelled=self.labelled).add("series", label, self.text.line)
                seen.add(label)
            labels.append(label)
            self.counts.append(values.count(",") + 1)
            self.lines.append(self.text.line)
            self.block.append(values)
            pending += len(values)
            if pending > _BLOCK:
                self._flush()
                pending = 0
        self._flush()
        if not labels:
            raise self.text.error("there is no series after @data; give one a line")
        stacked = read_only(np.frombuffer(self.values, dtype=np.float64))
        ends = np.cumsum(self.counts).tolist()
        series = tuple(stacked[end - count : end] for end, count in zip(ends, self.counts, strict=True))
        return LabelledSeries(self.text.path, series, tuple(labels), tuple(self.lines))

    def _flush(self) -> None:
        """Parse the pending series, as one row since their lengths may differ; where that fails, find the bad value."""
        if not self.block:
            return
        first = len(self.counts) - len(self.block)
        numbers = parsed([",".join(self.block)], sum(self.counts[first:]))
        if numbers is None:
            for line, values in zip(self.lines[first:], self.block, strict=True):
                for i, value in enumerate(values.split(",")):
                    if problem := fault(value):
                        raise self.text.error(f"value {i + 1} {problem}; every value must be a finite number", line)
            raise self.text.error("the line holds something that is no number", self.lines[first])
        self.values += numbers.data.cast("B")
        self.block.clear()


def _header(lines: Iterator[str], text: TextFile, labelled: bool) -> _Header:
    header = _Header(labelled)
    for line in lines:
        word = line.strip()
        if word.casefold() == "@data":
            return header
        if text.line > HEADER_LINES:
            raise text.error(f"there is no @data in the first {HEADER_LINES} lines; this is no .ts file")
        if not word.startswith("#"):
            _take(header, word, text)
    raise text.error("there is no line @data; this is no .ts file, or it was cut off")


def _take(header: _Header, line: str, text: TextFile) -> None:
    """One line of the header; keys that do not matter here are passed over."""
    if not line.startswith("@"):
        raise text.error(f"{shown(line)} stands before @data; a header line starts with @")
    key, *words = line.split(maxsplit=1)
    value = words[0].strip() if words else ""
    match key.casefold(), value.casefold():
        case "@timestamps", "true":
            raise text.error("the series have time stamps; only plain values are taken")
        case "@univariate", "false":
            raise text.error("the series have several channels; only univariate series are taken")
        case "@dimensions" | "@dimension", count if count != "1":
            raise text.error("the series have several channels; only univariate series are taken")
        case "@targetlabel", "true":
            raise text.error("the series carry a target to predict instead of a class label")
        case "@serieslength", length:
            if not (length.isascii() and length.isdigit() and len(length) <= 9 and int(length) >= 2):
                raise text.error(f"the series length is {shown(value)}; it must be a whole number, at least 2")
            header.length = int(length)
        case "@classlabel", _:
            given, *classes = value.split() or ["false"]
            if given.casefold() != "true" and header.labelled:
                raise text.error("the series have no class labels; give a file with @classLabel true")
            header.classes = frozenset(classes)


def _row(line: str, header: _Header, text: TextFile) -> tuple[str, str]:
    """The values of a series as text, as many as there should be, and its label."""
    values, colon, label = line.rpartition(":")
    label = label.strip()
    if not header.labelled and (not colon or label == "?"):
        values, label = (values if colon else line), ""
    elif not colon:
        raise text.error("the line has no label; write the values, a colon, and the label")
    if ":" in values:
        raise text.error("the line has several colons; only univariate series are taken")
    if header.classes and label not in header.classes and (label or header.labelled):
        raise text.error(f"the label {shown(label)} is not among the classes that @classLabel names")
    count = values.count(",") + 1
    if header.length is not None and count != header.length:
        raise text.error(f"the series has {count} values where @seriesLength says {header.length}")
    if count < 2:
        raise text.error("the series has fewer than 2 values; a window needs at least 2")
    return values, label
