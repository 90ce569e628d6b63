"""Bags of instances: B_1, ..., B_m stacked in one N x D array, with bag i in rows offsets[i] to offsets[i+1] - 1.

`as_bags` converts all supported inputs to `Bags` and raises `BagsError` with an explanation if that is impossible.
"""

from __future__ import annotations

import hashlib
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias, cast, overload
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.declaration.array_conversion import (
    as_canonical_csr,
    make_read_only,
    make_sparse_read_only,
    to_real_array,
)
from milopt.declaration.bags.feature_names import column_names
from milopt.declaration.bags.nested_data import unpack_instances, unpack_nested
from milopt.declaration.bags.scaled_rows import is_scaled_rows, row_slices
from milopt.declaration.bags.stored_rows import (
    as_stored_rows,
    check_finite_rows,
    concatenate_rows,
    nonfinite_error,
    reduce_by_bag,
    select_rows,
)
from milopt.errors import BagsError, MiloptWarning
from milopt.html import entries_table, view

Selection: TypeAlias = slice | Sequence[int] | Sequence[bool] | npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]
"""Index of several bags: a slice, a list or array of integers, or a boolean mask."""


_BAGS_BY_INSTANCES_ID: WeakValueDictionary[int, Bags] = WeakValueDictionary()
"""Bags by the id of their array of instances (see `find_owner`)."""


def find_owner(points: object) -> Bags | None:
    """Return the bags whose attribute `instances` is this very array object; None if there are no such bags.

    `f(bags.instances)` finds the bags by this function, so that `bag_sum(f(bags.instances))` needs no second argument.
    """
    bags = _BAGS_BY_INSTANCES_ID.get(id(points))
    return bags if bags is not None and bags._instances is points else None


