"""Compiled Karp-Luby and self-adjusting estimates of many pairs of bags; the plain references are in `estimators`.

They are the paper's, for comparison: whole boxes are drawn, and pairs of points are looked at one by one. Points lie in
rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index
from milopt.bag_kernels.compiled_coverage import place_of
from milopt.bag_kernels.compiled_stream import State, below, unit
from milopt.bag_kernels.compiled_volumes import running_sums, universe_volumes
from milopt.bag_kernels.estimators import Codes
from milopt.compiled import njit_inner, njit_threaded


@njit_inner
def drawn_box(p: Codes, q: Codes, s: Codes, low: Codes, high: Codes, state: State) -> None:
    """A whole box that holds p and q."""
    for k in range(s.size):
        a, b = min(p[k], q[k]), max(p[k], q[k])
        low[k] = below(state, a + 1)
        high[k] = b + below(state, s[k] - b + 1)


@njit_inner
def holds(low: Codes, high: Codes, point: Codes) -> bool:
    """Whether a point lies in a box."""
    for k in range(point.size):  # noqa: SIM110  # numba knows no generators
        if point[k] < low[k] or point[k] > high[k]:
            return False
    return True


@njit_inner
def is_first(points: Codes, place: int, low: Codes, high: Codes) -> bool:
    """Whether no point before this one lies in a box."""
    for i in range(place):  # noqa: SIM110  # numba knows no generators
        if holds(low, high, points[i]):
            return False
    return True


@njit_inner
def prepared(P: Codes, Q: Codes, s: Codes, logs: Floats) -> tuple[Floats, float]:
    """Running sums of the volumes of all pairs of points, and log |U|."""
    volumes = universe_volumes(P, Q, False, s, logs)
    sums = np.empty(volumes.size)
    return sums, running_sums(volumes, sums)


@njit_threaded
def karp_luby_pairs(
    rows: Codes,
    offsets: Index,
    pairs: Index,
    seeds: npt.NDArray[np.uint64],
    s: Codes,
    logs: Floats,
    draws: Index,
    stop: State,
    found: Floats,
) -> None:
    """Fill in (log W^, draws, log |U|) of each pair (i, j) of bags, with so many draws; `stop` ends it at once."""
    low, high = np.empty(s.size, dtype=np.int32), np.empty(s.size, dtype=np.int32)
    state = np.empty(1, dtype=np.uint64)
    for r in range(pairs.shape[0]):
        i, j = pairs[r]
        P, Q = rows[offsets[i] : offsets[i + 1]], rows[offsets[j] : offsets[j + 1]]
        sums, universe = prepared(P, Q, s, logs)
        state[0] = seeds[r]
        hits = 0
        for _ in range(draws[r]):
            if stop[0] > 0:
                return
            place = place_of(sums, unit(state) * sums[-1])
            a, b = place // Q.shape[0], place % Q.shape[0]
            drawn_box(P[a], Q[b], s, low, high, state)
            hits += is_first(P, a, low, high) and is_first(Q, b, low, high)
        found[r, 0], found[r, 1], found[r, 2] = universe + np.log(hits / draws[r]), draws[r], universe


@njit_threaded
def self_adjusting_pairs(
    rows: Codes,
    offsets: Index,
    pairs: Index,
    seeds: npt.NDArray[np.uint64],
    s: Codes,
    logs: Floats,
    draws: Index,
    stop: State,
    found: Floats,
) -> None:
    """The same by the self-adjusting algorithm, where `draws` are pairs of points looked at."""
    low, high = np.empty(s.size, dtype=np.int32), np.empty(s.size, dtype=np.int32)
    state = np.empty(1, dtype=np.uint64)
    for r in range(pairs.shape[0]):
        i, j = pairs[r]
        P, Q = rows[offsets[i] : offsets[i + 1]], rows[offsets[j] : offsets[j + 1]]
        n, m = P.shape[0], Q.shape[0]
        sums, universe = prepared(P, Q, s, logs)
        state[0] = seeds[r]
        steps, trials = 0, 0
        while steps < draws[r]:
            if stop[0] > 0:
                return
            place = place_of(sums, unit(state) * sums[-1])
            drawn_box(P[place // m], Q[place % m], s, low, high, state)
            while steps < draws[r]:
                steps += 1
                a, b = below(state, n), below(state, m)
                if holds(low, high, P[a]) and holds(low, high, Q[b]):
                    trials += 1
                    break
        found[r, 0], found[r, 1], found[r, 2] = universe + np.log(draws[r] / (n * m * trials)), draws[r], universe
