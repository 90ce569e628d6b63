"""Rows Z = T R of the Newton system of a margin program (see `newton_system`).

R are the rows of the support, that is, the held rows with a positive multiplier. T is the symmetric matrix that
subtracts, from each row of a group at its cap, theta times the mean over the support of the group, with the theta of
`newton_system`. F and z are the features and the bias coefficients of the rows Z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.solvers.native.margin_newton.held_rows import HeldRows

MEAN_BLOCK_ENTRIES = 200_000
"""Approximate number of entries of the rows from which means are subtracted at once."""


@dataclass(frozen=True)
class GroupMeans:
    """The matrix T of the module docstring."""

    averaged_rows: Index
    """Rows of groups at their caps, by group."""
    group_begins: Index
    """First entry of each of these groups in `averaged_rows`."""
    weight: Vector
    """Theta of each of these groups."""

    @cached_property
    def sizes(self) -> Index:
        """Number of rows of each group."""
        return np.diff(np.append(self.group_begins, self.averaged_rows.size)).astype(np.intp)

    @cached_property
    def group_of_row(self) -> Index:
        """Index of the group of each entry of `averaged_rows`."""
        return np.repeat(np.arange(self.group_begins.size), self.sizes)

    def subtract(self, rows: Any) -> Any:
        """Return T times `rows`, an array with one row or one entry per row of R; a dense array is changed in place."""
        if isinstance(rows, sp.csr_array):
            count = self.averaged_rows.size
            means = sp.csr_array(
                ((self.weight / self.sizes)[self.group_of_row], np.arange(count), np.append(self.group_begins, count)),
                shape=(self.group_begins.size, count),
            )
            spread = sp.csr_array(
                (np.ones(count), (self.averaged_rows, self.group_of_row)), shape=(rows.shape[0], self.group_begins.size)
            )
            return sp.csr_array(rows - spread @ (means @ rows[self.averaged_rows]))
        factor = self.weight / self.sizes
        width = 1 if rows.ndim == 1 else rows.shape[1]
        step = max(1, int(MEAN_BLOCK_ENTRIES * self.group_begins.size / (width * self.averaged_rows.size)))
        bounds = np.append(self.group_begins, self.averaged_rows.size)
        # A block of groups that fits into the cache is changed faster than all groups at once, without large copies.
        for first in range(0, self.group_begins.size, step):
            last = min(first + step, self.group_begins.size)
            start, stop = int(bounds[first]), int(bounds[last])
            at = self.averaged_rows[start:stop]
            part = rows[at]
            change = np.add.reduceat(part, bounds[first:last] - start, axis=0)
            change *= factor[first:last] if rows.ndim == 1 else factor[first:last, None]
            part -= change[self.group_of_row[start:stop] - first]
            rows[at] = part
        return rows


@dataclass(frozen=True)
class ReducedRows:
    """Rows Z = T R of the Newton system (see the module docstring).

    Products with Z are computed from the inner products of the held rows if `HeldRows.gram` has them.
    """

    held: HeldRows
    chosen: Index
    """Held rows of the support, without those whose row of Z is 0."""
    means: GroupMeans | None
    """The matrix T; None for the identity."""

    @classmethod
    def from_support(cls, held: HeldRows, a: Vector, level: Vector, kappa: Vector) -> ReducedRows:
        """Return the rows for the support of a."""
        positive = a > 0
        count = np.add.reduceat(positive.astype(np.intp), held.group_starts[:-1])
        capped = level > 0
        vanishes = capped & (count == 1) & (kappa == 0.0)
        chosen = np.flatnonzero(positive & ~vanishes[held.group])
        theta = np.where(capped, 1.0 - np.sqrt(kappa / np.maximum(count + kappa, 1e-300)), 0.0)
        group = held.group[chosen]
        averaged_rows = np.flatnonzero(theta[group] > 0)
        if not averaged_rows.size:
            return cls(held, chosen, None)
        local = group[averaged_rows]
        group_begins = np.flatnonzero(np.concatenate([[True], local[1:] != local[:-1]]))
        return cls(held, chosen, GroupMeans(averaged_rows, group_begins, theta[local[group_begins]]))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return int(self.chosen.size), int(self.held.features.shape[1])

    @cached_property
    def bias(self) -> Vector:
        """Bias coefficients z of the rows."""
        bias: Vector = self._subtract_means(self.held.bias[self.chosen])
        return bias

    @cached_property
    def features(self) -> Points:
        """Features F of the rows."""
        features: Points = self._subtract_means(self.held.features[self.chosen])
        return features

    def products(self) -> Matrix:
        """Return FF'."""
        gram = self.held.gram
        if gram is None:
            return as_dense(self.features @ self.features.T)
        half = self._subtract_means(gram[np.ix_(self.chosen, self.chosen)])
        return np.asarray(self._subtract_means(np.ascontiguousarray(half.T)))

    def times(self, w: Vector) -> Vector:
        """Return F w."""
        if self.held.gram is None:
            return np.asarray(self.features @ w)
        values: Vector = self._subtract_means(np.asarray(self.held.features @ w)[self.chosen])
        return values

    def transpose_times(self, y: Vector) -> Vector:
        """Return F'y."""
        if self.held.gram is None:
            return np.asarray(self.features.T @ y)
        full = np.zeros(self.held.count)
        full[self.chosen] = self._subtract_means(y.copy())
        return np.asarray(self.held.features.T @ full)

    def _subtract_means(self, rows: Any) -> Any:
        """Return T times `rows` (T as in the module docstring); a dense array is changed in place."""
        return rows if self.means is None else self.means.subtract(rows)


def as_dense(product: Any) -> Matrix:
    """Return a product, dense or sparse, as a dense array."""
    return product if isinstance(product, np.ndarray) else np.asarray(product.toarray(), dtype=np.float64)
