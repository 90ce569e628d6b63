"""Compiled exact counts by a recursion over volumes, for few points.

The pure Python reference is `exact.count_by_recursion`.

P = {p_i} and Q = {q_j} are the points of two bags, and k is the number of boxes that meet both bags. |B(S)|, the volume
of S, is the number of boxes that contain all points of the set S. U(S, X) is the number of these boxes that also
contain at least one point of X = {x_r}. The sign u is the union of sets.

    k = sum_{i, j} ( |B({p_i, q_j})| - U({p_i, q_j}, {p_1..p_{i-1}} u {q_1..q_{j-1}}) )
    U(S, X) = sum_r ( |B(S u {x_r})| - U(S u {x_r}, {x_1..x_{r-1}}) )

The x_r are sorted by decreasing |B(S u {x_r})|, so that a redundant point comes after the point that makes it
redundant. Volumes are relative to the largest volume of the pair, which is at most k. Volumes below `NEGLIGIBLE_VOLUME`
are omitted; their sum is below rounding errors. Points are stored in rows.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Codes, Floats, Index, Words
from milopt.bag_kernels.compiled_volumes import log_universe_volumes
from milopt.jit import njit_inner

NEGLIGIBLE_VOLUME = 1e-18
"""Relative volume below which a box is ignored."""


@njit_inner
def sort_candidates(
    depth: int,
    count: int,
    points: Codes,
    low: Codes,
    high: Codes,
    s: Codes,
    logs: Floats,
    scale: float,
    others: Index,
    volumes: Floats,
) -> int:
    """Sort candidate points x by decreasing volume |B(S u {x})|, where S has the range [low[depth], high[depth]].

    The candidates are the first `count` entries of others[depth - 1]. The sorted points are written to others[depth],
    and their volumes to volumes[depth]; points with a negligible volume are omitted. Return the number of sorted
    points, or -1 if a candidate lies inside the range of S: then every box that contains S contains this candidate.
    """
    size = 0
    for t in range(count):
        y = others[depth - 1, t]
        total = -scale
        inside = True
        for k in range(s.size):
            v, a, b = points[y, k], low[depth, k], high[depth, k]
            inside &= a <= v <= b
            total += logs[min(a, v) + 1] + logs[s[k] - max(b, v) + 1]
        if inside:
            return -1
        volume = np.exp(total)
        if volume < NEGLIGIBLE_VOLUME:
            continue
        place = size
        while place > 0 and volumes[depth, place - 1] < volume:
            volumes[depth, place], others[depth, place] = volumes[depth, place - 1], others[depth, place - 1]
            place -= 1
        volumes[depth, place], others[depth, place] = volume, y
        size += 1
    return size


@njit_inner
def union_volume(
    size: int,
    points: Codes,
    low: Codes,
    high: Codes,
    s: Codes,
    logs: Floats,
    scale: float,
    others: Index,
    volumes: Floats,
    turn: Index,
    sizes: Index,
    work: Floats,
    stop: Words,
) -> float:
    """Return U(S, X) for S with the range [low[1], high[1]], and X the first `size` points of others[1].

    The recursion is depth first. A set S u {x, x', ...} at depth t adds its volume with the sign (-1)^(t - 1). The
    budget work[0] decreases by the number of volumes; if it becomes negative or `stop` is set, the result is invalid.
    """
    total, sign, depth = 0.0, 1.0, 1
    turn[1], sizes[1] = 0, size
    while depth > 0:
        r = turn[depth]
        if r == sizes[depth] or work[0] < 0 or stop[0] > 0:
            depth -= 1
            sign = -sign
            continue
        turn[depth] = r + 1
        work[0] -= r + 1
        x = others[depth, r]
        for k in range(s.size):
            low[depth + 1, k] = min(low[depth, k], points[x, k])
            high[depth + 1, k] = max(high[depth, k], points[x, k])
        deeper = sort_candidates(depth + 1, r, points, low, high, s, logs, scale, others, volumes)
        if deeper < 0:
            continue
        total += sign * volumes[depth, r]
        if deeper > 0:
            depth += 1
            sign = -sign
            turn[depth], sizes[depth] = 0, deeper
    return total


@njit_inner
def min_volume_count(n: int, m: int, alone: bool) -> float:
    """Return an approximate lower bound on the number of volumes of the recursion, for bags of n and m points.

    `alone` means that both are the same bag.
    """
    return 0.5 * n * n * n if alone else 0.5 * n * m * (n + m)


@njit_inner
def count_by_recursion(P: Codes, Q: Codes, alone: bool, s: Codes, logs: Floats, budget: float, stop: Words) -> float:
    """Return log k by the recursion, or NaN if it needs more than `budget` volumes or `stop` is set."""
    n, d = P.shape[0], s.size
    if min_volume_count(n, Q.shape[0], alone) > budget:
        return np.nan
    points = P if alone else np.concatenate((P, Q))
    deep = points.shape[0] + 2
    low, high = np.empty((deep, d), dtype=np.int32), np.empty((deep, d), dtype=np.int32)
    others, volumes = np.empty((deep, deep), dtype=np.intp), np.empty((deep, deep))
    turn, sizes = np.empty(deep, dtype=np.intp), np.empty(deep, dtype=np.intp)
    work = np.array([budget])
    firsts = log_universe_volumes(P, Q, alone, s, logs).reshape(n, -1)
    scale = firsts.max()
    result = 0.0
    for i in range(n):
        for j in range(firsts.shape[1]):
            own = np.exp(firsts[i, j] - scale)
            if own < NEGLIGIBLE_VOLUME:
                continue
            b = i if alone else j
            for k in range(d):
                low[1, k], high[1, k] = min(P[i, k], Q[b, k]), max(P[i, k], Q[b, k])
            for t in range(i):
                others[0, t] = t
            for t in range(j):
                others[0, i + t] = n + t
            work[0] -= i + j + 1
            size = sort_candidates(1, i + j, points, low, high, s, logs, scale, others, volumes)
            if size < 0:
                continue
            result += own
            if size > 0:
                result -= union_volume(
                    size, points, low, high, s, logs, scale, others, volumes, turn, sizes, work, stop
                )
            if work[0] < 0 or stop[0] > 0:
                return np.nan
    return float(scale + np.log(result))
