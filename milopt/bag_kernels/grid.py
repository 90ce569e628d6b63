"""Discretisation of features to a grid prod_k {0..s_k}, fitted on training bags only.

The code of a value is the number of cuts strictly below it, so that what lies outside the training range gets the first
or the last code. A constant feature has no cuts, the one code 0, and no influence.

    rank      a cut after every distinct training value but the last; quantiles where there are more codes than `bins`
    quantile  cuts at the quantiles 1/bins, ..., (bins - 1)/bins
    uniform   cuts that divide [min, max] into `bins` equal parts
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Index, Points
from milopt.bag_kernels.estimators import Codes
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import one_of, whole
from milopt.errors import BagsError, ParameterError

BINNINGS = ("uniform", "quantile", "rank")
MOST_BINS = 2**16
"""Codes a feature: more tell nothing more apart in practice, and every feature holds so many cuts."""
MOST_CUTS = 2**27
"""Cuts of all features together, of 8 bytes each."""


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """The cuts of every feature; grids of the same cuts are equal."""

    low: Floats
    high: Floats
    """The training range of each feature."""
    cuts: Floats
    """Those of the first feature, then those of the next."""
    starts: Index
    """Where each feature's cuts start, and one past the last."""

    def __post_init__(self) -> None:
        """Check that the arrays describe a grid: compiled code relies on it and does not check."""
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
        if counts.max() >= MOST_BINS:
            raise ParameterError(f"A grid must have fewer than {MOST_BINS} cuts for each feature.")
        first = np.zeros(self.cuts.size, dtype=bool)
        first[self.starts[:-1][counts > 0]] = True
        if (np.diff(self.cuts) < 0)[~first[1:]].any():
            raise ParameterError("The cuts of each feature of a grid must not decrease.")
        if (self.low > self.high).any():
            raise ParameterError("The smallest value of a feature of a grid must not exceed the largest.")

    @property
    def s(self) -> Codes:
        """The largest code of each feature."""
        return np.diff(self.starts).astype(np.int32)

    @property
    def log_boxes(self) -> float:
        """log of the number of boxes, sum_k log C(s_k + 2, 2)."""
        s = self.s.astype(np.float64)
        return float(np.log((s + 1) * (s + 2) / 2).sum())

    def codes(self, bags: Bags) -> Codes:
        """The code of every value, N x D."""
        values = self._values(bags)
        codes = np.empty(values.shape, dtype=np.int32)
        for k in range(values.shape[1]):
            codes[:, k] = np.searchsorted(self.cuts[self.starts[k] : self.starts[k + 1]], values[:, k], side="left")
        return codes

    def outside(self, bags: Bags) -> int:
        """How many values lie outside the training range, and are clipped to it."""
        values = self._values(bags)
        return int(((values < self.low) | (values > self.high)).sum())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the cuts."""
        content = hashlib.sha256(self.starts.astype("<i8").tobytes())
        content.update(self.cuts.astype("<f8").tobytes())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _values(self, bags: Bags) -> Floats:
        if bags.dimension != self.low.size:
            raise BagsError(f"The grid was fitted to {self.low.size} features, and these bags have {bags.dimension}.")
        return dense(bags.instances)

    def __repr__(self) -> str:
        return f"Grid({self.low.size} features, {int(self.s.max(initial=0)) + 1} codes)"


def fitted_grid(bags: Bags, binning: str, bins: int) -> Grid:
    """The grid of training bags."""
    one_of("binning", binning, BINNINGS)
    check_bins(bins)
    values = dense(bags.instances)
    low, high = values.min(axis=0), values.max(axis=0)
    # Other cuts than uniform ones lie at values that occur.
    each, features = bins if binning == "uniform" else min(bins, len(values)), int((low < high).sum())
    if each * features > MOST_CUTS:
        raise ParameterError(
            f"{bins} bins of each of {features} features are more than memory allows: take at most "
            f"{MOST_CUTS // features} bins."
        )
    found = [_cuts(values[:, k], binning, bins) for k in range(values.shape[1])]
    starts = np.concatenate([[0], np.cumsum([cuts.size for cuts in found])]).astype(np.intp)
    return Grid(low, high, np.concatenate(found), starts)


def check_bins(bins: int) -> None:
    """A whole number of at least 2 that memory allows."""
    if whole("bins", bins, 2) > MOST_BINS:
        raise ParameterError(
            f"bins must be at most {MOST_BINS}, not {bins}: every feature holds as many cuts in memory."
        )


def dense(instances: Points) -> Floats:
    """The instances as an array."""
    return instances.toarray() if isinstance(instances, sp.csr_array) else instances


def _cuts(values: Floats, binning: str, bins: int) -> Floats:
    different = np.unique(values)
    if different.size == 1:
        return np.empty(0)
    if binning == "uniform":
        # By halves, whose difference is a number even where the range is none.
        return np.asarray(2 * np.linspace(different[0] / 2, different[-1] / 2, bins + 1)[1:-1])
    if binning == "rank" and different.size <= bins:
        return different[:-1]
    quantiles = np.quantile(values, np.arange(1, bins) / bins, method="lower")
    return np.unique(quantiles[quantiles < different[-1]])
