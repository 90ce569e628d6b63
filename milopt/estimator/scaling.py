"""Features brought to one scale: x -> (x - shift) / divisor, feature by feature, fitted on training instances only.

    minmax01   shift = min, divisor = max - min: training instances fill [0, 1]
    zscore     shift = mean, divisor = standard deviation
    none       instances as they are

A constant feature becomes 0. Sparse instances keep their zeros: there `minmax01` has no shift and divides by max |x|,
which is the same wherever a feature's smallest value is 0; `zscore` would make them dense and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Floats, Points
from milopt.declaration.arrays import read_only, read_only_sparse
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import one_of
from milopt.errors import BagsError

KINDS = ("minmax01", "zscore", "none")


@dataclass(frozen=True, eq=False)
class Scaling:
    """A shift and a divisor a feature; None for no shift, and for no scaling at all."""

    shift: Floats | None = None
    divisor: Floats | None = None

    def __call__(self, bags: Bags) -> Bags:
        """The bags with scaled features."""
        if self.divisor is None:
            return bags
        rows = bags.instances
        if isinstance(rows, sp.csr_array):
            if self.shift is not None and self.shift.any():
                raise BagsError(
                    "The model was fitted on dense instances, whose scaling would make sparse bags dense: "
                    "give dense bags (`bag.toarray()`), or fit on sparse ones."
                )
            parts = (rows.data / self.divisor[rows.indices], rows.indices, rows.indptr)
            return Bags(read_only_sparse(sp.csr_array(parts, shape=rows.shape)), bags.offsets)
        moved = rows - self.shift if self.shift is not None else rows
        return Bags(read_only(moved / self.divisor), bags.offsets)

    def inverse(self, bags: Bags) -> Bags:
        """Scaled bags in the units they had; raise a BagsError if a value exceeds the largest number."""
        if self.divisor is None:
            return bags
        rows = bags.instances
        with np.errstate(over="ignore"):
            if isinstance(rows, sp.csr_array):
                parts = (rows.data * self.divisor[rows.indices], rows.indices, rows.indptr)
                return Bags(read_only_sparse(sp.csr_array(parts, shape=rows.shape)), bags.offsets)
            return Bags(read_only(self.undone(rows)), bags.offsets)

    def undone(self, points: Points) -> Floats:
        """Scaled points in the units they had, dense; a window has the features of all its samples, one after one."""
        rows = np.asarray(points.toarray() if isinstance(points, sp.csr_array) else points, dtype=np.float64)
        if self.divisor is None:
            return rows
        samples = rows.reshape(-1, self.divisor.size) * self.divisor
        return np.reshape(samples if self.shift is None else samples + self.shift, rows.shape)


def fitted_scaling(kind: str, bags: Bags) -> Scaling:
    """The scaling of this kind for the instances of these bags."""
    one_of("scale", kind, KINDS)
    rows = bags.instances
    if kind == "none":
        return Scaling()
    if isinstance(rows, sp.csr_array):
        if kind == "zscore":
            raise BagsError(
                'scale="zscore" would make sparse instances dense: use "minmax01", which divides them by their '
                'largest magnitude, or "none".'
            )
        return Scaling(None, _divisor(np.asarray(abs(rows).max(axis=0).toarray(), dtype=np.float64).ravel()))
    with np.errstate(over="ignore"):
        if kind == "minmax01":
            low = rows.min(axis=0)
            return Scaling(read_only(low), _divisor(rows.max(axis=0) - low))
        return Scaling(read_only(rows.mean(axis=0)), _divisor(rows.std(axis=0)))


def _divisor(spread: Floats) -> Floats:
    if not np.isfinite(spread).all():
        feature = int(np.flatnonzero(~np.isfinite(spread))[0])
        raise BagsError(f'Feature {feature} spans more than a number holds: rescale it, or use scale="none".')
    return read_only(np.where(spread > 0, spread, 1.0))
