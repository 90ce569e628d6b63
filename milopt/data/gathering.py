"""Rows that name their bag, gathered into bags: in the order in which the bags first appear, each with one label."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Points
from milopt.data.data_set import DataSet, as_label_array, whole
from milopt.data.limits import NAME_LENGTH
from milopt.data.messages import shown, spelled_path
from milopt.declaration.arrays import read_only
from milopt.declaration.bags.bags import Bags
from milopt.errors import DataError

_MISSING = ("", "?", "nan")
"""How a label that is missing is written."""


class Gathering:
    """The bag of every row so far; `error(problem, line)` makes the message for a row of that line.

    Where they need not be labelled, a label that is missing is "".
    """

    def __init__(self, error: Callable[[str, int], DataError], place: str = "line", *, labelled: bool = True) -> None:
        self._error = error
        self._place = place
        self._labelled = labelled
        self._bag_of: dict[str, int] = {}
        self._labels: list[str] = []
        self._first: list[int] = []
        self._rows = array("q")

    def __contains__(self, bag: str) -> bool:
        return bag in self._bag_of

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, bag: str, label: str, line: int) -> None:
        """One more row, of this bag, whose label must be the one that the bag had before."""
        i = self._bag_of.get(bag)
        if not self._labelled and label.strip().casefold() in _MISSING:
            label = ""
        if i is None:
            i = self._new(bag.strip(), label.strip(), line)
            # As it is written, so that the next row of this bag is found at once.
            self._bag_of[bag] = i
        elif label != self._labels[i]:
            self._agree(i, bag, label.strip(), line)
        self._rows.append(i)

    def _new(self, bag: str, label: str, line: int) -> int:
        for what, text in (("bag's name", bag), ("label", label)):
            if not text and (self._labelled or what != "label"):
                raise self._error(f"the {what} is empty; every row needs one", line)
            if len(text) > NAME_LENGTH:
                raise self._error(f"the {what} {shown(text)} has more than {NAME_LENGTH} characters", line)
        if label.casefold().lstrip("+-") in ("nan", "inf", "infinity", "?"):
            raise self._error(f"the label of bag {shown(bag)} is {label}; every bag needs a label", line)
        i = self._bag_of.get(bag)
        if i is not None:
            self._agree(i, bag, label, line)
            return i
        i = self._bag_of[bag] = len(self._labels)
        self._labels.append(label)
        self._first.append(line)
        return i

    def _agree(self, i: int, bag: str, label: str, line: int) -> None:
        before = self._labels[i]
        if label != before and (whole(label) is None or whole(label) != whole(before)):
            both = f"label {shown(label)} here and {shown(before)} in {self._place} {self._first[i]}"
            raise self._error(f"bag {shown(bag.strip())} has {both}; a bag has one label", line)

    def labels(self) -> npt.NDArray[Any]:
        """One a bag."""
        return as_label_array(self._labels)

    def data_set(self, name: str, source: str, instances: Points, features: tuple[str, ...] | None = None) -> DataSet:
        """The bags of these rows; rows of one bag that lie apart are brought together."""
        bag_of: npt.NDArray[Any] = np.frombuffer(self._rows, dtype=np.int64)
        if (np.diff(bag_of) < 0).any():
            instances = instances[np.argsort(bag_of, kind="stable")]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(bag_of))])
        if isinstance(instances, np.ndarray):
            read_only(instances)
        names: dict[int, str] = {}
        for bag, i in self._bag_of.items():
            names.setdefault(i, bag.strip())
        ids = tuple(names[i] for i in range(len(self._labels)))
        bags = Bags(instances, offsets, name=name)
        return DataSet(name, bags, self.labels(), ids, source=source, features=features)


def long_table(
    names: Sequence[str],
    labels: Sequence[str],
    instances: Points,
    name: str,
    source: Path | str,
    *,
    features: tuple[str, ...] | None = None,
    labelled: bool = True,
) -> DataSet:
    """The bags of rows that lie in memory; a message counts them from 0."""
    if not len(names) == len(labels) == instances.shape[0] or not names:
        counts = f"{len(names)} bag names and {len(labels)} labels for {instances.shape[0]} instances"
        raise _table_error(source, f"there are {counts}; give one of each an instance, and at least one instance")
    finite = np.isfinite(instances.data if isinstance(instances, sp.csr_array) else instances)
    if not finite.all():
        place = int(np.flatnonzero(~finite)[0])
        row, column = divmod(place, instances.shape[1])
        if isinstance(instances, sp.csr_array):
            row, column = (int(entry[place]) for entry in instances.tocoo().coords)
        raise _table_error(source, f"the value of feature {column} is not a finite number", row)
    rows = Gathering(lambda problem, row: _table_error(source, problem, row), "row", labelled=labelled)
    for row, (bag, label) in enumerate(zip(names, labels, strict=True)):
        rows.add(bag, label, row)
    return rows.data_set(name, str(source), instances, features)


def with_labels(bags: Bags, labels: Sequence[str], name: str, source: Path | str, *, labelled: bool = True) -> DataSet:
    """Bags that are bags already, with one label each; they are named by their numbers."""
    if len(labels) != len(bags):
        raise _table_error(source, f"there are {len(labels)} labels for {len(bags)} bags; give one a bag")
    checks = Gathering(lambda problem, i: _table_error(source, problem, i), "row", labelled=labelled)
    ids = tuple(str(i) for i in range(len(bags)))
    for i, label in enumerate(labels):
        checks.add(ids[i], label, i)
    return DataSet(name, bags, checks.labels(), ids, source=str(source))


def _table_error(source: Path | str, problem: str, row: int | None = None) -> DataError:
    where = spelled_path(source) if row is None else f"{spelled_path(source)}, row {row}"
    return DataError(f"{where}: {problem}.")