class Bags:
    """Immutable list of bags, each with at least one instance.

    A dense array that cannot be written to, or is memory-mapped, is used without a copy; any other array is copied, so
    that later changes of the array do not change the bags. Arrays of more than 4 million values keep their type, such
    as float32, and are converted to float64 block by block where they are used. Bags have no `shape` and no
    `__array__`, so that scikit-learn splits them like a list.

    Parameters
    ----------
    instances : array-like or sparse matrix of shape (n_instances, n_features)
        Instances of all bags, bag after bag. All values must be finite.
    offsets : array-like of int of shape (n_bags + 1,)
        Bounds of the bags: bag i consists of rows ``offsets[i]`` to ``offsets[i + 1] - 1``.
    name : str, default="bags"
        Name of the bags in error messages.
    features : sequence of str or None, default=None
        Names of the features. A fitted model finds the features of new bags by their names.
    allow_nan : bool, default=False
        Whether values may be missing (NaN). Such bags are for `InstanceTransformer(SimpleImputer())` and similar
        transformers; models and programs do not accept them.

    Attributes
    ----------
    instances : array or csr_array of shape (n_instances, n_features)
        Instances of all bags, bag after bag.
    offsets : ndarray of int of shape (n_bags + 1,)
        Bounds of the bags among the instances.
    sizes : ndarray of int of shape (n_bags,)
        Number of instances of each bag.
    bag_of : ndarray of int of shape (n_instances,)
        Index of the bag of each instance.
    membership : csr_array of shape (n_instances, n_bags)
        Matrix with the entry 1 if an instance belongs to a bag, otherwise 0.
    dimension : int
        Number of features.
    features : tuple of str or None
        Names of the features; None if they have no names.
    may_have_nan : bool
        Whether values may be missing (NaN).

    Raises
    ------
    BagsError
        If there are no bags, a bag is empty, or a value is not a finite number.

    See Also
    --------
    as_bags : Convert a list of arrays to bags.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = milopt.Bags(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]), offsets=[0, 2, 3])
    >>> bags
    Bags(2 bags, 3 instances, 2 features)
    >>> bags[1]
    array([[4., 5.]])
    >>> bags.max([1.0, 3.0, 2.0])
    array([3., 2.])
    """

    # Without this line, numpy would treat bags as a nested sequence in `array * bags`.
    __array_ufunc__ = None

    features: tuple[str, ...] | None = None
    """Names of the features; None if they have no names."""
    may_have_nan: bool = False
    """Whether values may be missing (NaN); programs do not accept such bags."""

    def __init__(
        self,
        instances: object,
        offsets: npt.ArrayLike,
        *,
        name: str = "bags",
        features: Sequence[str] | None = None,
        allow_nan: bool = False,
    ) -> None:
        rows = (
            make_sparse_read_only(as_canonical_csr(instances).copy())
            if sp.issparse(instances)
            else as_stored_rows(instances, f"The data of {name}")
        )
        if rows.ndim != 2:
            raise BagsError(f"The instances of {name} must be a 2-D array, one row per instance, not {rows.ndim}-D.")
        bounds = _check_offsets(offsets, int(rows.shape[0]), name)
        if rows.shape[1] == 0:
            raise BagsError(f"Found {name} with 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required.")
        _check_finite(rows, bounds, name, allow_nan)
        self._instances = rows
        self._offsets = bounds
        self.may_have_nan = allow_nan
        self.features = None if features is None else tuple(features)
        if self.features is not None and len(self.features) != rows.shape[1]:
            raise BagsError(f"There are {len(self.features)} names for the {rows.shape[1]} features of {name}.")

    @cached_property
    def _instances(self) -> Points:
        """Array of the instances; a subclass that computes its instances on demand overrides this property."""
        raise NotImplementedError

    @classmethod
    def _from_checked_arrays(cls, instances: Points, offsets: Index, given: Bags | None = None) -> Bags:
        """Return bags from arrays that have been checked already; `offsets` becomes read-only in place.

        The names of the features are those of the bags `given`.
        """
        part = cls.__new__(cls)
        if given is not None:
            part.features, part.may_have_nan = given.features, given.may_have_nan
        part._instances = instances if isinstance(instances, sp.csr_array) else as_stored_rows(instances, "The data")
        part._offsets = make_read_only(offsets)
        return part

    @property
    def instances(self) -> Points:
        """All instances as one array of shape (N, D), bag after bag; always the same object.

        More than 4 million values of another type than float64, or scaled ones, are no array: indexing, `@` and
        `numpy.asarray` convert them.
        """
        _BAGS_BY_INSTANCES_ID[id(self._instances)] = self
        return self._instances

    @property
    def offsets(self) -> Index:
        """Bounds of the m bags among the instances, an array of m + 1 integers."""
        return self._offsets

    @cached_property
    def sizes(self) -> Index:
        """Number of instances of each bag."""
        return make_read_only(np.diff(self._offsets))

    @cached_property
    def bag_of(self) -> Index:
        """Index of the bag of each instance."""
        return make_read_only(np.repeat(np.arange(len(self)), self.sizes))

    @cached_property
    def membership(self) -> sp.csr_array:
        """Sparse matrix J (N x m) with J[p, i] = 1 if instance p belongs to bag i; J'values is `sum(values)`."""
        count = self.bag_of.size
        return sp.csr_array((np.ones(count), self.bag_of, np.arange(count + 1)), shape=(count, len(self)))

    @property
    def dimension(self) -> int:
        """Number of features D."""
        return int(self._instances.shape[1])

    def max(self, values: npt.ArrayLike) -> Floats:
        """Return the largest value in each bag.

        Parameters
        ----------
        values : array-like of shape (n_instances,) or (n_instances, k)
            One row per instance.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, k)
            Maximum over each bag.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[1.0], [2.0]], [[5.0]]])
        >>> bags.max([3.0, 1.0, 2.0]).tolist()
        [3.0, 2.0]
        """
        return self._reduce(values, np.maximum)

    def sum(self, values: npt.ArrayLike) -> Floats:
        """Return the sum of the values in each bag.

        Parameters
        ----------
        values : array-like of shape (n_instances,) or (n_instances, k)
            One row per instance.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, k)
            Sum over each bag.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[1.0], [2.0]], [[5.0]]])
        >>> bags.sum([3.0, 1.0, 2.0]).tolist()
        [4.0, 2.0]
        """
        return self._reduce(values, np.add)

    def mean(self, values: npt.ArrayLike) -> Floats:
        """Return the mean of the values in each bag.

        Parameters
        ----------
        values : array-like of shape (n_instances,) or (n_instances, k)
            One row per instance.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, k)
            Mean over each bag.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[1.0], [2.0]], [[5.0]]])
        >>> bags.mean([3.0, 1.0, 2.0]).tolist()
        [2.0, 2.0]
        """
        total = self.sum(values)
        total /= self.sizes if total.ndim == 1 else self.sizes[:, None]
        return total

    def argmax(self, values: npt.ArrayLike) -> Index:
        """Return the instance with the largest value in each bag.

        Parameters
        ----------
        values : array-like of shape (n_instances,) or (n_instances, k)
            One row per instance. As in numpy, NaN counts as the largest value.

        Returns
        -------
        ndarray of int of shape (n_bags,) or (n_bags, k)
            Row in `instances`; the first one if several instances have the largest value.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[1.0], [2.0]], [[5.0]]])
        >>> bags.argmax([3.0, 1.0, 2.0]).tolist()
        [0, 2]
        """
        rows = self._as_instance_rows(values)
        largest = np.maximum.reduceat(rows, self._offsets[:-1], axis=0)
        is_largest = (rows == largest[self.bag_of]) | np.isnan(rows)
        position = np.arange(rows.shape[0]).reshape((-1,) + (1,) * (rows.ndim - 1))
        first: Index = np.minimum.reduceat(np.where(is_largest, position, rows.shape[0]), self._offsets[:-1], axis=0)
        return first

    def _reduce(self, values: npt.ArrayLike, operation: np.ufunc) -> Floats:
        """Return the values of each bag, combined by a ufunc of two arguments."""
        if is_scaled_rows(values) and values.shape[0] == self._offsets[-1]:
            return reduce_by_bag(values, self._offsets, lambda rows, starts: operation.reduceat(rows, starts, axis=0))
        return cast(Floats, operation.reduceat(self._as_instance_rows(values), self._offsets[:-1], axis=0))

    def _as_instance_rows(self, values: npt.ArrayLike) -> Floats:
        """Return values as an array with one row per instance; raise `BagsError` if the shape is wrong."""
        rows = np.asarray(values, dtype=np.float64)
        count = int(self._offsets[-1])
        if rows.ndim not in (1, 2) or rows.shape[0] != count:
            raise BagsError(f"Values have shape {rows.shape} for {count} instances: give one row per instance.")
        return rows

    def digest(self) -> str:
        """Return the SHA-256 hash of the instances and offsets; dense and sparse bags have different hashes.

        Returns
        -------
        str
            Hexadecimal hash, the same on every machine.

        Examples
        --------
        >>> import milopt
        >>> bags = milopt.as_bags([[[1.0], [2.0]], [[5.0]]])
        >>> bags.digest() == milopt.as_bags([[[1.0], [2.0]], [[5.0]]]).digest()
        True
        """
        return self._digest

    @cached_property
    def _digest(self) -> str:
        """Cached value of `digest`."""
        rows = self._instances
        parts: Iterable[npt.NDArray[Any]]
        if isinstance(rows, sp.csr_array):
            kind = "sparse"
            parts = (rows.indptr.astype("<i8"), rows.indices.astype("<i8"), rows.data.astype("<f8", copy=False))
        else:
            kind = "dense"
            parts = (rows[part].astype("<f8", copy=False) for part in row_slices(*rows.shape))
        content = hashlib.sha256(f"{kind} {rows.shape} {len(self)}".encode())
        content.update(self._offsets.astype("<i8").data)
        for part in parts:
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
        """Return one bag as a 2-D array for an integer, and `Bags` for a slice, indices or a mask."""
        if isinstance(which, slice):
            chosen = np.arange(len(self))[which]
            if chosen.size and which.step in (None, 1):
                return self._bag_range(int(chosen[0]), int(chosen[-1]) + 1)
            return self._select(chosen)
        if isinstance(which, (list, tuple)) or (isinstance(which, np.ndarray) and which.ndim > 0):
            return self._select(self._positions(np.asarray(which)))
        i = operator.index(cast(int, which))
        if not -len(self) <= i < len(self):
            raise IndexError(f"Bag index {i} is out of range for {len(self)} bags.")
        return self._instances_between(i % len(self), i % len(self) + 1)

    def _positions(self, which: npt.NDArray[Any]) -> Index:
        """Return the indices of the bags selected by an index array or a mask; raise IndexError if it is invalid."""
        if which.ndim != 1 or (which.size and which.dtype.kind not in "iub"):
            raise IndexError("Select bags by a list of integers or a boolean mask.")
        if which.dtype.kind == "b":
            if which.size != len(self):
                raise IndexError(f"The mask has {which.size} entries for {len(self)} bags.")
            return np.flatnonzero(which)
        chosen = which.astype(np.intp)
        outside = (chosen < -len(self)) | (chosen >= len(self))
        if outside.any():
            raise IndexError(f"Bag index {chosen[outside][0]} is out of range for {len(self)} bags.")
        return chosen % len(self)

    def _instances_between(self, low: int, high: int) -> Points:
        """Return the instances of bags low to high - 1, without a copy."""
        first, last = int(self._offsets[low]), int(self._offsets[high])
        rows = self._instances
        if not isinstance(rows, sp.csr_array):
            return rows[first:last] if high == low + 1 else select_rows(rows, slice(first, last))
        start, stop = rows.indptr[first], rows.indptr[last]
        pieces = (rows.data[start:stop], rows.indices[start:stop], rows.indptr[first : last + 1] - start)
        return make_sparse_read_only(sp.csr_array(pieces, shape=(last - first, self.dimension)))

    def _bag_range(self, low: int, high: int) -> Bags:
        """Return bags low to high - 1, without copying instances."""
        return Bags._from_checked_arrays(
            self._instances_between(low, high), self._offsets[low : high + 1] - self._offsets[low], self
        )

    def _select(self, chosen: Index) -> Bags:
        """Return a copy of the bags with these indices; raise `BagsError` if there are none."""
        if chosen.size == 0:
            raise BagsError(f"The selection is empty: select at least one of the {len(self)} bags.")
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self._offsets[chosen] - offsets[:-1], sizes)
        instances = self._instances
        if isinstance(instances, sp.csr_array):
            return Bags._from_checked_arrays(make_sparse_read_only(sp.csr_array(instances[rows])), offsets, self)
        return Bags._from_checked_arrays(select_rows(instances, rows), offsets, self)

    def __reduce__(self) -> tuple[Callable[..., Bags], tuple[object, ...]]:
        # Arrays that come from another process are writeable: the constructor makes them read-only again.
        return _restore_bags, (self._instances, self._offsets, self.features, self.may_have_nan)

    def __repr__(self) -> str:
        sparse = ", sparse" if sp.issparse(self._instances) else ""
        return f"Bags({len(self)} bags, {self._offsets[-1]} instances, {self.dimension} features{sparse})"

    def _repr_html_(self) -> str:
        """Return the sizes of the bags as a table for a notebook."""
        low, middle, high = (f"{value:g}" for value in np.quantile(self.sizes, [0, 0.5, 1]))
        entries = [("instances per bag", f"{low} to {high}, median {middle}"), ("features", str(self.dimension))]
        return view(entries_table(repr(self), entries))


