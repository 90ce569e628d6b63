"""The text format of the UCR and UEA archives (`.ts`), plain or gzip, for univariate series of any lengths.

Lines with `#` are comments and lines with `@` the header, up to `@data`; then one series a line, `v,v,...,v:label`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from milopt.data.gathering import Gathering
from milopt.data.messages import shown
from milopt.data.numbers import fault, parsed
from milopt.data.text_file import TextFile
from milopt.declaration.arrays import Floats, read_only


@dataclass(frozen=True)
class LabelledSeries:
    """Series, the label of each, and the line on which each stands."""

    path: Path
    series: tuple[Floats, ...]
    labels: tuple[str, ...]
    lines: tuple[int, ...]


@dataclass
class _Header:
    length: int | None = None
    classes: frozenset[str] = frozenset()


def read_ts(path: Path) -> LabelledSeries:
    """The series of a file."""
    text = TextFile(path)
    lines = iter(text)
    header = _Header()
    for line in lines:
        word = line.strip()
        if word.casefold() == "@data":
            break
        if word and not word.startswith("#"):
            _take(header, word, text)
    else:
        raise text.error("there is no line @data; this is no .ts file, or it was cut off")
    series, labels, numbers = [], [], []
    checks = Gathering(text.error)
    for line in lines:
        if not line or line.isspace() or line.startswith("#"):
            continue
        values, label = _row(line, header, text)
        # Every series is a bag of its own: what is checked is the label.
        checks.add(str(text.line), label, text.line)
        series.append(values)
        labels.append(label)
        numbers.append(text.line)
    if not series:
        raise text.error("there is no series after @data; give one a line")
    return LabelledSeries(path, tuple(series), tuple(labels), tuple(numbers))


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
            if given.casefold() != "true":
                raise text.error("the series have no class labels; give a file with @classLabel true")
            header.classes = frozenset(classes)


def _row(line: str, header: _Header, text: TextFile) -> tuple[Floats, str]:
    values, colon, label = line.rpartition(":")
    label = label.strip()
    if not colon:
        raise text.error("the line has no label; write the values, a colon, and the label")
    if ":" in values:
        raise text.error("the line has several colons; only univariate series are taken")
    if header.classes and label not in header.classes:
        raise text.error(f"the label {shown(label)} is not among the classes that @classLabel names")
    count = values.count(",") + 1
    if header.length is not None and count != header.length:
        raise text.error(f"the series has {count} values where @seriesLength says {header.length}")
    if count < 2:
        raise text.error("the series has fewer than 2 values; a window needs at least 2")
    numbers = parsed([values], count)
    if numbers is None:
        for i, value in enumerate(values.split(",")):
            if problem := fault(value):
                raise text.error(f"value {i + 1} {problem}; every value must be a finite number")
        raise text.error("the line holds something that is no number")
    return read_only(numbers[0]), label
