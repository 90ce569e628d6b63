"""Compiled Karp-Luby and self-adjusting estimates of many pairs of bags; `estimators` has the pure Python references.

These are the estimators of the paper, for comparison: they draw whole boxes and test pairs of points one by one. Points
are stored in rows. s[k] is the largest code of coordinate k, logs[v] = log v, B(p, q) is the set of boxes that contain
p and q, U is the universe of the draws, and W^ is the estimate of the count (see `estimators`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.arrays import Codes, Floats, Index, Words
from milopt.bag_kernels.compiled_coverage import first_index_exceeding
from milopt.bag_kernels.compiled_stream import next_integer_below, next_unit_float
from milopt.bag_kernels.compiled_volumes import fill_running_sums, log_universe_volumes
from milopt.jit import njit_inner, njit_threaded


@njit_inner
def draw_box(p: Codes, q: Codes, s: Codes, low: Codes, high: Codes, state: Words) -> None:
    """Draw a random box that contains p and q, and write its corners to `low` and `high`."""
    for k in range(s.size):
        a, b = min(p[k], q[k]), max(p[k], q[k])
        low[k] = next_integer_below(state, a + 1)
        high[k] = b + next_integer_below(state, s[k] - b + 1)


@njit_inner
def box_contains(low: Codes, high: Codes, point: Codes) -> bool:
    """Return True if the point lies in the box [low, high]."""
    for k in range(point.size):  # noqa: SIM110  # numba does not support generators
        if point[k] < low[k] or point[k] > high[k]:
            return False
    return True


@njit_inner
def is_first_in_box(points: Codes, index: int, low: Codes, high: Codes) -> bool:
    """Return True if no point before points[index] lies in the box [low, high]."""
    for i in range(index):  # noqa: SIM110  # numba does not support generators
        if box_contains(low, high, points[i]):
            return False
    return True


@njit_inner
def pair_volume_sums(P: Codes, Q: Codes, s: Codes, logs: Floats) -> tuple[Floats, float]:
    """Return (sums, log |U|) with the running sums of |B(p, q)| over all pairs, divided by the largest |B(p, q)|."""
    volumes = log_universe_volumes(P, Q, False, s, logs)
    sums = np.empty(volumes.size)
    return sums, fill_running_sums(volumes, sums)


@njit_threaded
def estimate_pairs_by_karp_luby(
    rows: Codes,
    offsets: Index,
    pairs: Index,
    seeds: npt.NDArray[np.uint64],
    s: Codes,
    logs: Floats,
    draws: Index,
    stop: Words,
    results: Floats,
) -> None:
    """Write the Karp-Luby estimate (log W^, draws, log |U|) of each pair (i, j) of bags to `results`.

    draws[r] is the number of draws for pair r. The function returns early if another thread sets `stop`.
    """
    low, high = np.empty(s.size, dtype=np.int32), np.empty(s.size, dtype=np.int32)
    state = np.empty(1, dtype=np.uint64)
    for r in range(pairs.shape[0]):
        i, j = pairs[r]
        P, Q = rows[offsets[i] : offsets[i + 1]], rows[offsets[j] : offsets[j + 1]]
        sums, universe = pair_volume_sums(P, Q, s, logs)
        state[0] = seeds[r]
        hits = 0
        for _ in range(draws[r]):
            if stop[0] > 0:
                return
            place = first_index_exceeding(sums, next_unit_float(state) * sums[-1])
            a, b = place // Q.shape[0], place % Q.shape[0]
            draw_box(P[a], Q[b], s, low, high, state)
            hits += is_first_in_box(P, a, low, high) and is_first_in_box(Q, b, low, high)
        results[r, 0], results[r, 1], results[r, 2] = universe + np.log(hits / draws[r]), draws[r], universe


@njit_threaded
def estimate_pairs_by_self_adjusting(
    rows: Codes,
    offsets: Index,
    pairs: Index,
    seeds: npt.NDArray[np.uint64],
    s: Codes,
    logs: Floats,
    draws: Index,
    stop: Words,
    results: Floats,
) -> None:
    """Write the self-adjusting estimate (log W^, draws, log |U|) of each pair (i, j) of bags to `results`.

    draws[r] is the number of pairs of points to test for pair r. The function returns early if another thread sets
    `stop`.
    """
    low, high = np.empty(s.size, dtype=np.int32), np.empty(s.size, dtype=np.int32)
    state = np.empty(1, dtype=np.uint64)
    for r in range(pairs.shape[0]):
        i, j = pairs[r]
        P, Q = rows[offsets[i] : offsets[i + 1]], rows[offsets[j] : offsets[j + 1]]
        n, m = P.shape[0], Q.shape[0]
        sums, universe = pair_volume_sums(P, Q, s, logs)
        state[0] = seeds[r]
        steps, trials = 0, 0
        while steps < draws[r]:
            if stop[0] > 0:
                return
            place = first_index_exceeding(sums, next_unit_float(state) * sums[-1])
            draw_box(P[place // m], Q[place % m], s, low, high, state)
            while steps < draws[r]:
                steps += 1
                a, b = next_integer_below(state, n), next_integer_below(state, m)
                if box_contains(low, high, P[a]) and box_contains(low, high, Q[b]):
                    trials += 1
                    break
        results[r, 0], results[r, 1], results[r, 2] = universe + np.log(draws[r] / (n * m * trials)), draws[r], universe
