"""Squares of sums of columns in a quadratic form:  sum_g (sum_{i in g} u_i x_i)^2,  every column in one sum.

As a matrix it is  N_ij = u_i u_j [g_i = g_j], which would be mostly zeros. A dual has one for each maximum whose slack
is squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.quadratic import Piece
from milopt.declaration.programs.sparse import scaled_rows, stacked


@dataclass(frozen=True)
class Sums:
    """N, with u_i = 0 where a column is alone."""

    group: Index
    """g: the sum that a column is in."""
    entry: Vector
    """u."""

    def carried(self, x: Vector) -> Vector:
        """The sums, which a coordinate step changes in one place."""
        return np.asarray(np.bincount(self.group, weights=self.entry * x), dtype=np.float64)

    def times(self, x: Vector) -> Vector:
        """N x."""
        return np.asarray(self.entry * self.carried(x)[self.group])

    def add_to(self, block: Matrix, rows: Index, columns: Index) -> None:
        """Add N, restricted to some rows and some columns, to a block of that size."""
        order = np.argsort(self.group[columns], kind="stable")
        groups = self.group[columns][order]
        first = np.searchsorted(groups, self.group[rows])
        counts = np.searchsorted(groups, self.group[rows], side="right") - first
        i = np.repeat(np.arange(rows.size), counts)
        j = order[np.arange(i.size) + np.repeat(first - np.cumsum(counts) + counts, counts)]
        block[i, j] += self.entry[rows[i]] * self.entry[columns[j]]


def no_sums(size: int) -> Sums:
    """N = 0."""
    return Sums(np.arange(size), np.zeros(size))


def sums(size: int, pieces: Sequence[Piece]) -> Sums | None:
    """The sum of pieces with diagonal weights; None where a weight is negative or a column is in several sums."""
    if not pieces:
        return no_sums(size)
    if any((piece.weight < 0.0).any() for piece in pieces):
        return None
    found = selection(stacked([scaled_rows(piece.rows, np.sqrt(piece.weight)) for piece in pieces]))
    if found is None:
        return None
    row, entry = found
    # Columns in no sum are each alone in one of their own.
    return Sums(np.where(entry != 0.0, row, size + np.arange(size)), entry)


def selection(rows: sp.csr_array) -> tuple[Index, Vector] | None:
    """The row and the value of the one entry of each column, 0 where it has none; None where one has several."""
    count, width = rows.shape
    if np.bincount(rows.indices, minlength=1).max() > 1:
        return None
    row, entry = np.zeros(width, dtype=np.intp), np.zeros(width)
    row[rows.indices], entry[rows.indices] = np.repeat(np.arange(count), np.diff(rows.indptr)), rows.data
    return row, entry
