"""Compiled coverage estimates of many pairs of bags; `estimators.estimate_by_coverage` is the pure Python reference.

P and Q are the points of two bags; `alone` means that both bags are the same bag. s[k] is the largest code of
coordinate k, logs[v] = log v, U is the universe of the draws, and W^ is the estimate of the count (see `estimators`).

Points are stored in columns, one row per coordinate, because a draw scans one coordinate of all remaining points.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.arrays import Codes, Floats, Index, Words
from milopt.bag_kernels.compiled_stream import next_integer_below, next_unit_float
from milopt.bag_kernels.compiled_volumes import fill_running_sums, log_volumes
from milopt.bag_kernels.estimators import DRAWS_PER_TEST
from milopt.jit import njit_inner, njit_threaded


@njit_inner
def first_index_exceeding(sums: Floats, target: float) -> int:
    """Return the first index whose running sum `sums[i]` exceeds `target`, or the last index if none does."""
    low, high = 0, sums.size - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit_inner
def order_by_spread(P: Codes, Q: Codes, s: Codes) -> Index:
    """Return the coordinates in which the points of P and Q differ, by decreasing spread (range / number of codes)."""
    d = P.shape[0]
    spread = np.empty(d)
    differing = 0
    for k in range(d):
        low, high = P[k, 0], P[k, 0]
        for i in range(P.shape[1]):
            low, high = min(low, P[k, i]), max(high, P[k, i])
        for j in range(Q.shape[1]):
            low, high = min(low, Q[k, j]), max(high, Q[k, j])
        spread[k] = -(high - low) / (s[k] + 1.0)
        differing += high > low
    return np.argsort(spread, kind="mergesort")[:differing]


@njit_inner
def filter_interval(values: Codes, low: int, high: int, left: Index, count: int, whole: bool) -> int:
    """Keep the remaining points whose value lies in [low, high], and return the number of points that are kept.

    The first `count` entries of `left` are the indices of the remaining points; `left` is changed in place. If `whole`
    is True, `left` is not read: all points from 0 to count - 1 remain.
    """
    new = 0
    for r in range(count):
        i = r if whole else left[r]
        left[new] = i
        new += low <= values[i] <= high
    return new


@njit_inner
def draw_coverage(
    P: Codes,
    Q: Codes,
    s: Codes,
    order: Index,
    i: int,
    j: int,
    alone: bool,
    left: Index,
    right: Index,
    state: Words,
) -> float:
    """Draw a box b around p_i and q_j, and return 1 / (|P cap b| |Q cap b|).

    The box is drawn coordinate by coordinate in the given `order`, and only until it excludes all pairs of points but
    one. If `alone` (Q is P), |Q cap b| is replaced by 1. `left` and `right` are work arrays.
    """
    n, m = P.shape[1], 1 if alone else Q.shape[1]
    for r in range(order.size):
        if n == 1 and m == 1:
            break
        k = order[r]
        a, b = P[k, i], Q[k, j]
        high = max(a, b)
        low = next_integer_below(state, min(a, b) + 1)
        high += next_integer_below(state, s[k] - high + 1)
        n = filter_interval(P[k], low, high, left, n, r == 0)
        if not alone:
            m = filter_interval(Q[k], low, high, right, m, r == 0)
    return float(1.0 / (n * m))


@njit_inner
def estimate_pair(
    P: Codes,
    Q: Codes,
    alone: bool,
    s: Codes,
    logs: Floats,
    seed: np.uint64,
    limit: float,
    epsilon: float,
    z: float,
    stop: Words,
) -> tuple[float, int, float]:
    """Estimate the count of one pair of bags: return (log W^, number of draws, log |U|).

    If `limit` is positive, the guaranteed rule stops when the sum of the draws reaches `limit`. Otherwise the fast rule
    stops by a normal approximation with the quantile `z`. log W^ is NaN if another thread sets `stop`.
    """
    n, m = P.shape[1], Q.shape[1]
    volumes = log_volumes(P, Q, s, logs)
    if alone:
        volumes = volumes[:: n + 1].copy()
    sums = np.empty(volumes.size)
    universe = fill_running_sums(volumes, sums)
    order = order_by_spread(P, Q, s)
    left, right = np.empty(n, dtype=np.intp), np.empty(m, dtype=np.intp)
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    total, squares, draws = 0.0, 0.0, 0
    while stop[0] == 0:
        place = first_index_exceeding(sums, next_unit_float(state) * sums[-1])
        i, j = (place, place) if alone else (place // m, place % m)
        value = draw_coverage(P, Q, s, order, i, j, alone, left, right, state)
        total += value
        squares += value * value
        draws += 1
        if limit > 0:
            if total >= limit:
                return float(universe + np.log(limit / draws)), draws, universe
        elif draws % DRAWS_PER_TEST == 0:
            mean = total / draws
            variance = max(0.0, squares / draws - mean * mean)
            if z * np.sqrt(variance / draws) <= epsilon * mean:
                return float(universe + np.log(mean)), draws, universe
    return np.nan, draws, universe


@njit_threaded
def estimate_pairs_by_coverage(
    columns: Codes,
    offsets: Index,
    pairs: Index,
    seeds: npt.NDArray[np.uint64],
    s: Codes,
    logs: Floats,
    limit: float,
    epsilon: float,
    z: float,
    stop: Words,
    results: Floats,
) -> None:
    """Write (log W^, draws, log |U|) of each pair (i, j) of bags to `results`.

    Bag i has the columns offsets[i] to offsets[i + 1] - 1. The function returns early if another thread sets `stop`.
    """
    for r in range(pairs.shape[0]):
        if stop[0] > 0:
            return
        i, j = pairs[r]
        P = np.ascontiguousarray(columns[:, offsets[i] : offsets[i + 1]])
        Q = P if i == j else np.ascontiguousarray(columns[:, offsets[j] : offsets[j + 1]])
        log_count, draws, universe = estimate_pair(P, Q, i == j, s, logs, seeds[r], limit, epsilon, z, stop)
        results[r, 0], results[r, 1], results[r, 2] = log_count, draws, universe
