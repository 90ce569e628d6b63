"""Squared sums of columns in a quadratic form:  sum_g (sum_{i in g} u_i x_i)^2,  each column in at most one sum.

Column i has the coefficient u_i and is in the sum number g_i. The matrix of this form, G, has the entry G_ij = u_i u_j
if g_i = g_j, else 0. G would be mostly zeros, so it is not stored. A dual has one squared sum for each maximum whose
slack is squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Vector
from milopt.compilation.quadratic import QuadraticPiece
from milopt.declaration.programs.sparse import scale_rows, stack_rows


@dataclass(frozen=True)
class SquaredSums:
    """The matrix G (see the module docstring). A column that is in no sum has u_i = 0."""

    group: Index
    """Number g_i of the sum that each column is in."""
    entry: Vector
    """The coefficient u_i of each column."""

    def group_sums(self, x: Vector) -> Vector:
        """Return the value of each sum at x. A change of one entry of x changes only one sum."""
        return np.asarray(np.bincount(self.group, weights=self.entry * x), dtype=np.float64)

    def times(self, x: Vector) -> Vector:
        """Return G x, where G_ij = u_i u_j if the columns i and j are in the same sum, else 0."""
        return np.asarray(self.entry * self.group_sums(x)[self.group])

    def add_to_block(self, block: Matrix, rows: Index, columns: Index) -> None:
        """Add G, restricted to these rows and columns, to `block` in place."""
        order = np.argsort(self.group[columns], kind="stable")
        groups = self.group[columns][order]
        first = np.searchsorted(groups, self.group[rows])
        counts = np.searchsorted(groups, self.group[rows], side="right") - first
        i = np.repeat(np.arange(rows.size), counts)
        j = order[np.arange(i.size) + np.repeat(first - np.cumsum(counts) + counts, counts)]
        block[i, j] += self.entry[rows[i]] * self.entry[columns[j]]


def zero_sums(size: int) -> SquaredSums:
    """Return squared sums over `size` columns whose coefficients are all 0, so that G = 0."""
    return SquaredSums(np.arange(size), np.zeros(size))


def combine_sums(size: int, pieces: Sequence[QuadraticPiece]) -> SquaredSums | None:
    """Combine pieces 1/2 x'R'WR x with a diagonal W into squared sums over `size` columns.

    Return None if a weight is negative or a column occurs in several rows.
    """
    if not pieces:
        return zero_sums(size)
    if any((piece.weight < 0.0).any() for piece in pieces):
        return None
    entries = find_single_column_entries(
        stack_rows([scale_rows(piece.rows, np.sqrt(piece.weight)) for piece in pieces])
    )
    if entries is None:
        return None
    row, entry = entries
    # A column that is in no sum gets a separate group.
    return SquaredSums(np.where(entry != 0.0, row, size + np.arange(size)), entry)


def find_single_column_entries(rows: sp.csr_array) -> tuple[Index, Vector] | None:
    """Return (row, entry): the row and the value of the only entry of each column of `rows`.

    An empty column gets row 0 and value 0. Returns None if a column has several entries.
    """
    count, width = rows.shape
    if np.bincount(rows.indices, minlength=1).max() > 1:
        return None
    row, entry = np.zeros(width, dtype=np.intp), np.zeros(width)
    row[rows.indices], entry[rows.indices] = np.repeat(np.arange(count), np.diff(rows.indptr)), rows.data
    return row, entry
