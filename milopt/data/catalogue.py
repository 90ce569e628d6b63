"""Catalogue of data sets by name: the embedded ones, then the files of a directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from milopt.data.csv_file import has_bag_columns, read_csv
from milopt.data.embedded import EMBEDDED_DESCRIPTIONS, EMBEDDED_FOLDER
from milopt.data.formats import READERS, SERIES_FORMATS, format_ending
from milopt.data.messages import format_path
from milopt.errors import DataError

_TRAIN_SUFFIX, _TEST_SUFFIX = "_train", "_test"
"""Endings, in lower case, of the names of the training file and the test file of an official split."""


@dataclass(frozen=True)
class KnownDataSet:
    """Data set that `load_data` finds by name.

    Attributes
    ----------
    name : str
        Name of the data set.
    paths : tuple of Path
        The file, or, for series with an official split, the training file and the test file.
    source : str
        "embedded", or the directory, for display.
    content : str
        Description of the content, if it is known without reading the file.
    """

    name: str
    paths: tuple[Path, ...]
    source: str
    content: str = ""


def known_data_sets(data_dir: str | os.PathLike[str] | None = None) -> tuple[KnownDataSet, ...]:
    """List the data sets that can be loaded by name.

    CSV files without a `bag` and a `label` column are omitted.

    Parameters
    ----------
    data_dir : str, path-like or None, default=None
        Directory with further data sets. None uses the environment variable MILOPT_DATA.

    Returns
    -------
    tuple of KnownDataSet
        The embedded data sets, then those of the directory.

    Examples
    --------
    >>> from milopt.data import known_data_sets
    >>> [entry.name for entry in known_data_sets()][:2]
    ['musk1', 'musk2']
    """
    shipped = embedded_sets()
    names = {entry.name.casefold() for entry in shipped}
    others = [entry for entry in folder_sets(data_dir) if entry.name.casefold() not in names]
    return (*shipped, *(entry for entry in others if _may_contain_bags(entry.paths[0])))


def _may_contain_bags(path: Path) -> bool:
    """Return True unless the file is a CSV table without the columns `bag` and `label`."""
    return READERS.get(format_ending(path.name) or "") is not read_csv or has_bag_columns(path)


def embedded_sets() -> tuple[KnownDataSet, ...]:
    """Return the embedded data sets; `paths` is empty if the files are missing from the installation."""
    paths = {entry.name: entry.paths for entry in _list_folder(EMBEDDED_FOLDER)}
    return tuple(
        KnownDataSet(name, paths.get(name, ()), "embedded", content) for name, content in EMBEDDED_DESCRIPTIONS.items()
    )


def folder_sets(data_dir: str | os.PathLike[str] | None = None) -> list[KnownDataSet]:
    """Return the data sets in `data_dir` (or in $MILOPT_DATA): files with the ending of a supported format."""
    return _list_folder(_resolve_folder(data_dir))


def _resolve_folder(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return `data_dir` or $MILOPT_DATA as a path, None if neither is set; raise an error if it is not a directory."""
    given, origin = (data_dir, "data_dir") if data_dir is not None else (os.environ.get("MILOPT_DATA"), "MILOPT_DATA")
    if not given:
        return None
    folder = Path(given)
    if not os.path.isdir(folder):
        raise DataError(f"{format_path(folder)}: {origin} must be a directory with data files.")
    return folder


def _list_folder(folder: Path | None) -> list[KnownDataSet]:
    """Return the data sets of a directory (without subdirectories), sorted by name; an empty list for None.

    Of several files with the same name, the one with the first format of `READERS` and `SERIES_FORMATS` is used.
    """
    if folder is None:
        return []
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise DataError(f"{format_path(folder)}: the directory cannot be listed ({error.strerror}).") from None
    order = (*READERS, *SERIES_FORMATS)
    best: dict[str, tuple[int, KnownDataSet]] = {}
    for name in names:
        end = format_ending(name)
        if end is None:
            continue
        stem = name[: -len(end)]
        paths: tuple[Path, ...] = (folder / name,)
        if end in SERIES_FORMATS:
            if stem.casefold().endswith(_TEST_SUFFIX):
                continue
            if test := find_test_file(folder / name):
                stem, paths = stem[: -len(_TRAIN_SUFFIX)], (folder / name, test)
        rank = order.index(end)
        if stem and (stem not in best or rank < best[stem][0]):
            best[stem] = (rank, KnownDataSet(stem, paths, str(folder)))
    return sorted((entry for _, entry in best.values()), key=lambda entry: (entry.name.casefold(), entry.name))


def find_test_file(path: Path) -> Path | None:
    """Return the file NAME_TEST.ts next to NAME_TRAIN.ts, or None if it does not exist or `path` is not such a file."""
    end = format_ending(path.name)
    if end is None or end not in SERIES_FORMATS:
        return None
    stem, suffix = path.name[: -len(end)], path.name[-len(end) :]
    if not stem.casefold().endswith(_TRAIN_SUFFIX):
        return None
    mark = stem[-len(_TRAIN_SUFFIX) :]
    for other in ("_TEST", "_test", "_Test") if mark != "_train" else ("_test", "_TEST", "_Test"):
        for tail in dict.fromkeys((suffix, *SERIES_FORMATS)):
            candidate = path.with_name(stem[: -len(_TRAIN_SUFFIX)] + other + tail)
            if candidate.is_file():
                return candidate
    return None
