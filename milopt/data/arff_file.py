"""WEKA's relational format (`.arff`) of multiple-instance data: a bag's name, a relational attribute, and a class.

    @attribute molecule {m1, m2}
    @attribute bag relational
      @attribute f1 numeric
    @end bag
    @attribute class {0, 1}
    @data
    m1, "42\\n46", 1

The instances of a bag are lines within the quotes: WEKA writes each end of line as `\\n`, others break the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from milopt.data.data_set import DataSet
from milopt.data.gathering import Gathering
from milopt.data.limits import COLUMNS, LINE_BYTES
from milopt.data.messages import shown
from milopt.data.numbers import fault, parsed
from milopt.data.text_file import TextFile

_NAME = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s'"{]+"""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_NAME})\s+(\S.*)", re.IGNORECASE)
_NUMBER = re.compile(r"(numeric|real|integer)\s*(\[.*\])?", re.IGNORECASE)
"""A number, with its range where that is told."""
_INSIDE, _OUTSIDE = re.compile(r"""[\\'"]"""), re.compile(r"""[,'"]""")
_ESCAPES = {"n": "\n", "r": "\n", "t": "\t"}


def read_arff(path: Path, name: str, labelled: bool = True) -> DataSet:
    """The bags of a relational file; where bags need not be labelled, a class may be "?"."""
    text = TextFile(path, comment="%")
    lines = iter(text)
    features, classes = _header(lines, text)
    gathering, values = Gathering(text.error, labelled=labelled), bytearray()
    for start, fields in _rows(lines, text):
        if len(fields) != 3:
            count = f"{len(fields)} fields" if len(fields) < 4 else "more than three fields"
            raise text.error(f"the row has {count} where three are declared: name, bag, class", start)
        bag, content, label = (one.strip() for one in fields)
        if bag in gathering:
            raise text.error(f"bag {shown(bag)} has a row above already; a bag has one row", start)
        if classes and label not in classes and (labelled or label not in ("", "?")):
            raise text.error(f"the class of bag {shown(bag)} is {shown(label)}, which is not declared", start)
        rows = [row for row in content.split("\n") if row and not row.isspace()]
        if not rows:
            raise text.error(f"bag {shown(bag)} is empty; leave it out, or give it at least one instance", start)
        numbers = parsed(rows, len(features))
        if numbers is None:
            raise text.error(_problem(rows, features), start)
        values += numbers.data.cast("B")
        for _ in rows:
            gathering.add(bag, label, start)
    if not gathering:
        raise text.error("there is no row after @data; give one a bag")
    instances = np.frombuffer(values, dtype=np.float64).reshape(len(gathering), len(features))
    # Names that stand twice tell no feature from another.
    names = tuple(features) if len(set(features)) == len(features) else None
    return gathering.data_set(name, str(path), instances, names)


def _header(lines: Iterator[str], text: TextFile) -> tuple[list[str], frozenset[str]]:
    """The features of an instance, and the classes (none where they are not listed)."""
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
        match = _ATTRIBUTE.fullmatch(word)
        if match is None:
            raise text.error(f"{shown(word)} stands before @data; write @attribute NAME TYPE")
        name, kind = match[1].strip("'\""), match[2]
        if inside is not None:
            if _NUMBER.fullmatch(kind) is None:
                raise text.error(f"attribute {shown(name)} is {shown(kind)}; only numeric features are taken")
            features.append(name)
        else:
            outer.append(kind)
            inside = name if kind.casefold() == "relational" else None
        if len(features) + len(outer) > COLUMNS:
            raise text.error(f"there are more than {COLUMNS} attributes; this is no table of bags")
    else:
        raise text.error("there is no line @data; this is no .arff file, or it was cut off")
    if [kind.casefold() == "relational" for kind in outer] != [False, True, False]:
        order = "the bag's name, one relational attribute, and the class"
        raise text.error(f"the attributes are not those of bags; declare {order}, in this order")
    if not features:
        raise text.error("the relational attribute declares no feature; give it at least one numeric attribute")
    listed = outer[2].strip()
    classes = listed[1:-1].split(",") if listed.startswith("{") and listed.endswith("}") else []
    return features, frozenset(one.strip().strip("'\"") for one in classes)


def _rows(lines: Iterator[str], text: TextFile) -> Iterator[tuple[int, list[str]]]:
    """The line on which a row starts, and its fields without quotes; a quoted field may go over several lines."""
    for first in lines:
        if first.lstrip().startswith("%"):
            continue
        start, size = text.line, 0
        if first.lstrip().startswith("{"):
            raise text.error("the row is written sparsely, in braces; only full rows are taken")
        fields: list[str] = []
        pieces: list[str] = []
        line, quote = first, ""
        while quote := _scan(line, quote, fields, pieces):
            following = next(lines, None)
            if following is None:
                raise text.error(f"the quote {quote} that the row opens is never closed", start)
            size += len(following)
            if size > LINE_BYTES:
                raise text.error(f"the row is longer than {LINE_BYTES >> 20} MB; this is no data file", start)
            pieces.append("\n")
            line = following
        yield start, [*fields, "".join(pieces)]


def _scan(line: str, quote: str, fields: list[str], pieces: list[str]) -> str:
    """Take one line apart; give back the quote that is still open at its end, or nothing."""
    at = 0
    while at < len(line) and len(fields) <= 3:
        found = (_INSIDE if quote else _OUTSIDE).search(line, at)
        if found is None:
            pieces.append(line[at:])
            break
        pieces.append(line[at : found.start()])
        at, mark = found.end(), found[0]
        if mark == "\\":
            following = line[at : at + 1]
            pieces.append(_ESCAPES.get(following, following))
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


def _problem(rows: list[str], features: list[str]) -> str:
    """What is wrong with the first instance that cannot be read."""
    for i, row in enumerate(rows):
        if row.count(",") + 1 != len(features):
            return f"instance {i} has {row.count(',') + 1} values where {len(features)} attributes are declared"
        for feature, value in zip(features, row.split(","), strict=True):
            if problem := fault(value):
                return f"{shown(feature)} of instance {i} {problem}; every value must be a finite number"
    return "the row holds something that is no number"
