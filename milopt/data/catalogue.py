"""The data sets that are known by name: those that ship, then those in the folder that a person points at."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from milopt.data.csv_file import names_bags, read_csv
from milopt.data.embedded import CONTENT, FOLDER
from milopt.data.formats import READERS, SERIES, ending
from milopt.data.messages import spelled_path
from milopt.errors import DataError

_TRAIN, _TEST = "_train", "_test"


@dataclass(frozen=True)
class KnownSet:
    """A data set that `load_data` finds by its name."""

    name: str
    paths: tuple[Path, ...]
    """The file; for series with an official split, the training file and the test file."""
    source: str
    """ "embedded", or the folder: for people."""
    content: str = ""
    """What is in it, where that is known without reading it."""


def known(data_dir: str | os.PathLike[str] | None = None) -> tuple[KnownSet, ...]:
    """The sets that ship, then those in `data_dir`, or else in the folder that MILOPT_DATA names.

    Tables that have nothing to do with bags, which lie in many a folder, are left out.
    """
    shipped = embedded_sets()
    names = {one.name.casefold() for one in shipped}
    others = [one for one in folder_sets(data_dir) if one.name.casefold() not in names]
    return (*shipped, *(one for one in others if _may_hold_bags(one.paths[0])))


def _may_hold_bags(path: Path) -> bool:
    return READERS.get(ending(path.name) or "") is not read_csv or names_bags(path)


def embedded_sets() -> tuple[KnownSet, ...]:
    """The sets that ship."""
    found = {one.name: one.paths for one in _in_folder(FOLDER)}
    return tuple(KnownSet(name, found.get(name, ()), "embedded", content) for name, content in CONTENT.items())


def folder_sets(data_dir: str | os.PathLike[str] | None = None) -> list[KnownSet]:
    """All files in `data_dir`, or else in the folder that MILOPT_DATA names, whose names tell a format."""
    return _in_folder(_folder(data_dir))


def _folder(data_dir: str | os.PathLike[str] | None) -> Path | None:
    given, teller = (data_dir, "data_dir") if data_dir is not None else (os.environ.get("MILOPT_DATA"), "MILOPT_DATA")
    if not given:
        return None
    folder = Path(given)
    if not os.path.isdir(folder):
        raise DataError(f"{spelled_path(folder)}: {teller} must name a folder that holds data files, and this is none.")
    return folder


def _in_folder(folder: Path | None) -> list[KnownSet]:
    """The sets of a folder, in the order of their names; the folders in it are not entered."""
    if folder is None:
        return []
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise DataError(f"{spelled_path(folder)}: the folder cannot be listed ({error.strerror}).") from None
    order = (*READERS, *SERIES)
    found: dict[str, tuple[int, KnownSet]] = {}
    for name in names:
        end = ending(name)
        if end is None:
            continue
        stem = name[: -len(end)]
        paths: tuple[Path, ...] = (folder / name,)
        if end in SERIES:
            if stem.casefold().endswith(_TEST):
                continue
            if test := partner(folder / name):
                stem, paths = stem[: -len(_TRAIN)], (folder / name, test)
        rank = order.index(end)
        if stem and (stem not in found or rank < found[stem][0]):
            found[stem] = (rank, KnownSet(stem, paths, str(folder)))
    return sorted((one for _, one in found.values()), key=lambda one: (one.name.casefold(), one.name))


def partner(path: Path) -> Path | None:
    """NAME_TEST.ts beside NAME_TRAIN.ts, if it is there."""
    end = ending(path.name)
    if end is None or end not in SERIES:
        return None
    stem, kept = path.name[: -len(end)], path.name[-len(end) :]
    if not stem.casefold().endswith(_TRAIN):
        return None
    mark = stem[-len(_TRAIN) :]
    for other in ("_TEST", "_test", "_Test") if mark != "_train" else ("_test", "_TEST", "_Test"):
        for tail in dict.fromkeys((kept, *SERIES)):
            candidate = path.with_name(stem[: -len(_TRAIN)] + other + tail)
            if candidate.is_file():
                return candidate
    return None