def _restore_bags(instances: Points, offsets: Index, features: tuple[str, ...] | None, allow_nan: bool) -> Bags:
    """Return bags from the attributes of pickled bags."""
    return Bags(instances, offsets, features=features, allow_nan=allow_nan)


def as_bags(x: object, *, name: str = "bags", allow_nan: bool = False) -> Bags:
    """Convert data to `Bags`.

    Parameters
    ----------
    x : Bags, list, array, frame or column
        Bags, or one 2-D array, sparse matrix or data frame per bag, with one row per instance; an array of shape
        (n_bags, n_instances, n_features); a group-by object of pandas or polars, or a frame of pandas whose index has
        several levels, the first one with the name of the bag; a column of nested lists, as in Arrow tables and data
        sets of Hugging Face; an array of awkward; a nested tensor of torch. `Bags` are returned unchanged. If a 2-D
        array is given, every row becomes a bag of one instance, with a warning.
    name : str, default="bags"
        Name of the bags in error messages.
    allow_nan : bool, default=False
        Whether values may be missing (NaN), for transformers that fill them in.

    Returns
    -------
    Bags
        The bags.

    Raises
    ------
    BagsError
        If there are no bags, a bag is empty, the bags have different numbers of features, or a value is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> milopt.as_bags([np.zeros((3, 2)), np.ones((1, 2))])
    Bags(2 bags, 4 instances, 2 features)
    """
    if isinstance(x, Bags):
        if x.may_have_nan and not allow_nan:
            _check_finite(x.instances, x.offsets, name, allow_nan=False)
        return x
    x = unpack_nested(x)
    if sp.issparse(x):
        return _single_instance_bags(as_canonical_csr(x), name, allow_nan)
    if not isinstance(x, (list, tuple)):
        array = np.asarray(x)
        if array.ndim == 2:
            return _single_instance_bags(array, name, allow_nan, column_names(x))
        if array.ndim == 3 and array.size:
            count, size, dimension = array.shape
            rows = array.reshape(count * size, dimension)
            return Bags(rows, np.arange(count + 1) * size, name=name, allow_nan=allow_nan)
        if array.ndim == 0 or (array.ndim == 1 and array.dtype != object and array.size):
            raise BagsError(
                f"A {array.ndim}-D {type(x).__name__} is not {name}: give a list of 2-D arrays, one per bag."
            )
        x = list(array)
    return _stack_bags(x, name, allow_nan)


