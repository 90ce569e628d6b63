"""Bags of instances: B_1, ..., B_m stacked in one N x D array, bag i being rows offsets[i] to offsets[i+1].

Whatever a person has is turned into this once (`as_bags`), and every mistake is told here.
"""

from __future__ import annotations

import hashlib
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias, cast, overload
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.declaration.arrays import csr, frozen, numeric, read_only, read_only_sparse, spelled
from milopt.errors import BagsError, MiloptWarning

Selection: TypeAlias = slice | Sequence[int] | Sequence[bool] | npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]


_OWNERS: WeakValueDictionary[int, Bags] = WeakValueDictionary()


def owner(points: object) -> Bags | None:
    """The bags whose `instances` this very array is, so that `bag_sum(f(bags.instances))` knows its bags."""
    found = _OWNERS.get(id(points))
    return found if found is not None and found._instances is points else None


class Bags:
    """An immutable list of at least one bag, each of at least one finite instance of D features.

    A dense array that nobody can write to is held as it is; any other is copied, so that later writes do not reach it.
    There is no `shape` and no `__array__`: scikit-learn then splits bags as it splits a list.
    """

    # Without this, `array * bags` would make numpy walk the bags as a nested sequence.
    __array_ufunc__ = None

    def __init__(self, instances: object, offsets: npt.ArrayLike, *, name: str = "bags") -> None:
        rows = (
            read_only_sparse(csr(instances).copy())
            if sp.issparse(instances)
            else frozen(numeric(instances, f"The data of {name}"))
        )
        if rows.ndim != 2:
            raise BagsError(f"The instances of {name} must be a 2-D array, one row an instance, not {rows.ndim}-D.")
        bounds = _offsets(offsets, int(rows.shape[0]), name)
        if rows.shape[1] == 0:
            raise BagsError(f"Found {name} with 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required.")
        _check_finite(rows, bounds, name)
        self._instances = rows
        self._offsets = bounds

    @cached_property
    def _instances(self) -> Points:
        """Set when bags are made; a kind of bags that can tell its instances without holding them makes them here."""
        raise NotImplementedError

    @classmethod
    def _trusted(cls, instances: Points, offsets: Index) -> Bags:
        """Part of bags that were already checked."""
        part = cls.__new__(cls)
        part._instances = instances if isinstance(instances, sp.csr_array) else frozen(instances)
        part._offsets = read_only(offsets)
        return part

    @property
    def instances(self) -> Points:
        """All instances, N x D, bag after bag; always the same object."""
        _OWNERS[id(self._instances)] = self
        return self._instances

    @property
    def offsets(self) -> Index:
        """The m + 1 bounds of the bags among the instances."""
        return self._offsets

    @cached_property
    def sizes(self) -> Index:
        """n_i, the number of instances of each bag."""
        return read_only(np.diff(self._offsets))

    @cached_property
    def bag_of(self) -> Index:
        """For each instance, the index of its bag."""
        return read_only(np.repeat(np.arange(len(self)), self.sizes))

    @cached_property
    def membership(self) -> sp.csr_array:
        """J (N x m), with J[p, i] = 1 where instance p is in bag i: J'values is `sum`."""
        count = self.bag_of.size
        return sp.csr_array((np.ones(count), self.bag_of, np.arange(count + 1)), shape=(count, len(self)))

    @property
    def dimension(self) -> int:
        """D, the number of features."""
        return int(self._instances.shape[1])

    def max(self, values: npt.ArrayLike) -> Floats:
        """The largest value in each bag; `values` is (N,) or (N, k), one row an instance."""
        return np.maximum.reduceat(self._rows_of(values), self._offsets[:-1], axis=0)

    def sum(self, values: npt.ArrayLike) -> Floats:
        """The sum of the values in each bag."""
        return np.add.reduceat(self._rows_of(values), self._offsets[:-1], axis=0)

    def mean(self, values: npt.ArrayLike) -> Floats:
        """The mean of the values in each bag."""
        total = self.sum(values)
        total /= self.sizes if total.ndim == 1 else self.sizes[:, None]
        return total

    def argmax(self, values: npt.ArrayLike) -> Index:
        """The instance (its row in `instances`) of the largest value in each bag; the first of those that tie.

        As in numpy, a NaN counts as the largest.
        """
        rows = self._rows_of(values)
        largest = np.maximum.reduceat(rows, self._offsets[:-1], axis=0)
        hit = (rows == largest[self.bag_of]) | np.isnan(rows)
        place = np.arange(rows.shape[0]).reshape((-1,) + (1,) * (rows.ndim - 1))
        first: Index = np.minimum.reduceat(np.where(hit, place, rows.shape[0]), self._offsets[:-1], axis=0)
        return first

    def _rows_of(self, values: npt.ArrayLike) -> Floats:
        rows = np.asarray(values, dtype=np.float64)
        count = int(self._offsets[-1])
        if rows.ndim not in (1, 2) or rows.shape[0] != count:
            raise BagsError(f"Values have shape {rows.shape} for {count} instances: give one row an instance.")
        return rows

    def digest(self) -> str:
        """The SHA-256 of the content, the same on every machine."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        rows = self._instances
        parts: tuple[npt.NDArray[Any], ...]
        if isinstance(rows, sp.csr_array):
            parts = (rows.indptr.astype("<i8"), rows.indices.astype("<i8"), rows.data.astype("<f8", copy=False))
        else:
            parts = (rows.astype("<f8", copy=False),)
        content = hashlib.sha256(f"{'sparse' if len(parts) > 1 else 'dense'} {rows.shape} {len(self)}".encode())
        for part in (self._offsets.astype("<i8"), *parts):
            content.update(part.data)
        return content.hexdigest()

    def __len__(self) -> int:
        return int(self._offsets.size - 1)

    def __iter__(self) -> Iterator[Points]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, which: int | np.integer[Any]) -> Points: ...
    @overload
    def __getitem__(self, which: Selection) -> Bags: ...
    def __getitem__(self, which: int | np.integer[Any] | Selection) -> Points | Bags:
        """One bag as a 2-D array for an integer; `Bags` for a slice, indices or a mask."""
        if isinstance(which, slice):
            chosen = np.arange(len(self))[which]
            if chosen.size and which.step in (None, 1):
                return self._span(int(chosen[0]), int(chosen[-1]) + 1)
            return self._gather(chosen)
        if isinstance(which, (list, tuple)) or (isinstance(which, np.ndarray) and which.ndim > 0):
            return self._gather(self._positions(np.asarray(which)))
        i = operator.index(cast(int, which))
        if not -len(self) <= i < len(self):
            raise IndexError(f"Bag index {i} is out of range for {len(self)} bags.")
        return self._between(i % len(self), i % len(self) + 1)

    def _positions(self, which: npt.NDArray[Any]) -> Index:
        """The bag indices that an index array or a mask stands for."""
        if which.ndim != 1 or (which.size and which.dtype.kind not in "iub"):
            raise IndexError("Bags are selected by a list of integers or a mask of booleans.")
        if which.dtype.kind == "b":
            if which.size != len(self):
                raise IndexError(f"The mask has {which.size} entries for {len(self)} bags.")
            return np.flatnonzero(which)
        chosen = which.astype(np.intp)
        outside = (chosen < -len(self)) | (chosen >= len(self))
        if outside.any():
            raise IndexError(f"Bag index {chosen[outside][0]} is out of range for {len(self)} bags.")
        return chosen % len(self)

    def _between(self, low: int, high: int) -> Points:
        """The instances of bags low to high - 1, sharing memory."""
        first, last = int(self._offsets[low]), int(self._offsets[high])
        rows = self._instances
        if not isinstance(rows, sp.csr_array):
            return rows[first:last]
        start, stop = rows.indptr[first], rows.indptr[last]
        pieces = (rows.data[start:stop], rows.indices[start:stop], rows.indptr[first : last + 1] - start)
        return read_only_sparse(sp.csr_array(pieces, shape=(last - first, self.dimension)))

    def _span(self, low: int, high: int) -> Bags:
        """Bags low to high - 1, sharing memory."""
        return Bags._trusted(self._between(low, high), self._offsets[low : high + 1] - self._offsets[low])

    def _gather(self, chosen: Index) -> Bags:
        if chosen.size == 0:
            raise BagsError(f"The selection holds none of the {len(self)} bags: select at least one.")
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self._offsets[chosen] - offsets[:-1], sizes)
        instances = self._instances
        if isinstance(instances, sp.csr_array):
            return Bags._trusted(read_only_sparse(sp.csr_array(instances[rows])), offsets)
        return Bags._trusted(read_only(instances[rows]), offsets)

    def __reduce__(self) -> tuple[Callable[..., Bags], tuple[object, ...]]:
        # Arrays come out of another process writeable: the constructor makes them read-only again.
        return Bags, (self._instances, self._offsets)

    def __repr__(self) -> str:
        sparse = ", sparse" if sp.issparse(self._instances) else ""
        return f"Bags({len(self)} bags, {self._offsets[-1]} instances, {self.dimension} features{sparse})"


def as_bags(x: object, *, name: str = "bags") -> Bags:
    """Bags from a list of 2-D arrays or sparse matrices, an object array of them, a 3-D array, or `Bags` as they are.

    A 2-D array is taken as bags of one instance each, with a warning.
    """
    if isinstance(x, Bags):
        return x
    if sp.issparse(x):
        return _singletons(csr(x), name)
    if not isinstance(x, (list, tuple)):
        array = np.asarray(x)
        if array.ndim == 2:
            return _singletons(array, name)
        if array.ndim == 3 and array.size:
            count, size, dimension = array.shape
            return Bags(array.reshape(count * size, dimension), np.arange(count + 1) * size, name=name)
        if array.ndim == 0 or (array.ndim == 1 and array.dtype != object and array.size):
            raise BagsError(f"A {array.ndim}-D {type(x).__name__} is not {name}: give a list of 2-D arrays, one a bag.")
        x = list(array)
    return _stacked(x, name)


def _singletons(rows: npt.NDArray[Any] | sp.csr_array, name: str) -> Bags:
    bags = Bags(rows, np.arange(rows.shape[0] + 1), name=name)
    message = f"A 2-D array was given for {name}: each of its {len(bags)} rows is taken as a bag of one instance."
    warnings.warn(message, MiloptWarning, stacklevel=3)
    return bags


def _stacked(members: Sequence[Any], name: str) -> Bags:
    """Bags from one member a bag."""
    arrays = [
        csr(member) if sp.issparse(member) else numeric(member, f"Bag {i} of {name}")
        for i, member in enumerate(members)
    ]
    for i, array in enumerate(arrays):
        if 0 in array.shape[:1]:
            raise BagsError(f"Bag {i} of {name} is empty: leave it out, or give it at least one instance.")
        if array.ndim != 2:
            raise BagsError(f"Bag {i} of {name} is {array.ndim}-D: give a 2-D array, one row an instance.")
        if array.shape[1] != arrays[0].shape[1]:
            counts = f"{array.shape[1]} features where bag 0 has {arrays[0].shape[1]}"
            raise BagsError(f"Bag {i} of {name} has {counts}: every bag needs the same features.")
    if not arrays:
        raise BagsError(f"There are no bags in {name}: give at least one.")
    offsets = np.concatenate([[0], np.cumsum([array.shape[0] for array in arrays])])
    dense = [array for array in arrays if not isinstance(array, sp.csr_array)]
    if len(dense) < len(arrays):
        return Bags(sp.vstack([sp.csr_array(array) for array in arrays], format="csr"), offsets, name=name)
    return Bags(read_only(np.concatenate(dense)), offsets, name=name)


def _offsets(offsets: npt.ArrayLike, count: int, name: str) -> Index:
    bounds = np.asarray(offsets)
    if bounds.ndim != 1 or bounds.size == 0 or bounds.dtype.kind not in "iu":
        raise BagsError(f"The offsets of {name} must be a 1-D array of integers, one more than there are bags.")
    if bounds.size == 1:
        raise BagsError(f"There are no bags in {name}: give at least one.")
    bounds = bounds.astype(np.intp)
    if bounds[0] != 0 or bounds[-1] != count:
        ends = f"from 0 to the {count} instances, not from {bounds[0]} to {bounds[-1]}"
        raise BagsError(f"The offsets of {name} must go {ends}.")
    sizes = np.diff(bounds)
    if (sizes < 0).any():
        raise BagsError(f"The offsets of {name} decrease after bag {int(np.flatnonzero(sizes < 0)[0])}.")
    if (sizes == 0).any():
        i = int(np.flatnonzero(sizes == 0)[0])
        raise BagsError(f"Bag {i} of {name} is empty: leave it out, or give it at least one instance.")
    return read_only(bounds)


def _check_finite(rows: Points, offsets: Index, name: str) -> None:
    entries = np.asarray(rows.data) if isinstance(rows, sp.csr_array) else rows
    finite = np.isfinite(entries)
    if finite.all():
        return
    place = int(np.flatnonzero(~finite)[0])
    if isinstance(rows, sp.csr_array):
        row, column = int(np.searchsorted(rows.indptr, place, side="right")) - 1, int(rows.indices[place])
    else:
        row, column = divmod(place, int(rows.shape[1]))
    bag = int(np.searchsorted(offsets, row, side="right")) - 1
    where = f"in instance {row - offsets[bag]}, feature {column}"
    raise BagsError(f"Bag {bag} of {name} has {spelled(entries.flat[place])} {where}: every value must be finite.")
