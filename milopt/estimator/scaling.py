"""Scaling of features, x -> (x - shift) / divisor for each feature, fitted to the training instances only.

    minmax01   shift = min, divisor = max - min: training instances fill [0, 1]
    zscore     shift = mean, divisor = standard deviation
    none       no scaling

A constant feature of dense instances becomes 0. Sparse instances keep their zeros: for them, `minmax01` has no shift
and divides by max |x|, which gives the same result if the smallest value of each feature is 0. `zscore` would make
sparse instances dense, and raises an error.

More than 4 million values are scaled on demand (`ScaledRows`), and no scaled copy of them is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Points
from milopt.declaration.array_conversion import make_read_only, make_sparse_read_only
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.column_statistics import column_moments, column_range
from milopt.declaration.bags.scaled_rows import ScaledRows, fits_in_block, is_scaled_rows
from milopt.declaration.checks import check_choice
from milopt.errors import BagsError

SCALING_KINDS = ("minmax01", "zscore", "none")
"""Supported kinds of scaling."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Shift and divisor of each feature. `shift=None` means no shift, and `divisor=None` no scaling at all."""

    shift: Floats | None = None
    divisor: Floats | None = None

    def __call__(self, bags: Bags) -> Bags:
        """Return the bags with scaled features; raise `BagsError` if a shift would make sparse bags dense."""
        if self.divisor is None:
            return bags
        rows = bags.instances
        if isinstance(rows, sp.csr_array):
            if self.shift is not None and self.shift.any():
                raise BagsError(
                    "The model was fitted on dense instances, and its scaling would make sparse bags dense: "
                    "give dense bags (`bag.toarray()`), or fit on sparse ones."
                )
            parts = (rows.data / self.divisor[rows.indices], rows.indices, rows.indptr)
            return Bags(make_sparse_read_only(sp.csr_array(parts, shape=rows.shape)), bags.offsets)
        if not fits_in_block(rows.size):
            unscaled = rows if is_scaled_rows(rows) else ScaledRows(rows)
            return Bags._from_checked_arrays(cast(Points, unscaled.scaled(self.shift, self.divisor)), bags.offsets)
        if self.shift is None:
            return Bags(make_read_only(rows / self.divisor), bags.offsets)
        scaled = rows - self.shift
        scaled /= self.divisor
        return Bags(make_read_only(scaled), bags.offsets)

    def unscale_bags(self, bags: Bags) -> Bags:
        """Return scaled bags in their original units; raise a `BagsError` if a value overflows."""
        if self.divisor is None:
            return bags
        rows = bags.instances
        with np.errstate(over="ignore"):
            if isinstance(rows, sp.csr_array):
                parts = (rows.data * self.divisor[rows.indices], rows.indices, rows.indptr)
                return Bags(make_sparse_read_only(sp.csr_array(parts, shape=rows.shape)), bags.offsets)
            return Bags(make_read_only(self.unscale_points(rows)), bags.offsets)

    def unscale_points(self, points: Points) -> Floats:
        """Return scaled points in their original units, as a dense array.

        A row may also be a window, with the features of all its samples in order.
        """
        rows = np.asarray(points.toarray() if isinstance(points, sp.csr_array) else points, dtype=np.float64)
        if self.divisor is None:
            return rows
        samples = rows.reshape(-1, self.divisor.size) * self.divisor
        return np.reshape(samples if self.shift is None else samples + self.shift, rows.shape)


def fit_scaling(kind: str, bags: Bags) -> Scaling:
    """Fit a scaling of this kind (see the module docstring) to the instances of bags."""
    check_choice("scale", kind, SCALING_KINDS)
    rows = bags.instances
    if kind == "none":
        return Scaling()
    if isinstance(rows, sp.csr_array):
        if kind == "zscore":
            raise BagsError(
                'scale="zscore" would make sparse instances dense: use "minmax01", which divides them by their '
                'largest magnitude, or "none".'
            )
        return Scaling(None, _as_divisor(np.asarray(abs(rows).max(axis=0).toarray(), dtype=np.float64).ravel()))
    with np.errstate(over="ignore"):
        if kind == "minmax01":
            low, high = column_range(rows)
            return Scaling(make_read_only(low), _as_divisor(high - low))
        mean, deviation = column_moments(rows)
        return Scaling(make_read_only(mean), _as_divisor(deviation))


def _as_divisor(spread: Floats) -> Floats:
    """Return the spreads of the features as divisors, 1 for a spread of 0; raise `BagsError` if one is not finite."""
    if not np.isfinite(spread).all():
        feature = int(np.flatnonzero(~np.isfinite(spread))[0])
        raise BagsError(f'Feature {feature} has a range that overflows: rescale it, or use scale="none".')
    return make_read_only(np.where(spread > 0, spread, 1.0))
