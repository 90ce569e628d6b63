"""Sums and minima over the alignments of two series.

An alignment of two series of ell samples (time steps) is a monotone path of cells (i, j) from (1, 1) to (ell, ell) with
steps (1, 0), (0, 1) and (1, 1). Each dynamic program is

    V(i, j) = local(i, j) o (V(i-1, j) + V(i, j-1) + V(i-1, j-1))

with different operations `o` and `+`: for DTW, `o` is a sum and `+` a minimum; for alignment sums, `o` is a product and
`+` a sum. V is computed one antidiagonal at a time, for many pairs of series at once. Series are arrays of shape
(ell, channels, pairs): the k-th series of X is compared with the k-th series of Z. `band` is the largest |i - j| of a
cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log, sqrt
from typing import TypeAlias

import numpy as np

from milopt.arrays import Floats

AntidiagonalStep: TypeAlias = Callable[[Floats, Floats, Floats, Floats, Floats, Floats], None]
"""Function that computes V on one antidiagonal.

Its arguments are the squared distances of the cells, i - j, the values of the three neighbours of each cell (above,
left, corner), and the output array.
"""

_SIDE_STEP_WEIGHT = sqrt(2) - 1
"""Solution r of 2 r + r^2 = 1: with weight r per step (1, 0) or (0, 1) and r^2 per step (1, 1), no sum exceeds 1."""
_MIN_RELIABLE_SUM = 1e-280
"""Smallest sum of products that is accurate: in a smaller sum, products that underflowed may matter."""
_NEGLIGIBLE_KERNEL_VALUE = 1e-60
"""Kernel values below this one may be returned as 0."""


def warping_costs(X: Floats, Z: Floats, band: int) -> Floats:
    """Return the DTW cost of each pair: the smallest sum of ||x_i - z_j||^2 over an alignment within the band."""

    def step(gaps: Floats, _: Floats, above: Floats, left: Floats, corner: Floats, out: Floats) -> None:
        """Add the squared distances to the smallest of the three neighbours."""
        np.minimum(above, left, out=out)
        np.minimum(out, corner, out=out)
        out += gaps

    return _run_dynamic_program(X, Z, band, origin=0.0, outside=np.inf, step=step)


def log_alignment_sums(X: Floats, Z: Floats, s: float, triangular: int | None) -> Floats:
    """Return, for each pair, the logarithm of the sum over all alignments of the product of k(i, j) over its cells.

    The constant 2 (ell - 1) log(1 + sqrt 2) is subtracted. The local kernel is k = t / (2 - t) with t = w(i, j) exp(-s
    ||x_i - z_j||^2), and w = max(0, 1 - |i - j| / triangular), or w = 1 if `triangular` is None. A sum that underflows
    is computed again in log space, unless it is negligible compared with the sums of x with x and of z with z. Then the
    result may be -inf.
    """
    samples = X.shape[0]
    band, steepness = (samples, 0.0) if triangular is None else (triangular - 1, 1 / triangular)
    with np.errstate(under="ignore", divide="ignore"):
        sums = _scaled_alignment_sums(X, Z, band, s, steepness)
        logarithms = np.log(sums)
        # An unreliable sum matters only if the kernel value may be above `_NEGLIGIBLE_KERNEL_VALUE`. The sum of a
        # series with itself is at least r^(2 ell - 2), because one alignment consists of the cells (i, i), where k = 1.
        if log(_MIN_RELIABLE_SUM) > log(_NEGLIGIBLE_KERNEL_VALUE) + 2 * (samples - 1) * log(_SIDE_STEP_WEIGHT):
            lost = np.flatnonzero(sums < _MIN_RELIABLE_SUM)
            logarithms[lost] = _log_scaled_alignment_sums(X[..., lost], Z[..., lost], band, s, steepness)
    return logarithms


def _scaled_alignment_sums(X: Floats, Z: Floats, band: int, s: float, steepness: float) -> Floats:
    """Return the sums over alignments of the products of k, times r^(2 ell - 2) with r = `_SIDE_STEP_WEIGHT`.

    `steepness` is 1 / triangular, or 0 for w = 1. A step (1, 0) or (0, 1) has weight r, and a step (1, 1) weight r^2.
    Since k and the weights are at most 1, a product never increases along its path. So nothing overflows, and a product
    that underflows would also underflow at the end of its path.
    """

    def step(gaps: Floats, shift: Floats, above: Floats, left: Floats, corner: Floats, out: Floats) -> None:
        """Add the three neighbours with their weights, and multiply by k."""
        gaps *= -s
        t = np.exp(gaps, out=gaps)
        if steepness:
            t *= 1 - steepness * np.abs(shift)
        np.add(above, left, out=out)
        out += _SIDE_STEP_WEIGHT * corner
        out *= _SIDE_STEP_WEIGHT
        out *= t
        out /= 2 - t

    return _run_dynamic_program(X, Z, band, origin=_SIDE_STEP_WEIGHT**-2, outside=0.0, step=step)


def _log_scaled_alignment_sums(X: Floats, Z: Floats, band: int, s: float, steepness: float) -> Floats:
    """Return the logarithms of the sums of `_scaled_alignment_sums`, computed in log space throughout."""
    step_down = log(_SIDE_STEP_WEIGHT)

    def step(gaps: Floats, shift: Floats, above: Floats, left: Floats, corner: Floats, out: Floats) -> None:
        """Compute the logarithm of k times the weighted sum of the three neighbours."""
        corner = corner + step_down
        top = np.maximum(np.maximum(above, left), corner)
        np.log(np.exp(above - top) + np.exp(left - top) + np.exp(corner - top), out=out)
        out += top
        out += step_down
        log_t = np.log1p(-steepness * np.abs(shift)) - s * gaps
        out += log_t
        out -= np.log(2 - np.exp(log_t))

    return _run_dynamic_program(X, Z, band, origin=-2 * step_down, outside=-np.inf, step=step)


def _run_dynamic_program(
    X: Floats, Z: Floats, band: int, origin: float, outside: float, step: AntidiagonalStep
) -> Floats:
    """Return V(ell, ell) of the dynamic program (see the module docstring) for each pair of series.

    V is `origin` at (0, 0), the position before the first cell, and `outside` at all other positions outside of the
    ell x ell grid or of the band.
    """
    samples, _, pairs = X.shape
    backwards = np.ascontiguousarray(Z[::-1])
    # Position i + 1 holds row i of an antidiagonal, so that there is a position for row -1.
    now, last, before = (np.full((samples + 1, pairs), outside) for _ in range(3))
    before[0] = origin
    gaps, part = np.empty((2, samples, pairs))
    for k, low, high in _antidiagonals(samples, band):
        start = samples - 1 - k
        size = high - low
        _squared_distances(X[low:high], backwards[start + low : start + high], gaps[:size], part[:size])
        shift = 2 * np.arange(low, high, dtype=np.float64)[:, None] - k
        step(gaps[:size], shift, last[low:high], last[low + 1 : high + 1], before[low:high], now[low + 1 : high + 1])
        # The next two antidiagonals read one more row on either side. The row above may hold values of older ones.
        now[low] = outside
        now, last, before = before, now, last
    return np.array(last[samples])


def _antidiagonals(samples: int, band: int) -> Iterator[tuple[int, int, int]]:
    """Yield (k, low, high) for each antidiagonal k = i + j: its cells with |i - j| <= band have low <= i < high.

    Cells are counted from 0 here.
    """
    for k in range(2 * samples - 1):
        low = max(0, k - samples + 1, (k - band + 1) // 2)
        high = min(k, samples - 1, (k + band) // 2) + 1
        yield k, low, high


def _squared_distances(X: Floats, Z: Floats, out: Floats, part: Floats) -> None:
    """Write the squared distances of samples, summed over the channels, to `out`; `part` is workspace."""
    np.subtract(X[:, 0], Z[:, 0], out=out)
    np.multiply(out, out, out=out)
    for channel in range(1, X.shape[1]):
        np.subtract(X[:, channel], Z[:, channel], out=part)
        np.multiply(part, part, out=part)
        out += part
