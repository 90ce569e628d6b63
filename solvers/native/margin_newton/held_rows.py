"""The rows of a margin program that the solver holds: a sorted subset with at least one row of each group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Matrix, Points, Vector
from milopt.declaration.bags.scaled_rows import is_scaled_rows
from milopt.solvers.native.margin_newton.group_projection import GroupLayout
from milopt.solvers.native.margin_newton.margin_program import MarginProgram, conjugate_sum

MAX_GRAM_ROWS = 3000
"""Largest number of held rows of which all inner products are computed."""


@dataclass(frozen=True)
class HeldRows:
    """Some rows of a margin program (symbols as in `margin_program`), with a copy of their features.

    `MarginRows.take` makes the copy.
    """

    program: MarginProgram
    index: Index
    """Held rows in ascending order."""
    features: Points
    """Rows R of the held rows."""
    offset: Vector
    bias: Vector
    group_starts: Index
    """First held row of each group, and the number of held rows."""

    @classmethod
    def from_index(cls, program: MarginProgram, index: Index) -> HeldRows:
        """Hold the rows in `index`, which must be ascending."""
        group_starts = np.searchsorted(index, program.group_starts).astype(np.intp)
        return cls(program, index, program.rows.take(index), program.offset[index], program.bias[index], group_starts)

    @cached_property
    def layout(self) -> GroupLayout:
        """Groups of the held rows."""
        return GroupLayout.from_starts(self.group_starts)

    @property
    def count(self) -> int:
        """Number of held rows."""
        return int(self.index.size)

    @cached_property
    def gram(self) -> Matrix | None:
        """Inner products R R' of the held rows; None for fewer features than rows, or over `MAX_GRAM_ROWS` rows."""
        if self.features.shape[1] < self.count or self.count > MAX_GRAM_ROWS:
            return None
        product = self.features @ self.features.T
        return product if isinstance(product, np.ndarray) else np.asarray(product.toarray(), dtype=np.float64)

    @cached_property
    def group(self) -> Index:
        """Group of each held row."""
        return self.program.group[self.index]

    @cached_property
    def row_size(self) -> float:
        """Root mean square of the lengths of the held rows."""
        return float(np.sqrt(_sum_squares(self.features) / max(self.count, 1)))

    @cached_property
    def spread(self) -> float:
        """Sum of the variances of the features over the held rows, taken with the signs of the bias."""
        sign = np.where(self.bias < 0, -1.0, 1.0)
        mean = np.asarray(self.features.T @ sign).ravel() / max(self.count, 1)
        return max(self.row_size**2 - float(mean @ mean), 1e-3 * self.row_size**2, 1e-300)

    def values(self, w: Vector, b: float = 0.0) -> Vector:
        """Return v = q - R w - e b."""
        v = self.offset - self.features @ w
        return np.asarray(v - self.bias * b if b else v)

    def group_sums(self, a: Vector) -> Vector:
        """Return the sum of a over the held rows of each group."""
        return np.asarray(np.add.reduceat(a, self.group_starts[:-1]))

    def balance_multipliers(self, a: Vector) -> Vector:
        """Return a with e'a = 0, after the larger of the two sums of e_r a_r by sign was scaled down; a stays feasible.

        Sums that exceed the cap of a group without curvature by rounding errors are scaled down first.
        """
        program, sums = self.program, self.group_sums(a)
        hard = (program.curvature == 0) & (sums > program.cap)
        if hard.any():
            a = a * np.where(hard, program.cap / np.where(hard, sums, 1.0), 1.0)[self.group]
        if not program.has_bias:
            return a
        pull = self.bias * a
        up, down = float(pull[pull > 0].sum()), -float(pull[pull < 0].sum())
        if up > down:
            return np.where(self.bias > 0, a * (down / up), a)
        return np.where(self.bias < 0, a * (up / down), a) if down > 0 else a

    def dual_value(self, a: Vector, w: Vector) -> float:
        """Return the dual objective at a, with w = R'a; a must be feasible."""
        penalty = conjugate_sum(self.group_sums(a), self.program.cap, self.program.curvature)
        return float(self.offset @ a) - 0.5 * float(w @ w) - penalty


def _sum_squares(features: Points) -> float:
    """Return the sum of the squares of all entries."""
    if is_scaled_rows(features):
        return float(features.squared_norms().sum())
    data = features.data if isinstance(features, sp.csr_array) else np.asarray(features).ravel()
    return float(data @ data)
