"""Compiled exact counts by a recursion over volumes, for few points; `exact.hypervolume` is the plain reference.

    k = sum_{i, j} |B(p_i, q_j)| - U({p_i, q_j}, {p_1..p_{i-1}} u {q_1..q_{j-1}})
    U(S, X) = sum_r |B(S u {x_r})| - U(S u {x_r}, {x_1..x_{r-1}})

with the x_r in order of falling |B(S u {x_r})|, so that a point that another makes needless comes after it. Volumes are
relative to the largest of a pair, which is at most k: those below `NOTHING` are left out, and what they could add is
below rounding. Points lie in rows.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Index
from milopt.bag_kernels.compiled_stream import State
from milopt.bag_kernels.compiled_volumes import universe_volumes
from milopt.bag_kernels.estimators import Codes
from milopt.compiled import njit_inner

NOTHING = 1e-18


@njit_inner
def limited(
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
    """Those of the first others one depth above that boxes around [low, high] can hold, largest volume first.

    -1 where one of them lies inside: then every box around holds it.
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
        if volume < NOTHING:
            continue
        place = size
        while place > 0 and volumes[depth, place - 1] < volume:
            volumes[depth, place], others[depth, place] = volumes[depth, place - 1], others[depth, place - 1]
            place -= 1
        volumes[depth, place], others[depth, place] = volume, y
        size += 1
    return size


@njit_inner
def union(
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
    stop: State,
) -> float:
    """U(S, X), where [low, high] of depth 1 is around S and X are the others there, `size` of them.

    Depth first: a set S u {x, x', ...} at depth t adds its volume with the sign of (-1)^(t - 1).
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
        deeper = limited(depth + 1, r, points, low, high, s, logs, scale, others, volumes)
        if deeper < 0:
            continue
        total += sign * volumes[depth, r]
        if deeper > 0:
            depth += 1
            sign = -sign
            turn[depth], sizes[depth] = 0, deeper
    return total


@njit_inner
def first_level(n: int, m: int, alone: bool) -> float:
    """About how many volumes the recursion computes at least."""
    return 0.5 * n * n * n if alone else 0.5 * n * m * (n + m)


@njit_inner
def counted(P: Codes, Q: Codes, alone: bool, s: Codes, logs: Floats, budget: float, stop: State) -> float:
    """log k; NaN where the budget of volumes is not enough."""
    n, d = P.shape[0], s.size
    if first_level(n, Q.shape[0], alone) > budget:
        return np.nan
    points = P if alone else np.concatenate((P, Q))
    deep = points.shape[0] + 2
    low, high = np.empty((deep, d), dtype=np.int32), np.empty((deep, d), dtype=np.int32)
    others, volumes = np.empty((deep, deep), dtype=np.intp), np.empty((deep, deep))
    turn, sizes = np.empty(deep, dtype=np.intp), np.empty(deep, dtype=np.intp)
    work = np.array([budget])
    firsts = universe_volumes(P, Q, alone, s, logs).reshape(n, -1)
    scale = firsts.max()
    result = 0.0
    for i in range(n):
        for j in range(firsts.shape[1]):
            own = np.exp(firsts[i, j] - scale)
            if own < NOTHING:
                continue
            b = i if alone else j
            for k in range(d):
                low[1, k], high[1, k] = min(P[i, k], Q[b, k]), max(P[i, k], Q[b, k])
            for t in range(i):
                others[0, t] = t
            for t in range(j):
                others[0, i + t] = n + t
            work[0] -= i + j + 1
            size = limited(1, i + j, points, low, high, s, logs, scale, others, volumes)
            if size < 0:
                continue
            result += own
            if size > 0:
                result -= union(size, points, low, high, s, logs, scale, others, volumes, turn, sizes, work, stop)
            if work[0] < 0 or stop[0] > 0:
                return np.nan
    return float(scale + np.log(result))
