"""A data set: bags, a label a bag, and the official test part where there is one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.declaration.arrays import read_only
from milopt.declaration.bags import Bags


@dataclass(frozen=True, eq=False)
class DataSet:
    """Bags B_1, ..., B_m with labels y_1, ..., y_m and names; `test` is the official test part, or None."""

    name: str
    bags: Bags
    labels: npt.NDArray[Any]
    """One a bag, as in the file: integers where all are whole numbers, strings otherwise."""
    ids: tuple[str, ...]
    """The names of the bags."""
    test: DataSet | None = None
    source: str = ""
    """The file, or "embedded": for people."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of instances, offsets and labels, and of the test part; the same on every machine."""
        content = hashlib.sha256(self.bags.digest().encode())
        content.update(self.labels.dtype.kind.encode())
        for label in self.labels.tolist():
            spelled = str(label).encode()
            content.update(b"%d:%b" % (len(spelled), spelled))
        if self.test is not None:
            content.update(self.test.digest.encode())
        return content.hexdigest()

    def __repr__(self) -> str:
        test = "" if self.test is None else f", test={self.test.bags!r}"
        return f"DataSet({self.name!r}, {self.bags!r}{test})"


def whole(label: str) -> int | None:
    """The whole number that a label is, however it is written ("1", "+1", "1.0"), or None."""
    try:
        value = float(label)
    except ValueError:
        return None
    # From 2^53 on two labels could be read as the same number.
    return int(value) if value.is_integer() and abs(value) < 2**53 and "_" not in label else None


def as_label_array(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Integers where all labels are whole numbers, strings otherwise."""
    numbers = {label: whole(label) for label in set(labels)}
    if None in numbers.values():
        return read_only(np.array(labels, dtype=np.str_))
    return read_only(np.array([numbers[label] for label in labels], dtype=np.int64))
