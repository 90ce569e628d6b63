"""A data set: bags, a label a bag, and the official test part where there is one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Points
from milopt.data.messages import shown
from milopt.declaration.arrays import csr, read_only
from milopt.declaration.bags.bags import Bags
from milopt.errors import DataError


@dataclass(frozen=True, eq=False)
class DataSet:
    """Bags B_1, ..., B_m with labels y_1, ..., y_m and names; `test` is the official test part, or None."""

    name: str
    bags: Bags
    labels: npt.NDArray[Any]
    """One a bag, as in the file: integers where all are whole numbers, strings otherwise; "" where one is missing.

    Booleans if `from_frame` was told which label is positive.
    """
    ids: tuple[str, ...]
    """The names of the bags."""
    test: DataSet | None = None
    source: str = ""
    """The file, or "embedded": for people."""
    features: tuple[str, ...] | None = None
    """The names of the features, where the source has some."""

    def arranged(self, names: Sequence[str] | None) -> DataSet:
        """The same with the features of these names, in their order, so that a model meets those it was fitted on.

        Where either side has no names, or only numbers its features (f0, f1, ...) and the other does not, places count.
        """
        wanted, own = tuple(names or ()), self.features or ()
        if not wanted or not own or wanted == own:
            return self
        if not set(wanted) & set(own) and (_numbered(wanted) or _numbered(own)):
            return self
        if missing := [name for name in wanted if name not in own]:
            raise DataError(
                f"{self.name} has no feature {shown(missing[0])}, which the model was fitted on; it has {_listed(own)}."
            )
        if new := [name for name in own if name not in wanted]:
            raise DataError(
                f"{self.name} has a feature {shown(new[0])}, which the model was not fitted on; leave it out."
            )
        place = {name: j for j, name in enumerate(own)}
        columns = [place[name] for name in wanted]
        return self._with_instances(lambda rows: rows[:, columns], wanted)

    def padded(self, dimension: int) -> DataSet:
        """The same with features that are 0 up to this many: a sparse file tells no feature beyond its last one."""
        if self.bags.dimension >= dimension:
            return self

        def wider(rows: Points) -> Points:
            held = csr(rows)
            return sp.csr_array((held.data, held.indices, held.indptr), shape=(held.shape[0], dimension))

        return self._with_instances(wider, None)

    def _with_instances(self, change: Callable[[Points], Points], features: tuple[str, ...] | None) -> DataSet:
        bags = Bags(change(self.bags.instances), self.bags.offsets, name=self.name)
        test = None if self.test is None else self.test._with_instances(change, features)
        return replace(self, bags=bags, features=features, test=test)

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


def _numbered(names: Sequence[str]) -> bool:
    return all(name == f"f{j}" for j, name in enumerate(names))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")


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