def _single_instance_bags(
    rows: npt.NDArray[Any] | sp.csr_array, name: str, allow_nan: bool, features: tuple[str, ...] | None = None
) -> Bags:
    """Return one bag per row of an array, with a warning."""
    bags = Bags(rows, np.arange(rows.shape[0] + 1), name=name, features=features, allow_nan=allow_nan)
    message = f"A 2-D array was given for {name}: each of its {len(bags)} rows becomes a bag of one instance."
    warnings.warn(message, MiloptWarning, stacklevel=3)
    return bags


def _stack_bags(members: Sequence[Any], name: str, allow_nan: bool) -> Bags:
    """Return bags from a sequence with one 2-D array, sparse matrix or data frame per bag."""
    names = column_names(members[0]) if members else None
    for i, member in enumerate(members):
        if names is not None and column_names(member) != names:
            raise BagsError(f"Bag {i} of {name} has other columns than bag 0: all bags need the same features.")
    members = [unpack_instances(member) for member in members]
    arrays = [
        as_canonical_csr(member) if sp.issparse(member) else to_real_array(member, f"Bag {i} of {name}")
        for i, member in enumerate(members)
    ]
    for i, array in enumerate(arrays):
        if 0 in array.shape[:1]:
            raise BagsError(f"Bag {i} of {name} is empty: leave it out, or give it at least one instance.")
        if array.ndim != 2:
            raise BagsError(f"Bag {i} of {name} is {array.ndim}-D: give a 2-D array, one row per instance.")
        if array.shape[1] != arrays[0].shape[1]:
            features = f"{array.shape[1]} features, but bag 0 has {arrays[0].shape[1]}"
            raise BagsError(f"Bag {i} of {name} has {features}: all bags need the same number of features.")
    if not arrays:
        raise BagsError(f"There are no bags in {name}: give at least one.")
    offsets = np.concatenate([[0], np.cumsum([array.shape[0] for array in arrays])])
    dense = [array for array in arrays if not isinstance(array, sp.csr_array)]
    if len(dense) < len(arrays):
        stacked = sp.vstack([sp.csr_array(array) for array in arrays], format="csr")
        return Bags(stacked, offsets, name=name, features=names, allow_nan=allow_nan)
    return Bags(concatenate_rows(dense), offsets, name=name, features=names, allow_nan=allow_nan)


def _check_offsets(offsets: npt.ArrayLike, count: int, name: str) -> Index:
    """Return the offsets as a read-only array; raise `BagsError` unless they split `count` instances into bags."""
    bounds = np.asarray(offsets)
    if bounds.ndim != 1 or bounds.size == 0 or bounds.dtype.kind not in "iu":
        raise BagsError(f"The offsets of {name} must be a 1-D array of integers with n_bags + 1 entries.")
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
    return make_read_only(bounds)


def _check_finite(rows: Points, offsets: Index, name: str, allow_nan: bool) -> None:
    """Raise `BagsError` for the first entry that is NaN (unless `allow_nan`) or infinite."""
    if not isinstance(rows, sp.csr_array):
        check_finite_rows(rows, offsets, name, allow_nan)
        return
    bad = np.isinf(rows.data) if allow_nan else ~np.isfinite(rows.data)
    if bad.any():
        position = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
        raise nonfinite_error(rows.data[position], row, int(rows.indices[position]), offsets, name)
