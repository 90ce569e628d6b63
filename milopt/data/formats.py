"""The file formats, by the end of the file's name, and the reader of each."""

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
"""Readers of bags, by path, name, and whether all must have labels; of a name with several files, the first counts."""

OPEN_ENDED = (".svm.gz", ".svm")
"""Files that tell no feature beyond the last one that is not 0 somewhere."""

SERIES = (".ts.gz", ".ts")
"""Files of series, which are cut into windows."""


def ending(name: str) -> str | None:
    """The ending of a file's name that tells its format, or None."""
    folded = name.casefold()
    return next((end for end in (*READERS, *SERIES) if folded.endswith(end)), None)
