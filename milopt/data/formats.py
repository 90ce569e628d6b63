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
"""Readers of bags, called with path, name, and whether all bags must have labels.

If a name has several files, the first format in this order is used.
"""

OPEN_ENDED = (".svm.gz", ".svm")
"""Formats that do not state how many features follow the last nonzero one."""

SERIES = (".ts.gz", ".ts")
"""Formats of time series, which are cut into windows."""


def format_ending(name: str) -> str | None:
    """Return the ending of a file name that determines its format, or None if the format is not supported."""
    folded = name.casefold()
    return next((end for end in (*READERS, *SERIES) if folded.endswith(end)), None)
