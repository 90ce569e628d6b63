"""The svmlight format with `qid`, plain or gzip: `label qid:BAG index:value ...` a line, indices from 1, rows sparse.

What follows `#` is a comment. The qid is the bag; rows of one bag need not be adjacent.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.data.data_set import DataSet
from milopt.data.gathering import Gathering
from milopt.data.limits import SPARSE_FEATURES
from milopt.data.messages import shown
from milopt.data.numbers import fault
from milopt.data.text_file import TextFile


def read_svmlight(path: Path, name: str, labelled: bool = True) -> DataSet:
    """The bags of a file of sparse rows; where bags need not be labelled, a label may be "?"."""
    text = TextFile(path, comment="#")
    rows = Gathering(text.error, labelled=labelled)
    values, columns, bounds = array("d"), array("i"), array("q", [0])
    for line in text:
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) < 2 or not words[1].startswith("qid:"):
            raise text.error(
                "the line has no qid; write label qid:BAG index:value, with as many index:value as there are"
            )
        rows.add(_bag(words[1][4:], text), words[0], text.line)
        last = 0
        for word in words[2:]:
            left, colon, right = word.partition(":")
            if not (colon and left.isascii() and left.isdigit()):
                raise text.error(f"{shown(word)} is no feature; write index:value, with indices from 1")
            index = int(left) if len(left) < 10 else SPARSE_FEATURES + 1
            if not last < index <= SPARSE_FEATURES:
                raise text.error(_misplaced(left, index, last))
            last = index
            if problem := fault(right):
                raise text.error(f"feature {index} {problem}; every value must be a finite number")
            columns.append(index - 1)
            values.append(float(right))
        bounds.append(len(values))
    if not rows:
        raise text.error("the file holds no row; write label qid:BAG index:value, a line an instance")
    if not values:
        raise text.error("no row has a feature; write index:value after the qid")
    parts = (np.frombuffer(values), np.frombuffer(columns, dtype=np.int32), np.frombuffer(bounds, dtype=np.int64))
    instances = sp.csr_array(parts, shape=(len(rows), int(parts[1].max()) + 1))
    return rows.data_set(name, str(path), instances)


def _bag(text: str, source: TextFile) -> str:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise source.error(f"the qid is {shown(text)}; it must be a whole number from 0 with at most 18 digits")
    return str(int(text))


def _misplaced(text: str, index: int, last: int) -> str:
    if index > SPARSE_FEATURES:
        return f"the index {shown(text)} is above {SPARSE_FEATURES}; number the features from 1 without gaps"
    if index == 0:
        return "the index 0 is used; indices start from 1"
    return f"the index {index} comes after {last}; the indices of a line must rise"
