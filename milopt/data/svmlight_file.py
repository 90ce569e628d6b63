"""Reader of the svmlight format with `qid`, plain or gzip: one line `label qid:BAG index:value ...` per instance.

Rows are sparse, and indices start at 1. Text after `#` is a comment. The qid is the bag; rows of one bag need not be
adjacent.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.data.data_set import DataSet
from milopt.data.limits import MAX_SPARSE_FEATURES
from milopt.data.messages import quote
from milopt.data.numbers import describe_number_error
from milopt.data.row_grouping import RowGrouping
from milopt.data.text_file import TextFile


def read_svmlight(path: Path, name: str, labelled: bool = True) -> DataSet:
    """Read the bags of a file of sparse rows. If `labelled` is False, a label may be "?"."""
    text = TextFile(path, comment="#")
    rows = RowGrouping(text.error, labelled=labelled)
    values, columns, bounds = array("d"), array("i"), array("q", [0])
    for line in text:
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) < 2 or not words[1].startswith("qid:"):
            raise text.error(
                "the line has no qid; write label qid:BAG index:value, with one index:value per nonzero feature"
            )
        rows.add(_parse_qid(words[1][4:], text), words[0], text.line)
        last = 0
        for word in words[2:]:
            left, colon, right = word.partition(":")
            if not (colon and left.isascii() and left.isdigit()):
                raise text.error(f"{quote(word)} is not a feature; write index:value, with indices from 1")
            index = int(left) if len(left) < 10 else MAX_SPARSE_FEATURES + 1
            if not last < index <= MAX_SPARSE_FEATURES:
                raise text.error(_describe_index_error(left, index, last))
            last = index
            if problem := describe_number_error(right):
                raise text.error(f"feature {index} {problem}; every value must be a finite number")
            columns.append(index - 1)
            values.append(float(right))
        bounds.append(len(values))
    if not rows:
        raise text.error("the file has no row; write label qid:BAG index:value, one line per instance")
    if not values:
        raise text.error("no row has a feature; write index:value after the qid")
    parts = (np.frombuffer(values), np.frombuffer(columns, dtype=np.int32), np.frombuffer(bounds, dtype=np.int64))
    instances = sp.csr_array(parts, shape=(len(rows), int(parts[1].max()) + 1))
    return rows.data_set(name, str(path), instances)


def _parse_qid(text: str, source: TextFile) -> str:
    """Return the name of a bag from the text of a qid; raise an error if the text is not a whole number."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise source.error(f"the qid is {quote(text)}; it must be a whole number from 0 with at most 18 digits")
    return str(int(text))


def _describe_index_error(text: str, index: int, last: int) -> str:
    """Return the message for an index that is too large, 0, or not above `last`, the previous index of the line."""
    if index > MAX_SPARSE_FEATURES:
        return f"the index {quote(text)} is above {MAX_SPARSE_FEATURES}; number the features from 1 without gaps"
    if index == 0:
        return "the index 0 is used; indices start from 1"
    return f"the index {index} comes after {last}; the indices of a line must increase"
