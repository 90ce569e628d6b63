"""Alignments of two series: monotone paths of cells (i, j) from (1, 1) to (ell, ell) by steps (1, 0), (0, 1), (1, 1).

Each dynamic program is  V(i, j) = local(i, j) o (V(i-1, j) + V(i, j-1) + V(i-1, j-1))  with its own `o` and `+`, over
the cells of one antidiagonal at a time and for many pairs at once. Series come as arrays of ell x channels x pairs, the
k-th of X with the k-th of Z. `band` is the largest |i - j| of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log, sqrt
from typing import TypeAlias

import numpy as np

from milopt.arrays import Floats

Step: TypeAlias = Callable[[Floats, Floats, Floats, Floats, Floats, Floats], None]
"""V of an antidiagonal from its squared distances, i - j, the three neighbours of each cell; and where to put it."""

_RATIO = sqrt(2) - 1
"""2 r + r^2 = 1: with weights r^(i + j), no sum of products exceeds 1."""
_LEAST = 1e-280
"""What sums of products lose to the smallest number is nothing beside a sum of this."""
_NEGLIGIBLE = 1e-60


def warping_costs(X: Floats, Z: Floats, band: int) -> Floats:
    """DTW: the least sum, over all alignments, of ||x_i - z_j||^2 on its cells."""

    def step(gaps: Floats, _: Floats, above: Floats, left: Floats, corner: Floats, out: Floats) -> None:
        np.minimum(above, left, out=out)
        np.minimum(out, corner, out=out)
        out += gaps

    return _swept(X, Z, band, first=0.0, none=np.inf, step=step)


def log_alignment_sums(X: Floats, Z: Floats, s: float, triangular: int | None) -> Floats:
    """log of the sum, over all alignments, of the product of k(i, j) on its cells, less 2 (ell - 1) log(1 + sqrt 2).

    k = t / (2 - t) with t = w(i, j) exp(-s ||x_i - z_j||^2) and w = max(0, 1 - |i - j| / triangular), or 1. A sum that
    is lost is -inf where it is negligible beside those of x and of z with themselves; else logarithms find it.
    """
    samples = X.shape[0]
    band, steepness = (samples, 0.0) if triangular is None else (triangular - 1, 1 / triangular)
    with np.errstate(under="ignore", divide="ignore"):
        sums = _plain_sums(X, Z, band, s, steepness)
        logarithms = np.log(sums)
        # A series with itself has the alignment of all (i, i), where k is 1: at least this much is its sum.
        if log(_LEAST) > log(_NEGLIGIBLE) + 2 * (samples - 1) * log(_RATIO):
            lost = np.flatnonzero(sums < _LEAST)
            logarithms[lost] = _log_sums(X[..., lost], Z[..., lost], band, s, steepness)
    return logarithms


def _plain_sums(X: Floats, Z: Floats, band: int, s: float, steepness: float) -> Floats:
    """The sums with weights r^(i + j).

    k and the weights are at most 1, so an alignment weighs no more than its beginning, or a cell where that vanishes.
    """

    def step(gaps: Floats, shift: Floats, above: Floats, left: Floats, corner: Floats, out: Floats) -> None:
        gaps *= -s
        t = np.exp(gaps, out=gaps)
        if steepness:
            t *= 1 - steepness * np.abs(shift)
        np.add(above, left, out=out)
        out += _RATIO * corner
        out *= _RATIO
        out *= t
        out /= 2 - t

    return _swept(X, Z, band, first=_RATIO**-2, none=0.0, step=step)


def _log_sums(X: Floats, Z: Floats, band: int, s: float, steepness: float) -> Floats:
    """The logarithms of the same, from logarithms alone."""
    step_down = log(_RATIO)

    def step(gaps: Floats, shift: Floats, above: Floats, left: Floats, corner: Floats, out: Floats) -> None:
        corner = corner + step_down
        top = np.maximum(np.maximum(above, left), corner)
        np.log(np.exp(above - top) + np.exp(left - top) + np.exp(corner - top), out=out)
        out += top
        out += step_down
        log_t = np.log1p(-steepness * np.abs(shift)) - s * gaps
        out += log_t
        out -= np.log(2 - np.exp(log_t))

    return _swept(X, Z, band, first=-2 * step_down, none=-np.inf, step=step)


def _swept(X: Floats, Z: Floats, band: int, first: float, none: float, step: Step) -> Floats:
    """V(ell, ell) of each pair; V is `first` before the first cell and `none` elsewhere outside."""
    samples, _, pairs = X.shape
    backwards = np.ascontiguousarray(Z[::-1])
    # Place i + 1 holds row i of an antidiagonal, so that row -1 has a place too.
    now, last, before = (np.full((samples + 1, pairs), none) for _ in range(3))
    before[0] = first
    gaps, part = np.empty((2, samples, pairs))
    for k, low, high in _antidiagonals(samples, band):
        start = samples - 1 - k
        size = high - low
        _squared_distances(X[low:high], backwards[start + low : start + high], gaps[:size], part[:size])
        shift = 2 * np.arange(low, high, dtype=np.float64)[:, None] - k
        step(gaps[:size], shift, last[low:high], last[low + 1 : high + 1], before[low:high], now[low + 1 : high + 1])
        # The next two antidiagonals look one row further on either side; above, the place may hold older values.
        now[low] = none
        now, last, before = before, now, last
    return np.array(last[samples])


def _antidiagonals(samples: int, band: int) -> Iterator[tuple[int, int, int]]:
    """k = i + j with the rows low <= i < high of its cells, |i - j| <= band."""
    for k in range(2 * samples - 1):
        low = max(0, k - samples + 1, (k - band + 1) // 2)
        high = min(k, samples - 1, (k + band) // 2) + 1
        yield k, low, high


def _squared_distances(X: Floats, Z: Floats, out: Floats, part: Floats) -> None:
    """||x - z||^2 over channels, row by row."""
    np.subtract(X[:, 0], Z[:, 0], out=out)
    np.multiply(out, out, out=out)
    for channel in range(1, X.shape[1]):
        np.subtract(X[:, channel], Z[:, channel], out=part)
        np.multiply(part, part, out=part)
        out += part
