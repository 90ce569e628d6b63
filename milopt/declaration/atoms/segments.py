"""Runs of consecutive argument entries, one run for each entry of an atom."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.declaration.programs.sparse import from_parts


class Segments:
    """Runs of consecutive entries of an argument, one run for each entry of an atom.

    An entry of an atom depends on the argument entries of its run only.

    Parameters
    ----------
    sizes : array-like of int
        Number of entries of each run.
    entries : ndarray of int, default=None
        Index of each run in the atom, if these are some of its runs. None stands for 0, 1, 2, ... Atoms with one
        parameter per entry use it to look up their parameters.

    Attributes
    ----------
    offsets : ndarray of shape (n_runs + 1,)
        First entry of each run, followed by the number of entries of all runs.
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
    def entry_count(self) -> int:
        """Number of argument entries of all runs together."""
        return int(self.offsets[-1])

    def __len__(self) -> int:
        return self.count

    @cached_property
    def run_of_entry(self) -> Index:
        """Index (0, 1, ...) of the run to which each argument entry belongs."""
        return np.repeat(np.arange(self.count), self.sizes)

    @cached_property
    def _are_single(self) -> bool:
        """Whether every run has exactly one entry."""
        return bool((self.sizes == 1).all())

    def sum(self, values: Vector) -> Vector:
        """Return the sum of each run, column by column if `values` is a matrix; the result may be `values` itself."""
        if self._are_single:
            return values
        if not self.sizes.all():
            return np.stack([values[a:b].sum(axis=0) for a, b in zip(self.offsets, self.offsets[1:], strict=False)])
        return np.asarray(np.add.reduceat(values, self.offsets[:-1], axis=0)) if self.count else values[:0]

    def max(self, values: Vector) -> Vector:
        """Return the maximum of each run, column by column for a matrix; the result may be `values` itself.

        No run may be empty.
        """
        if self._are_single:
            return values
        return np.asarray(np.maximum.reduceat(values, self.offsets[:-1], axis=0))

    def argmax(self, values: Vector) -> Index:
        """Return the index in `values` of the maximum of each run; ties go to the smallest index."""
        tied = np.flatnonzero(values == self.max(values)[self.run_of_entry])
        first = np.searchsorted(self.run_of_entry[tied], np.arange(self.count))
        return tied[first].astype(np.intp)

    @cached_property
    def indicator(self) -> sp.csr_array:
        """Sparse matrix of zeros and ones that adds up each run, with one row per run and one column per entry."""
        return from_parts(
            np.ones(self.entry_count), np.arange(self.entry_count), self.offsets, (self.count, self.entry_count)
        )

    def select(self, entries: Index) -> tuple[Segments, Index]:
        """Return (runs, indices): the runs at the positions `entries`, and the indices of their argument entries."""
        sizes = self.sizes[entries]
        runs = Segments(sizes, self.entries[entries])
        return runs, np.arange(runs.entry_count) - np.repeat(runs.offsets[:-1] - self.offsets[entries], sizes)
