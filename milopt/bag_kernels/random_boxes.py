"""Random box features: which of a fixed set of random boxes a bag meets.

    phi(P)_b = [P meets b] / sqrt(count),      K(P, Q) = fraction of the boxes that meet both bags

The kernel is positive semidefinite by construction, has explicit features, and its cost grows with the number of bags,
not with the number of pairs of bags. Each box bounds `active` randomly chosen features by a uniformly drawn integer
interval, and leaves the other features free. With `active=None` all features are bounded, and K is an unbiased estimate
of the box count divided by the number of boxes. In many dimensions, a box that bounds all features meets hardly any
bag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from milopt.arrays import Codes, Floats, Index
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.grid_kernel import GridKernel
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_integer
from milopt.errors import ParameterError

MAX_RANDOM_BOXES = 10**6
"""Maximum number of boxes."""
MAX_VALUES_PER_BLOCK = 2**22
"""Maximum of (number of instances) x (number of boxes) that are tested at once."""


@dataclass(frozen=True, repr=False)
class RandomBoxes(GridKernel):
    """Random box kernel: the fraction of random boxes that meet both bags.

    Parameters
    ----------
    count : int, default=2000
        Number of boxes, and of features.
    active : int or None, default=2
        Number of features that each box bounds, at most the number of features that are not constant. None bounds all
        of these.
    bins : int, default=100
        Maximum number of codes per feature.
    binning : {"uniform", "quantile", "rank"}, default="uniform"
        How features are discretised: equal widths, equal frequencies, or one code per distinct training value.
    seed : int, default=0
        Seed of the random boxes.
    grid : Grid or None, default=None
        Discretisation of the features. None fits the grid to the training bags (see `fitted_to`).

    Raises
    ------
    ParameterError
        If a parameter is invalid, such as a `count` below 1.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = [np.array([[0.0], [1.0]]), np.array([[2.0]]), np.array([[4.0]])]
    >>> kernel = milopt.RandomBoxes(count=1000, bins=5).fitted_to(bags)
    >>> kernel.features(bags).shape
    (3, 1000)
    >>> kernel(bags, bags).round(1)
    array([[0.6, 0.4, 0.1],
           [0.4, 0.6, 0.2],
           [0.1, 0.2, 0.3]])
    """

    is_semidefinite: ClassVar[bool] = True
    count: int = 2000
    active: int | None = 2
    bins: int = 100
    binning: str = "uniform"
    seed: int = 0
    grid: Grid | None = None

    def __post_init__(self) -> None:
        if check_integer("count", self.count, 1) > MAX_RANDOM_BOXES:
            raise ParameterError(
                f"count must be at most {MAX_RANDOM_BOXES}, not {self.count}: every bag has as many features."
            )
        check_integer("seed", self.seed, 0)
        if self.active is not None:
            check_integer("active", self.active, 1)
        self._check_grid()

    def boxes(self) -> tuple[Index, Codes, Codes]:
        """Return (features, lower, upper): the features that each box bounds, and their bounds.

        Returns
        -------
        features : ndarray of shape (count, active)
            Indices of the features that each box bounds. `active` is here the number of features that are bounded.
        lower : ndarray of shape (count, active)
            Smallest code of each of these features.
        upper : ndarray of shape (count, active)
            Largest code of each of these features.
        """
        s = self.require_grid().s
        movable = np.flatnonzero(s > 0)
        active = movable.size if self.active is None else min(int(self.active), movable.size)
        rng = np.random.default_rng(self.seed)
        if not active:
            return np.empty((self.count, 0), dtype=np.intp), *(np.empty((self.count, 0), dtype=np.int32),) * 2
        features = movable[np.argsort(rng.random((self.count, movable.size)), axis=1)[:, :active]]
        # A pair a < b of numbers from 0 to s + 1 is the interval {a..b-1}, and every interval is one such pair.
        wide = s[features] + 2
        a = rng.integers(0, wide)
        b = rng.integers(0, wide - 1)
        b += b >= a
        return features, np.minimum(a, b).astype(np.int32), (np.maximum(a, b) - 1).astype(np.int32)

    def features(self, bags: Any) -> Floats:
        """Return phi, the explicit features of bags, for use with any linear classifier.

        Parameters
        ----------
        bags : bags
            Bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        ndarray of shape (n_bags, count)
            1 / sqrt(count) if the bag meets the box, otherwise 0.
        """
        given = as_bag_rows(bags).bags
        codes = self.require_grid().codes(given)
        features, low, high = self.boxes()
        met = np.empty((len(given), self.count))
        step = max(1, MAX_VALUES_PER_BLOCK // len(codes))
        for start in range(0, self.count, step):
            some = slice(start, start + step)
            inside = np.ones((len(codes), len(features[some])), dtype=bool)
            for k in range(features.shape[1]):
                values = codes[:, features[some, k]]
                inside &= (values >= low[some, k]) & (values <= high[some, k])
            met[:, some] = given.max(inside)
        return np.asarray(met / np.sqrt(self.count))

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return r"\tfrac{1}{n}\#\{j : x \cap b_j \neq \emptyset, z \cap b_j \neq \emptyset\}"

    def _bag_gram(self, A: Bags, B: Bags) -> Floats:
        left = self.features(A)
        return np.asarray(left @ (left if B is A else self.features(B)).T)

    def _bag_diagonal(self, A: Bags) -> Floats:
        return np.asarray((self.features(A) ** 2).sum(axis=1))
