"""Loading of data sets by name or from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from milopt.data.catalogue import KnownDataSet, embedded_sets, find_test_file, folder_sets, known_data_sets
from milopt.data.csv_file import TableColumns, read_csv
from milopt.data.data_set import DataSet, as_label_array
from milopt.data.embedded import check_embedded_file
from milopt.data.formats import READERS, SERIES_FORMATS, format_ending
from milopt.data.messages import escape_unprintable, file_error, format_path, quote
from milopt.data.series import make_windows
from milopt.data.text_file import check_regular_file
from milopt.data.ts_file import LabelledSeries, read_ts
from milopt.declaration.bags.sliding_windows import window_length
from milopt.errors import DataError
from milopt.name_suggestions import unknown_name_error


def load_data(
    source: str | os.PathLike[str],
    *,
    window: float | None = 0.2,
    stride: int = 1,
    znormalise: bool = False,
    data_dir: str | os.PathLike[str] | None = None,
    labelled: bool = True,
    bag: str = "bag",
    label: str = "label",
    features: Sequence[str] | None = None,
    allow_missing: bool = False,
) -> DataSet:
    """Load a data set by name or from a file.

    Parameters
    ----------
    source : str or path-like
        Name of a data set (case-insensitive), or path of a file in one of the supported formats. Names are looked up
        among the embedded data sets first, then in `data_dir` (see `milopt.data.known_data_sets`).
    window : float, int or None, default=0.2
        Window length for time series (`.ts` files): a number of samples, or a fraction of the shortest training series.
        None makes every sample an instance. Ignored for other formats.
    stride : int, default=1
        Number of samples between the starts of consecutive windows.
    znormalise : bool, default=False
        Whether to standardise each window to mean 0 and standard deviation 1. A constant window becomes 0.
    data_dir : str, path-like or None, default=None
        Directory with further data sets. None uses the environment variable MILOPT_DATA.
    labelled : bool, default=True
        If False, bags without a label are accepted and get the label "".
    bag, label : str, default="bag", "label"
        Names of the columns with the bags and their labels. Only for tables (`.csv` files).
    features : sequence of str or None, default=None
        Names of the columns with the features; None means all other columns. Only for tables.
    allow_missing : bool, default=False
        Whether features may be missing (empty, ?, NA or NaN), for transformers that fill them in, such as
        ``InstanceTransformer(SimpleImputer())``. Only for tables.

    Returns
    -------
    DataSet
        With `bags`, `labels`, `ids` and, if the data set has an official test part, `test`.

    Raises
    ------
    DataError
        If the name is unknown or the file cannot be read. The message names the file and, if known, the line.

    Examples
    --------
    >>> import milopt
    >>> data = milopt.load_data("musk1")
    >>> data
    DataSet('musk1', Bags(92 bags, 476 instances, 166 features))
    >>> data.labels[:3]
    array([1, 1, 1])
    """
    given = os.fspath(source)
    if not isinstance(given, str):
        raise DataError(f"source must be the name or path of a data set as a string, not {type(given).__name__}.")
    path = Path(given)
    columns = _table_columns(bag, label, features, allow_missing)
    if format_ending(path.name) or path.name != given:
        return _load_file(path, (window, stride, znormalise), labelled, columns)
    chosen = _find_data_set_by_name(given, data_dir)
    if not chosen.paths:
        raise DataError(f"The data set {chosen.name} is missing from the installation; reinstall milopt.")
    if chosen.source == "embedded":
        for path in chosen.paths:
            check_embedded_file(path)
    data = _load_file(chosen.paths[0], (window, stride, znormalise), labelled, columns)
    test = None if data.test is None else replace(data.test, name=f"{chosen.name} (test)")
    shipped = "embedded" if chosen.source == "embedded" else data.source
    return replace(data, name=chosen.name, test=test and replace(test, source=shipped or test.source), source=shipped)


def _find_data_set_by_name(name: str, data_dir: str | os.PathLike[str] | None) -> KnownDataSet:
    """Return the data set of this name, in any case; embedded sets come first, and among these an exact match."""
    folded = name.casefold()
    # Embedded sets must be found even if MILOPT_DATA is invalid.
    for candidates in (embedded_sets, lambda: folder_sets(data_dir)):
        alike = [entry for entry in candidates() if entry.name.casefold() == folded]
        if alike:
            return next((entry for entry in alike if entry.name == name), alike[0])
    raise unknown_name_error(
        "data set", escape_unprintable(name[:100]), [entry.name for entry in known_data_sets(data_dir)]
    )


def _table_columns(bag: str, label: str, features: Sequence[str] | None, allow_missing: bool) -> TableColumns | None:
    """Return the columns that the user named; None for the default names without missing values.

    Raise an error if the names are not strings, or if one of them is used twice.
    """
    if isinstance(features, str) or not all(isinstance(name, str) for name in (bag, label, *(features or ()))):
        raise DataError("bag and label must be names of columns, and features a list of names.")
    columns = TableColumns(bag, label, None if features is None else tuple(features), allow_missing)
    if bag.casefold() == label.casefold():
        raise DataError(f"bag and label are both {quote(bag)}; name two columns.")
    if len(set(columns.features or ())) < len(columns.features or ()):
        raise DataError("features names a column twice; name each once.")
    return None if columns == TableColumns() else columns


def _load_file(
    path: Path, windowing: tuple[float | None, int, bool], labelled: bool, columns: TableColumns | None
) -> DataSet:
    """Read a data file, or raise an error if it is not a regular file or does not fit into memory.

    `windowing` is (window, stride, znormalise) of `load_data`.
    """
    check_regular_file(path)
    try:
        return _read_file(path, windowing, labelled, columns)
    except MemoryError:
        raise file_error(path, "the data do not fit into memory; give a smaller file") from None


def _read_file(
    path: Path, windowing: tuple[float | None, int, bool], labelled: bool, columns: TableColumns | None
) -> DataSet:
    """Read a data file in the format of its ending; `windowing` is (window, stride, znormalise) for time series."""
    end = format_ending(path.name)
    if end is None:
        known_endings = ", ".join((*READERS, *SERIES_FORMATS))
        raise file_error(path, f"the format is unknown; the name must end in one of {known_endings}")
    name = path.name[: -len(end)]
    if columns is not None:
        if READERS.get(end) is not read_csv:
            if columns == TableColumns(allow_missing=True):
                raise file_error(path, "features may be missing in tables only (.csv files); leave out allow_missing")
            raise file_error(path, "columns are named in tables only (.csv files); leave out the names")
        return read_csv(path, name, labelled, columns)
    if end not in SERIES_FORMATS:
        return READERS[end](path, name, labelled)
    window, stride, znormalise = windowing
    training = read_ts(path, labelled)
    # The test part has windows of the same length, so that windows can be compared.
    length = None if window is None else window_length(window, min(series.size for series in training.series))
    data = _cut_windows(training, name, length, stride, znormalise)
    other = find_test_file(path)
    if other is None:
        return data
    return replace(data, test=_cut_windows(read_ts(other, labelled), f"{name} (test)", length, stride, znormalise))


def _cut_windows(given: LabelledSeries, name: str, length: int | None, stride: int, znormalise: bool) -> DataSet:
    """Return the data set of the windows of labelled series; if `length` is None, every sample is an instance."""

    def series_name(i: int) -> str:
        """Return the name of series i for messages."""
        return f"the series in {format_path(given.path)}, line {given.lines[i]}"

    bags = make_windows(given.series, length, stride, znormalise, series_name)
    ids = tuple(str(i) for i in range(len(bags)))
    return DataSet(name, bags, as_label_array(given.labels), ids, source=str(given.path))
