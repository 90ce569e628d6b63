"""Grouping of rows into bags, in the order in which the bags first appear, with one label per bag."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Points
from milopt.data.data_set import DataSet, as_integer_label, as_label_array
from milopt.data.limits import MAX_NAME_LENGTH
from milopt.data.messages import format_path, quote
from milopt.declaration.array_conversion import make_read_only
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.scaled_rows import row_slices
from milopt.errors import DataError

_MISSING_LABELS = ("", "?", "nan")
"""Spellings of a missing label, in lower case."""


class RowGrouping:
    """Rows grouped into bags, with one label per bag; rows are added one by one.

    Parameters
    ----------
    error : callable
        `error(problem, line)` returns the exception for an invalid row.
    row_word : str, default="line"
        How a message calls the position of a row: "line" or "row".
    labelled : bool, default=True
        If False, labels may be missing and become "".
    """

    def __init__(
        self, error: Callable[[str, int], DataError], row_word: str = "line", *, labelled: bool = True
    ) -> None:
        self._error = error
        self._row_word = row_word
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
        """Add a row to a bag; raise an error if its label differs from that of earlier rows of this bag."""
        i = self._bag_of.get(bag)
        if not self._labelled and label.strip().casefold() in _MISSING_LABELS:
            label = ""
        if i is None:
            i = self._register_bag(bag.strip(), label.strip(), line)
            # Store the name with its whitespace too, so that the next row of this bag is found directly.
            self._bag_of[bag] = i
        elif label != self._labels[i]:
            self._check_label(i, bag, label.strip(), line)
        self._rows.append(i)

    def _register_bag(self, bag: str, label: str, line: int) -> int:
        """Check the name and the label of a bag, add the bag if it is new, and return the index of the bag."""
        for kind, text in (("bag's name", bag), ("label", label)):
            if not text and (self._labelled or kind != "label"):
                raise self._error(f"the {kind} is empty; every row needs a {kind}", line)
            if len(text) > MAX_NAME_LENGTH:
                raise self._error(f"the {kind} {quote(text)} has more than {MAX_NAME_LENGTH} characters", line)
        if label.casefold().lstrip("+-") in ("nan", "inf", "infinity", "?"):
            raise self._error(f"the label of bag {quote(bag)} is {label}; every bag needs a label", line)
        i = self._bag_of.get(bag)
        if i is not None:
            self._check_label(i, bag, label, line)
            return i
        i = self._bag_of[bag] = len(self._labels)
        self._labels.append(label)
        self._first.append(line)
        return i

    def _check_label(self, i: int, bag: str, label: str, line: int) -> None:
        """Raise an error if the label differs from the earlier label of bag i; "1" and "1.0" are the same label."""
        before = self._labels[i]
        if label != before and (as_integer_label(label) is None or as_integer_label(label) != as_integer_label(before)):
            both = f"label {quote(label)} here and {quote(before)} in {self._row_word} {self._first[i]}"
            raise self._error(f"bag {quote(bag.strip())} has {both}; a bag has one label", line)

    def labels(self) -> npt.NDArray[Any]:
        """Return the labels, one per bag."""
        return as_label_array(self._labels)

    def data_set(
        self,
        name: str,
        source: str,
        instances: Points,
        features: tuple[str, ...] | None = None,
        allow_nan: bool = False,
    ) -> DataSet:
        """Return the data set of the added rows, whose features are the rows of `instances`, in the same order.

        The rows of one bag are made adjacent. Dense instances become read-only.
        """
        bag_of: npt.NDArray[Any] = np.frombuffer(self._rows, dtype=np.int64)
        if (np.diff(bag_of) < 0).any():
            instances = instances[np.argsort(bag_of, kind="stable")]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(bag_of))])
        if isinstance(instances, np.ndarray):
            make_read_only(instances)
        names: dict[int, str] = {}
        for bag, i in self._bag_of.items():
            names.setdefault(i, bag.strip())
        ids = tuple(names[i] for i in range(len(self._labels)))
        bags = Bags(instances, offsets, name=name, features=features, allow_nan=allow_nan)
        return DataSet(name, bags, self.labels(), ids, source=source, features=features)


def group_rows(
    names: Sequence[str],
    labels: Sequence[str],
    instances: Points,
    name: str,
    source: Path | str,
    *,
    features: tuple[str, ...] | None = None,
    labelled: bool = True,
    allow_nan: bool = False,
) -> DataSet:
    """Return the data set of instances with one bag name and one label per instance. Messages count rows from 0."""
    if not len(names) == len(labels) == instances.shape[0] or not names:
        counts = f"{len(names)} bag names and {len(labels)} labels for {instances.shape[0]} instances"
        raise _table_error(source, f"there are {counts}; give one of each per instance, and at least one instance")
    place = _first_bad_value(instances, allow_nan)
    if place is not None:
        raise _table_error(source, f"the value of feature {place[1]} is not a finite number", place[0])
    rows = RowGrouping(lambda problem, row: _table_error(source, problem, row), "row", labelled=labelled)
    for row, (bag, label) in enumerate(zip(names, labels, strict=True)):
        rows.add(bag, label, row)
    return rows.data_set(name, str(source), instances, features, allow_nan)


def _first_bad_value(instances: Points, allow_nan: bool) -> tuple[int, int] | None:
    """Return row and column of the first value that is infinite, or NaN unless `allow_nan`; None if there is none."""

    def is_bad(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isinf(values) if allow_nan else ~np.isfinite(values))

    if isinstance(instances, sp.csr_array):
        wrong = np.flatnonzero(is_bad(instances.data))
        if not wrong.size:
            return None
        row, column = (int(entry[wrong[0]]) for entry in instances.tocoo().coords)
        return row, column
    for rows in row_slices(*instances.shape):
        bad = is_bad(instances[rows])
        if bad.any():
            row, column = divmod(int(np.flatnonzero(bad)[0]), instances.shape[1])
            return rows.start + row, column
    return None


def label_bags(bags: Bags, labels: Sequence[str], name: str, source: Path | str, *, labelled: bool = True) -> DataSet:
    """Return the data set of bags with one label per bag. The names of the bags are their numbers, from 0."""
    if len(labels) != len(bags):
        raise _table_error(source, f"there are {len(labels)} labels for {len(bags)} bags; give one label per bag")
    checks = RowGrouping(lambda problem, i: _table_error(source, problem, i), "row", labelled=labelled)
    ids = tuple(str(i) for i in range(len(bags)))
    for i, label in enumerate(labels):
        checks.add(ids[i], label, i)
    return DataSet(name, bags, checks.labels(), ids, source=str(source))


def _table_error(source: Path | str, problem: str, row: int | None = None) -> DataError:
    """Return (do not raise) an error that names the source, and the row if it is given."""
    where = format_path(source) if row is None else f"{format_path(source)}, row {row}"
    return DataError(f"{where}: {problem}.")
