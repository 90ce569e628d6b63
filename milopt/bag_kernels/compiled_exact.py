"""Compiled exact counts of many pairs of bags, if an exact count is no more expensive than an estimate.

There are two exact methods. The cost of the sweep is known in advance; for the recursion, only a lower bound on the
cost is known. The sweep runs first if its cost is at most this bound, otherwise after the recursion has exceeded its
budget. A scan of the sweep visits every point once, and so does a draw of an estimate. An estimate with a guarantee
needs about |U| / k times its minimum number of draws (see `estimators.min_draws`; U is the universe of the draws, and k
the count). k is at most the number of boxes.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Codes, Floats, Index, Words
from milopt.bag_kernels.compiled_hypervolume import count_by_recursion, min_volume_count
from milopt.bag_kernels.compiled_sweep import count_by_sweep, count_scans
from milopt.bag_kernels.compiled_volumes import fill_running_sums, log_universe_volumes
from milopt.jit import njit_inner, njit_threaded


@njit_inner
def count_pair(
    P: Codes,
    Q: Codes,
    alone: bool,
    s: Codes,
    logs: Floats,
    budget: float,
    max_scans: float,
    log_box_count: float,
    stop: Words,
) -> float:
    """Return log k for one pair of bags with the count k, or NaN if both methods are too expensive or `stop` is set."""
    n, m = P.shape[0], Q.shape[0]
    points = P if alone else np.concatenate((P, Q))
    first = np.ones(points.shape[0], dtype=np.bool_)
    second = np.ones(points.shape[0], dtype=np.bool_)
    if not alone:
        first[n:] = False
        second[:n] = False
    sizes = np.empty(s.size, dtype=np.intp)
    # |U| / k is at most n m, so an estimate never needs more than n m times its minimum number of draws.
    needed = count_scans(points, max_scans * n * m, sizes)
    least = min_volume_count(n, m, alone)
    if needed <= max_scans and needed * points.shape[0] <= least:
        return count_by_sweep(points, first, second, s, logs, sizes, stop)
    log_count = count_by_recursion(P, Q, alone, s, logs, budget, stop)
    if not np.isnan(log_count) or np.isinf(needed):
        return log_count
    if needed > max_scans:
        volumes = log_universe_volumes(P, Q, alone, s, logs)
        max_scans *= np.exp(fill_running_sums(volumes, np.empty(volumes.size)) - log_box_count)
    return count_by_sweep(points, first, second, s, logs, sizes, stop) if needed <= max_scans else np.nan


@njit_threaded
def count_pairs_exactly(
    rows: Codes,
    offsets: Index,
    pairs: Index,
    s: Codes,
    logs: Floats,
    budget: float,
    max_scans: Floats,
    log_box_count: float,
    stop: Words,
    results: Floats,
) -> None:
    """Write log k of each pair (i, j) of bags to `results`, or NaN if an exact count is too expensive.

    Bag i has the rows offsets[i] to offsets[i + 1] - 1. The recursion may compute `budget` volumes per pair. The sweep
    may take `max_scans[r]` scans for pair r, or `max_scans[r]` |U| / (number of boxes) scans if this number is larger.
    The function returns early if another thread sets `stop`.
    """
    for r in range(pairs.shape[0]):
        if stop[0] > 0:
            return
        i, j = pairs[r]
        P = rows[offsets[i] : offsets[i + 1]]
        Q = rows[offsets[j] : offsets[j + 1]]
        results[r] = count_pair(P, Q, i == j, s, logs, budget, max_scans[r], log_box_count, stop)
