"""Discretisation of features to a grid prod_k {0..s_k}, fitted to training bags only.

The code of a value is the number of cuts strictly below it, so values outside the training range get the first or the
last code. A constant feature has no cuts, the single code 0, and no influence.

    rank      a cut after every distinct training value but the last; the cuts of `quantile` if there would be more than
              `bins` codes
    quantile  cuts at the quantiles 1/bins, ..., (bins - 1)/bins
    uniform   cuts that divide [min, max] into `bins` equal parts
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Codes, Floats, Index, Points
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice, check_integer
from milopt.errors import BagsError, ParameterError

BINNING_CHOICES = ("uniform", "quantile", "rank")
"""Admissible values of `binning`."""
MAX_BINS = 2**16
"""Maximum number of codes per feature. More codes have no use in practice, and every cut takes memory."""
MAX_CUTS = 2**27
"""Maximum number of cuts of all features together. A cut takes 8 bytes."""


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """Discretisation of features by cuts: the code of a value is the number of cuts of its feature below it.

    Grids with the same cuts are equal.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Training range of each feature.
    cuts : ndarray
        Cuts of the first feature, then those of the second, and so on.
    starts : ndarray of shape (n_features + 1,)
        Feature k has cuts[starts[k]:starts[k + 1]].
    """

    low: Floats
    high: Floats
    cuts: Floats
    starts: Index

    def __post_init__(self) -> None:
        """Check that the arrays describe a grid, because the compiled code does not check them."""
        arrays = {"low": self.low, "high": self.high, "cuts": self.cuts, "starts": self.starts}
        for name, array in arrays.items():
            kinds = "iu" if name == "starts" else "f"
            if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
                kind = "integers" if name == "starts" else "floating-point numbers"
                raise ParameterError(f"{name} of a grid must be a 1-D array of {kind}.")
            if name != "starts" and not np.isfinite(array).all():
                raise ParameterError(f"{name} of a grid must hold finite numbers.")
        if not 0 < self.low.size == self.high.size == self.starts.size - 1:
            raise ParameterError("A grid must have a smallest value, a largest value and a start for each feature.")
        counts = np.diff(self.starts.astype(np.int64))
        if self.starts[0] != 0 or self.starts[-1] != self.cuts.size or (counts < 0).any():
            raise ParameterError("The starts of a grid must rise from 0 to the number of its cuts.")
        if counts.max() >= MAX_BINS:
            raise ParameterError(f"A grid must have fewer than {MAX_BINS} cuts for each feature.")
        first = np.zeros(self.cuts.size, dtype=bool)
        first[self.starts[:-1][counts > 0]] = True
        if (np.diff(self.cuts) < 0)[~first[1:]].any():
            raise ParameterError("The cuts of each feature of a grid must not decrease.")
        if (self.low > self.high).any():
            raise ParameterError("The smallest value of a feature of a grid must not exceed the largest.")

    @property
    def s(self) -> Codes:
        """Largest code of each feature."""
        return np.diff(self.starts).astype(np.int32)

    @property
    def log_box_count(self) -> float:
        """Logarithm of the number of boxes, sum_k log C(s_k + 2, 2)."""
        s = self.s.astype(np.float64)
        return float(np.log((s + 1) * (s + 2) / 2).sum())

    def codes(self, bags: Bags) -> Codes:
        """Return the code of every value, an array of shape (n_instances, n_features)."""
        values = self._values(bags)
        codes = np.empty(values.shape, dtype=np.int32)
        for k in range(values.shape[1]):
            codes[:, k] = np.searchsorted(self.cuts[self.starts[k] : self.starts[k + 1]], values[:, k], side="left")
        return codes

    def count_values_outside_grid(self, bags: Bags) -> int:
        """Return the number of values outside the range of the training bags; they get the first or the last code."""
        values = self._values(bags)
        return int(((values < self.low) | (values > self.high)).sum())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the cuts of all features."""
        content = hashlib.sha256(self.starts.astype("<i8").tobytes())
        content.update(self.cuts.astype("<f8").tobytes())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _values(self, bags: Bags) -> Floats:
        """Return the instances as a dense array, after checking the number of features."""
        if bags.dimension != self.low.size:
            raise BagsError(f"The grid was fitted to {self.low.size} features, and these bags have {bags.dimension}.")
        return as_dense_instances(bags.instances)

    def __repr__(self) -> str:
        return f"Grid({self.low.size} features, {int(self.s.max(initial=0)) + 1} codes)"


def fit_grid(bags: Bags, binning: str, bins: int) -> Grid:
    """Fit a grid to training bags, with at most `bins` codes per feature; for `binning`, see the module docstring."""
    check_choice("binning", binning, BINNING_CHOICES)
    check_bins(bins)
    values = as_dense_instances(bags.instances)
    low, high = values.min(axis=0), values.max(axis=0)
    # Cuts that are not uniform lie at training values, so a feature has at most as many cuts as there are instances.
    each, features = bins if binning == "uniform" else min(bins, len(values)), int((low < high).sum())
    if each * features > MAX_CUTS:
        raise ParameterError(
            f"{bins} bins of each of {features} features do not fit into memory: use at most "
            f"{MAX_CUTS // features} bins."
        )
    cuts_by_feature = [_compute_cuts(values[:, k], binning, bins) for k in range(values.shape[1])]
    starts = np.concatenate([[0], np.cumsum([cuts.size for cuts in cuts_by_feature])]).astype(np.intp)
    return Grid(low, high, np.concatenate(cuts_by_feature), starts)


def check_bins(bins: int) -> None:
    """Raise an error if `bins` is not an integer from 2 to `MAX_BINS`."""
    if check_integer("bins", bins, 2) > MAX_BINS:
        raise ParameterError(f"bins must be at most {MAX_BINS}, not {bins}: every feature stores as many cuts.")


def as_dense_instances(instances: Points) -> Floats:
    """Return instances as a dense array; a dense array is not copied."""
    return instances.toarray() if isinstance(instances, sp.csr_array) else np.asarray(instances)


def _compute_cuts(values: Floats, binning: str, bins: int) -> Floats:
    """Return the cuts of one feature from its training values; an empty array if the feature is constant."""
    different = np.unique(values)
    if different.size == 1:
        return np.empty(0)
    if binning == "uniform":
        # Divide by 2 first, so that the difference is finite even if the range overflows.
        return np.asarray(2 * np.linspace(different[0] / 2, different[-1] / 2, bins + 1)[1:-1])
    if binning == "rank" and different.size <= bins:
        return different[:-1]
    quantiles = np.quantile(values, np.arange(1, bins) / bins, method="lower")
    return np.unique(quantiles[quantiles < different[-1]])
