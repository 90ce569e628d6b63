"""Compiled coverage estimates of many pairs of bags; `estimators.coverage` is the plain reference.

Points lie in columns, coordinate by coordinate: a draw looks at one coordinate of all points that are left.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index
from milopt.bag_kernels.compiled_stream import State, below, unit
from milopt.bag_kernels.compiled_volumes import log_volumes, running_sums
from milopt.bag_kernels.estimators import FIRST_LOOK, Codes
from milopt.compiled import njit_inner, njit_threaded


@njit_inner
def place_of(sums: Floats, target: float) -> int:
    """The first place whose running sum exceeds the target."""
    low, high = 0, sums.size - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit_inner
def spread_order(P: Codes, Q: Codes, s: Codes) -> Index:
    """The coordinates in which the points differ, those where they spread widest first."""
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
def kept(values: Codes, low: int, high: int, left: Index, count: int, whole: bool) -> int:
    """Keep the places of those of the points left whose value lies in an interval, and give their number."""
    new = 0
    for r in range(count):
        i = r if whole else left[r]
        left[new] = i
        new += low <= values[i] <= high
    return new


@njit_inner
def draw(
    P: Codes,
    Q: Codes,
    s: Codes,
    order: Index,
    i: int,
    j: int,
    alone: bool,
    left: Index,
    right: Index,
    state: State,
) -> float:
    """1 / (|P cap b| |Q cap b|), drawn as far as it matters."""
    n, m = P.shape[1], 1 if alone else Q.shape[1]
    for r in range(order.size):
        if n == 1 and m == 1:
            break
        k = order[r]
        a, b = P[k, i], Q[k, j]
        high = max(a, b)
        low = below(state, min(a, b) + 1)
        high += below(state, s[k] - high + 1)
        n = kept(P[k], low, high, left, n, r == 0)
        if not alone:
            m = kept(Q[k], low, high, right, m, r == 0)
    return float(1.0 / (n * m))


@njit_inner
def estimated(
    P: Codes,
    Q: Codes,
    alone: bool,
    s: Codes,
    logs: Floats,
    seed: np.uint64,
    limit: float,
    epsilon: float,
    z: float,
    stop: State,
) -> tuple[float, int, float]:
    """(log W^, draws, log |U|); by the guaranteed rule where `limit` is positive, by the fast one otherwise."""
    n, m = P.shape[1], Q.shape[1]
    volumes = log_volumes(P, Q, s, logs)
    if alone:
        volumes = volumes[:: n + 1].copy()
    sums = np.empty(volumes.size)
    universe = running_sums(volumes, sums)
    order = spread_order(P, Q, s)
    left, right = np.empty(n, dtype=np.intp), np.empty(m, dtype=np.intp)
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    total, squares, draws = 0.0, 0.0, 0
    while stop[0] == 0:
        place = place_of(sums, unit(state) * sums[-1])
        i, j = (place, place) if alone else (place // m, place % m)
        value = draw(P, Q, s, order, i, j, alone, left, right, state)
        total += value
        squares += value * value
        draws += 1
        if limit > 0:
            if total >= limit:
                return float(universe + np.log(limit / draws)), draws, universe
        elif draws % FIRST_LOOK == 0:
            mean = total / draws
            variance = max(0.0, squares / draws - mean * mean)
            if z * np.sqrt(variance / draws) <= epsilon * mean:
                return float(universe + np.log(mean)), draws, universe
    return np.nan, draws, universe


@njit_threaded
def coverage_pairs(
    columns: Codes,
    offsets: Index,
    pairs: Index,
    seeds: npt.NDArray[np.uint64],
    s: Codes,
    logs: Floats,
    limit: float,
    epsilon: float,
    z: float,
    stop: State,
    found: Floats,
) -> None:
    """Fill in (log W^, draws, log |U|) of each pair (i, j) of bags; bag i is columns offsets[i] to offsets[i + 1].

    It ends at once when somebody sets `stop`.
    """
    for r in range(pairs.shape[0]):
        if stop[0] > 0:
            return
        i, j = pairs[r]
        P = np.ascontiguousarray(columns[:, offsets[i] : offsets[i + 1]])
        Q = P if i == j else np.ascontiguousarray(columns[:, offsets[j] : offsets[j + 1]])
        log_count, draws, universe = estimated(P, Q, i == j, s, logs, seeds[r], limit, epsilon, z, stop)
        found[r, 0], found[r, 1], found[r, 2] = log_count, draws, universe
