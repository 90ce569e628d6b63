"""A data set by its name or its file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from milopt.data.catalogue import KnownSet, embedded_sets, folder_sets, known, partner
from milopt.data.data_set import DataSet, as_label_array
from milopt.data.embedded import verified
from milopt.data.formats import READERS, SERIES, ending
from milopt.data.messages import file_error, printable, spelled_path
from milopt.data.series import windows
from milopt.data.text_file import regular
from milopt.data.ts_file import LabelledSeries, read_ts
from milopt.declaration.bags.sliding import window_length
from milopt.errors import DataError
from milopt.names import unknown


def load_data(
    source: str | os.PathLike[str],
    *,
    window: float | None = 0.2,
    stride: int = 1,
    znormalise: bool = False,
    data_dir: str | os.PathLike[str] | None = None,
    labelled: bool = True,
) -> DataSet:
    """The data set of this name (in any case of letters), or in this file.

    Names are those of `milopt.data.known`: the sets that ship, then the files in `data_dir`, or else in the folder that
    MILOPT_DATA names. Series (`.ts`) become bags of windows: `window` is in samples, or a fraction of the shortest
    training series, or None for the samples themselves, in order; `stride` and `znormalise` are those of
    `from_series`. What is no series has no windows.
    `labelled=False` also takes bags without a label, as they are to be predicted: their label is "".
    """
    given = os.fspath(source)
    if not isinstance(given, str):
        raise DataError(f"A data set is given by its name or path as text, not as {type(given).__name__}.")
    path = Path(given)
    if ending(path.name) or path.name != given:
        return _from_file(path, (window, stride, znormalise), labelled)
    chosen = _named(given, data_dir)
    if not chosen.paths:
        raise DataError(f"The data set {chosen.name} is not there, though it ships with milopt; install milopt again.")
    if chosen.source == "embedded":
        for one in chosen.paths:
            verified(one)
    data = _from_file(chosen.paths[0], (window, stride, znormalise), labelled)
    test = None if data.test is None else replace(data.test, name=f"{chosen.name} (test)")
    shipped = "embedded" if chosen.source == "embedded" else data.source
    return replace(data, name=chosen.name, test=test and replace(test, source=shipped or test.source), source=shipped)


def _named(name: str, data_dir: str | os.PathLike[str] | None) -> KnownSet:
    """The known set of this name; exactly so called before called so in another case."""
    folded = name.casefold()
    # The sets that ship are found whatever MILOPT_DATA names.
    for candidates in (embedded_sets, lambda: folder_sets(data_dir)):
        alike = [one for one in candidates() if one.name.casefold() == folded]
        if alike:
            return next((one for one in alike if one.name == name), alike[0])
    raise unknown("data set", printable(name[:100]), [one.name for one in known(data_dir)])


def _from_file(path: Path, cut: tuple[float | None, int, bool], labelled: bool) -> DataSet:
    regular(path)
    try:
        return _read(path, cut, labelled)
    except MemoryError:
        raise file_error(path, "the data need more memory than there is; give a smaller file") from None


def _read(path: Path, cut: tuple[float | None, int, bool], labelled: bool) -> DataSet:
    end = ending(path.name)
    if end is None:
        known_endings = ", ".join((*READERS, *SERIES))
        raise file_error(path, f"the name does not tell the format; it must end in one of {known_endings}")
    name = path.name[: -len(end)]
    if end not in SERIES:
        return READERS[end](path, name, labelled)
    window, stride, znormalise = cut
    training = read_ts(path, labelled)
    # The test part is cut as the training part is, or windows could not be compared.
    length = None if window is None else window_length(window, min(one.size for one in training.series))
    data = _windowed(training, name, length, stride, znormalise)
    other = partner(path)
    if other is None:
        return data
    return replace(data, test=_windowed(read_ts(other, labelled), f"{name} (test)", length, stride, znormalise))


def _windowed(given: LabelledSeries, name: str, length: int | None, stride: int, znormalise: bool) -> DataSet:
    def called(i: int) -> str:
        return f"the series in {spelled_path(given.path)}, line {given.lines[i]}"

    bags = windows(given.series, length, stride, znormalise, called)
    ids = tuple(str(i) for i in range(len(bags)))
    return DataSet(name, bags, as_label_array(given.labels), ids, source=str(given.path))
