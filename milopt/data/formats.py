"""Supported file formats by the ending of the file name, with their readers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from milopt.data.arff_file import read_arff
from milopt.data.csv_file import read_csv
from milopt.data.data_set import DataSet
from milopt.data.mat_file import read_mat
from milopt.data.npz_file import read_npz
from milopt.data.svmlight_file import read_svmlight

READERS: dict[str, Callable[[Path, str, bool], DataSet]] = {
    ".csv.gz": read_csv,
    ".csv": read_csv,
    ".svm.gz": read_svmlight,
    ".svm": read_svmlight,
    ".arff.gz": read_arff,
    ".arff": read_arff,
    ".mat": read_mat,
    ".npz": read_npz,
}
"""Reader of each format by file ending, called with path, name, and whether all bags must have labels.

If there are several files of one name, the first format in this order is used.
"""

FORMATS_OF_UNKNOWN_WIDTH = (".svm.gz", ".svm")
"""Endings of formats that do not state how many features follow the last feature with a nonzero value."""

SERIES_FORMATS = (".ts.gz", ".ts")
"""Endings of formats of time series, which are cut into windows."""


def format_ending(name: str) -> str | None:
    """Return the ending of a file name that determines its format, or None if the format is not supported."""
    folded = name.casefold()
    return next((end for end in (*READERS, *SERIES_FORMATS) if folded.endswith(end)), None)
