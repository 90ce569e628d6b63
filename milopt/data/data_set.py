"""Data set: bags with one label per bag, and the official test part if there is one."""

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
from milopt.data.messages import quote
from milopt.declaration.array_conversion import as_canonical_csr, make_read_only
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.feature_names import FeatureMismatchError, match_features
from milopt.errors import DataError


@dataclass(frozen=True, eq=False)
class DataSet:
    """Bags with labels and names, and the official test part if there is one.

    Attributes
    ----------
    name : str
        Name of the data set.
    bags : Bags
        Bags B_1, ..., B_m.
    labels : ndarray of shape (n_bags,)
        One label per bag, as in the file: integers if all labels are whole numbers, otherwise strings. A missing label
        is "". Booleans if `from_frame` was given a `positive` label.
    ids : tuple of str
        Names of the bags.
    test : DataSet or None
        Official test part.
    source : str
        The file, or "embedded", for display.
    features : tuple of str or None
        Names of the features, if the source has names.
    """

    name: str
    bags: Bags
    labels: npt.NDArray[Any]
    ids: tuple[str, ...]
    test: DataSet | None = None
    source: str = ""
    features: tuple[str, ...] | None = None

    def select_features(self, names: Sequence[str] | None) -> DataSet:
        """Return the data set with the named features only, in this order, as a fitted model needs them.

        The data set is returned unchanged if the features of the data set or of the model have no names, or if the two
        lists of names have no name in common and one of them consists of the default names f0, f1, ...

        Parameters
        ----------
        names : sequence of str or None
            Names of the features that the model was fitted on.

        Returns
        -------
        DataSet
            Data set with the columns of `names`.

        Raises
        ------
        DataError
            If a feature is missing, or if there is a feature that is not in `names`.
        """
        own = self.features or ()
        try:
            columns = match_features(own, names)
        except FeatureMismatchError as error:
            if error.is_missing:
                raise DataError(
                    f"{self.name} has no feature {quote(error.name)}, which the model needs; it has {_list_names(own)}."
                ) from None
            raise DataError(
                f"{self.name} has a feature {quote(error.name)}, which the model was not fitted on; leave it out."
            ) from None
        return self if columns is None else self._with_instances(lambda rows: rows[:, columns], tuple(names or ()))

    def pad_features(self, dimension: int) -> DataSet:
        """Return the data set with zero features appended up to `dimension` features, as sparse rows without names.

        A sparse file does not state how many features follow the last feature with a nonzero value.

        Parameters
        ----------
        dimension : int
            Number of features that the model was fitted on.

        Returns
        -------
        DataSet
            Data set with at least `dimension` features; the data set itself if it has that many already.
        """
        if self.bags.dimension >= dimension:
            return self

        def widen(rows: Points) -> Points:
            """Return the rows as a sparse matrix with `dimension` columns."""
            sparse = as_canonical_csr(rows)
            return sp.csr_array((sparse.data, sparse.indices, sparse.indptr), shape=(sparse.shape[0], dimension))

        return self._with_instances(widen, None)

    def _with_instances(self, change: Callable[[Points], Points], features: tuple[str, ...] | None) -> DataSet:
        """Return the data set with `change` applied to all instances, also in the test part, and new feature names."""
        bags = Bags(change(self.bags.instances), self.bags.offsets, name=self.name, features=features)
        test = None if self.test is None else self.test._with_instances(change, features)
        return replace(self, bags=bags, features=features, test=test)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of instances, offsets, labels and the test part, identical on every machine."""
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


def _list_names(names: Sequence[str]) -> str:
    """Return the first eight names in quotes, for a message."""
    return ", ".join(quote(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")


def as_integer_label(label: str) -> int | None:
    """Return the integer that a label represents ("1", "+1", "1.0"), or None if it is not an integer below 2^53."""
    try:
        value = float(label)
    except ValueError:
        return None
    # Beyond 2^53, two different labels could be parsed as the same number.
    return int(value) if value.is_integer() and abs(value) < 2**53 and "_" not in label else None


def as_label_array(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Return labels as an array of integers if all are whole numbers, otherwise as strings."""
    numbers = {label: as_integer_label(label) for label in set(labels)}
    if None in numbers.values():
        return make_read_only(np.array(labels, dtype=np.str_))
    return make_read_only(np.array([numbers[label] for label in labels], dtype=np.int64))
