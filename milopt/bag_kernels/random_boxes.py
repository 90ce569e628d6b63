"""Boxes drawn once and shared by all bags: features that say which of them a bag meets.

    phi(P)_b = [P meets b] / sqrt(count),      K(P, Q) = the share of the boxes that meet both

It is positive semidefinite by construction, its features are explicit, and its cost grows with the number of bags, not
of pairs of them. Each box bounds `active` features, drawn anew for each, by an interval drawn evenly among all whole
ones, and leaves the others free; with `active=None`, where all are bounded, K is an unbiased estimate of the box count
over the number of boxes. In many dimensions a box that bounds all of them meets next to no bag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from milopt.arrays import Floats, Index
from milopt.bag_kernels.estimators import Codes
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.grid_kernel import GridKernel
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import whole
from milopt.errors import ParameterError

MOST_BOXES = 10**6
"""Boxes that are drawn."""
VALUES_AT_ONCE = 2**22
"""Instances times boxes that are looked at together."""


@dataclass(frozen=True, repr=False)
class RandomBoxes(GridKernel):
    """The share of `count` random boxes that meet both bags."""

    is_semidefinite: ClassVar[bool] = True
    count: int = 2000
    active: int | None = 2
    bins: int = 100
    binning: str = "uniform"
    seed: int = 0
    grid: Grid | None = None

    def __post_init__(self) -> None:
        if whole("count", self.count, 1) > MOST_BOXES:
            raise ParameterError(
                f"count must be at most {MOST_BOXES}, not {self.count}: every bag has as many features."
            )
        whole("seed", self.seed, 0)
        if self.active is not None:
            whole("active", self.active, 1)
        self._check_grid()

    def boxes(self) -> tuple[Index, Codes, Codes]:
        """(features, l, u), each count x active: the features that each box bounds, and its bounds."""
        s = self.known_grid().s
        movable = np.flatnonzero(s > 0)
        active = movable.size if self.active is None else min(int(self.active), movable.size)
        rng = np.random.default_rng(self.seed)
        if not active:
            return np.empty((self.count, 0), dtype=np.intp), *(np.empty((self.count, 0), dtype=np.int32),) * 2
        features = movable[np.argsort(rng.random((self.count, movable.size)), axis=1)[:, :active]]
        # Two different numbers of 0..s+1 are an interval {a..b-1}, and every interval is one such pair.
        wide = s[features] + 2
        one = rng.integers(0, wide)
        other = rng.integers(0, wide - 1)
        other += other >= one
        return features, np.minimum(one, other).astype(np.int32), (np.maximum(one, other) - 1).astype(np.int32)

    def features(self, bags: Any) -> Floats:
        """phi, a row a bag: what any linear classifier takes."""
        given = as_bag_rows(bags).bags
        codes = self.known_grid().codes(given)
        features, low, high = self.boxes()
        met = np.empty((len(given), self.count))
        step = max(1, VALUES_AT_ONCE // len(codes))
        for start in range(0, self.count, step):
            some = slice(start, start + step)
            inside = np.ones((len(codes), len(features[some])), dtype=bool)
            for k in range(features.shape[1]):
                values = codes[:, features[some, k]]
                inside &= (values >= low[some, k]) & (values <= high[some, k])
            met[:, some] = given.max(inside)
        return np.asarray(met / np.sqrt(self.count))

    def latex(self) -> str:
        """K(B, B') in LaTeX."""
        return r"\tfrac{1}{n}\#\{j : x \cap b_j \neq \emptyset, z \cap b_j \neq \emptyset\}"

    def _between(self, A: Bags, B: Bags) -> Floats:
        left = self.features(A)
        return np.asarray(left @ (left if B is A else self.features(B)).T)

    def _own(self, A: Bags) -> Floats:
        return np.asarray((self.features(A) ** 2).sum(axis=1))
