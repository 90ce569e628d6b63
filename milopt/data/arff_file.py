r"""Reader of WEKA's relational format (`.arff`) of multiple-instance data: bag name, relational attribute, class.

    @attribute molecule {m1, m2}
    @attribute bag relational
      @attribute f1 numeric
    @end bag
    @attribute class {0, 1}
    @data
    m1, "42\n46", 1

The instances of a bag are lines within the quotes. WEKA writes each line end as the two characters `\n`; other programs
write a line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from milopt.data.data_set import DataSet
from milopt.data.limits import MAX_LINE_BYTES, MAX_TABLE_COLUMNS
from milopt.data.messages import quote
from milopt.data.numbers import describe_number_error, parse_numbers
from milopt.data.row_grouping import RowGrouping
from milopt.data.text_file import TextFile

_NAME_PATTERN = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s'"{]+"""
_ATTRIBUTE_LINE = re.compile(rf"@attribute\s+({_NAME_PATTERN})\s+(\S.*)", re.IGNORECASE)
_NUMERIC_TYPE = re.compile(r"(numeric|real|integer)\s*(\[.*\])?", re.IGNORECASE)
"""Type of a numeric attribute, with its optional range."""
_SPECIAL_INSIDE_QUOTES, _SPECIAL_OUTSIDE_QUOTES = re.compile(r"""[\\'"]"""), re.compile(r"""[,'"]""")
_ESCAPED_CHARACTERS = {"n": "\n", "r": "\n", "t": "\t"}


def read_arff(path: Path, name: str, labelled: bool = True) -> DataSet:
    """Read the bags of a relational ARFF file. If `labelled` is False, a class may be missing (empty or "?")."""
    text = TextFile(path, comment="%")
    lines = iter(text)
    features, classes = _parse_header(lines, text)
    gathering, values = RowGrouping(text.error, labelled=labelled), bytearray()
    for start, fields in _parse_rows(lines, text):
        if len(fields) != 3:
            count = f"{len(fields)} fields" if len(fields) < 4 else "more than three fields"
            raise text.error(f"the row has {count} where three are declared: name, bag, class", start)
        bag, content, label = (field.strip() for field in fields)
        if bag in gathering:
            raise text.error(f"bag {quote(bag)} already has a row above; a bag has one row", start)
        if classes and label not in classes and (labelled or label not in ("", "?")):
            raise text.error(f"the class of bag {quote(bag)} is {quote(label)}, which is not declared", start)
        rows = [row for row in content.split("\n") if row and not row.isspace()]
        if not rows:
            raise text.error(f"bag {quote(bag)} is empty; leave it out, or give it at least one instance", start)
        numbers = parse_numbers(rows, len(features))
        if numbers is None:
            raise text.error(_describe_first_error(rows, features), start)
        values += numbers.data.cast("B")
        for _ in rows:
            gathering.add(bag, label, start)
    if not gathering:
        raise text.error("there is no row after @data; give one row per bag")
    instances = np.frombuffer(values, dtype=np.float64).reshape(len(gathering), len(features))
    # Duplicate names do not identify features.
    names = tuple(features) if len(set(features)) == len(features) else None
    return gathering.data_set(name, str(path), instances, names)


def _parse_header(lines: Iterator[str], text: TextFile) -> tuple[list[str], frozenset[str]]:
    """Parse the header up to @data; return (feature names, declared classes).

    The set of classes is empty if the header does not list them.
    """
    features: list[str] = []
    outer: list[str] = []
    inside = None
    for line in lines:
        word = line.strip()
        folded = word[:10].casefold()
        if word.startswith("%") or folded.startswith("@relation"):
            continue
        if folded.startswith("@data"):
            break
        if folded.startswith("@end"):
            inside = None
            continue
        match = _ATTRIBUTE_LINE.fullmatch(word)
        if match is None:
            raise text.error(f"{quote(word)} is not valid before @data; write @attribute NAME TYPE")
        name, kind = match[1].strip("'\""), match[2]
        if inside is not None:
            if _NUMERIC_TYPE.fullmatch(kind) is None:
                raise text.error(f"attribute {quote(name)} is {quote(kind)}; only numeric features are supported")
            features.append(name)
        else:
            outer.append(kind)
            inside = name if kind.casefold() == "relational" else None
        if len(features) + len(outer) > MAX_TABLE_COLUMNS:
            raise text.error(f"there are more than {MAX_TABLE_COLUMNS} attributes; this is not a table of bags")
    else:
        raise text.error("there is no line @data; this is not an .arff file, or it is truncated")
    if [kind.casefold() == "relational" for kind in outer] != [False, True, False]:
        order = "the bag's name, one relational attribute, and the class"
        raise text.error(f"the attributes are not those of bags; declare {order}, in this order")
    if not features:
        raise text.error("the relational attribute declares no feature; give it at least one numeric attribute")
    listed = outer[2].strip()
    classes = listed[1:-1].split(",") if listed.startswith("{") and listed.endswith("}") else []
    return features, frozenset(label.strip().strip("'\"") for label in classes)


def _parse_rows(lines: Iterator[str], text: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first line, fields without quotes) of each row.

    A quoted field may span several lines.
    """
    for first in lines:
        if first.lstrip().startswith("%"):
            continue
        start, size = text.line, 0
        if first.lstrip().startswith("{"):
            raise text.error("the row is sparse (in braces); only dense rows are supported")
        fields: list[str] = []
        pieces: list[str] = []
        line, quote = first, ""
        while quote := _parse_row_line(line, quote, fields, pieces):
            following = next(lines, None)
            if following is None:
                raise text.error(f"the quote {quote} that the row opens is never closed", start)
            size += len(following)
            if size > MAX_LINE_BYTES:
                raise text.error(f"the row is longer than {MAX_LINE_BYTES >> 20} MB; this is not a data file", start)
            pieces.append("\n")
            line = following
        yield start, [*fields, "".join(pieces)]


def _parse_row_line(line: str, quote: str, fields: list[str], pieces: list[str]) -> str:
    """Parse one line of a row, and return the quote that is open at the end of the line, or "" if none is open.

    `quote` is the quote that is open at the start of the line, or "". Completed fields are appended to `fields`;
    `pieces` are the parts of the current field. Parsing stops after four fields, which are too many.
    """
    at = 0
    while at < len(line) and len(fields) <= 3:
        match = (_SPECIAL_INSIDE_QUOTES if quote else _SPECIAL_OUTSIDE_QUOTES).search(line, at)
        if match is None:
            pieces.append(line[at:])
            break
        pieces.append(line[at : match.start()])
        at, mark = match.end(), match[0]
        if mark == "\\":
            following = line[at : at + 1]
            pieces.append(_ESCAPED_CHARACTERS.get(following, following))
            at += 1
        elif mark == ",":
            fields.append("".join(pieces))
            pieces.clear()
        elif not quote:
            quote = mark
        elif mark == quote:
            quote = ""
        else:
            pieces.append(mark)
    return quote if len(fields) <= 3 else ""


def _describe_first_error(rows: list[str], features: list[str]) -> str:
    """Return a description of the first error in the `rows` (the instances of a bag as text)."""
    for i, row in enumerate(rows):
        if row.count(",") + 1 != len(features):
            return f"instance {i} has {row.count(',') + 1} values where {len(features)} attributes are declared"
        for feature, value in zip(features, row.split(","), strict=True):
            if problem := describe_number_error(value):
                return f"{quote(feature)} of instance {i} {problem}; every value must be a finite number"
    return "the row contains a value that is not a number"
