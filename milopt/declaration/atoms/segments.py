"""Consecutive runs of entries: which entries of its argument each entry of an atom reads."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.declaration.programs.sparse import from_parts


class Segments:
    """Runs of consecutive entries, one run per entry of an atom.

    Parameters
    ----------
    sizes : array of int
        Number of entries of each run.
    entries : array of int, optional
        Index of each run in the whole atom, if these are some of its runs. Atoms that have numbers of their own per
        entry need it.
    """

    def __init__(self, sizes: npt.ArrayLike, entries: Index | None = None) -> None:
        self.sizes: Index = np.asarray(sizes, dtype=np.intp)
        self.offsets: Index = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self.entries: Index = np.arange(self.sizes.size) if entries is None else entries

    @classmethod
    def singles(cls, count: int) -> Segments:
        """Return runs of one entry each."""
        return cls(np.ones(count, dtype=np.intp))

    @property
    def count(self) -> int:
        """Number of runs."""
        return int(self.sizes.size)

    @property
    def total(self) -> int:
        """Number of entries of all runs."""
        return int(self.offsets[-1])

    def __len__(self) -> int:
        return self.count

    @cached_property
    def of(self) -> Index:
        """The run of each entry."""
        return np.repeat(np.arange(self.count), self.sizes)

    @cached_property
    def _are_single(self) -> bool:
        return bool((self.sizes == 1).all())

    def sum(self, values: Vector) -> Vector:
        """Return the sum of each run; of each column, if there are several."""
        if self._are_single:
            return values
        if not self.sizes.all():
            return np.stack([values[a:b].sum(axis=0) for a, b in zip(self.offsets, self.offsets[1:], strict=False)])
        return np.asarray(np.add.reduceat(values, self.offsets[:-1], axis=0)) if self.count else values[:0]

    def max(self, values: Vector) -> Vector:
        """Return the maximum of each run; of each column, if there are several."""
        if self._are_single:
            return values
        return np.asarray(np.maximum.reduceat(values, self.offsets[:-1], axis=0))

    def argmax(self, values: Vector) -> Index:
        """Return the index of the maximum of each run; the smallest index if there are ties."""
        tied = np.flatnonzero(values == self.max(values)[self.of])
        first = np.searchsorted(self.of[tied], np.arange(self.count))
        return tied[first].astype(np.intp)

    @cached_property
    def indicator(self) -> sp.csr_array:
        """The matrix that adds up each run: one row per run, one column per entry."""
        return from_parts(np.ones(self.total), np.arange(self.total), self.offsets, (self.count, self.total))

    def taken(self, entries: Index) -> tuple[Segments, Index]:
        """Return some of the runs, and the indices of the entries that they read."""
        sizes = self.sizes[entries]
        runs = Segments(sizes, self.entries[entries])
        return runs, np.arange(runs.total) - np.repeat(runs.offsets[:-1] - self.offsets[entries], sizes)
