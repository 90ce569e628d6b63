"""Compiled exact counts of many pairs of bags by the way that costs least, where one costs no more than draws would.

The sweep knows its cost, the recursion only the least that it takes: so the sweep goes first where it is below that
least, and otherwise last. A scan of the sweep looks at every point once, and so does a draw, of which an estimate with
a guarantee takes |U| / k times the number that ends it; k is at most the number of boxes.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Floats, Index
from milopt.bag_kernels.compiled_hypervolume import counted, first_level
from milopt.bag_kernels.compiled_stream import State
from milopt.bag_kernels.compiled_sweep import scans, swept
from milopt.bag_kernels.compiled_volumes import running_sums, universe_volumes
from milopt.bag_kernels.estimators import Codes
from milopt.compiled import njit_inner, njit_threaded


@njit_inner
def exactly(
    P: Codes,
    Q: Codes,
    alone: bool,
    s: Codes,
    logs: Floats,
    budget: float,
    most_scans: float,
    log_boxes: float,
    stop: State,
) -> float:
    """log k, or NaN where every way costs too much."""
    n, m = P.shape[0], Q.shape[0]
    points = P if alone else np.concatenate((P, Q))
    first = np.ones(points.shape[0], dtype=np.bool_)
    second = np.ones(points.shape[0], dtype=np.bool_)
    if not alone:
        first[n:] = False
        second[:n] = False
    sizes = np.empty(s.size, dtype=np.intp)
    # No more than n m times as many draws as end an estimate, whatever |U| / k is.
    needed = scans(points, most_scans * n * m, sizes)
    least = first_level(n, m, alone)
    if needed <= most_scans and needed * points.shape[0] <= least:
        return swept(points, first, second, s, logs, sizes, stop)
    found = counted(P, Q, alone, s, logs, budget, stop)
    if not np.isnan(found) or np.isinf(needed):
        return found
    if needed > most_scans:
        volumes = universe_volumes(P, Q, alone, s, logs)
        most_scans *= np.exp(running_sums(volumes, np.empty(volumes.size)) - log_boxes)
    return swept(points, first, second, s, logs, sizes, stop) if needed <= most_scans else np.nan


@njit_threaded
def exact_pairs(
    rows: Codes,
    offsets: Index,
    pairs: Index,
    s: Codes,
    logs: Floats,
    budget: float,
    most_scans: Floats,
    log_boxes: float,
    stop: State,
    found: Floats,
) -> None:
    """Fill in log k of each pair (i, j) of bags; bag i is rows offsets[i] to offsets[i + 1].

    The recursion may compute `budget` volumes, the sweep take so many scans a pair, and |U| over the number of boxes
    times as many where this is more. It ends at once when somebody sets `stop`.
    """
    for r in range(pairs.shape[0]):
        if stop[0] > 0:
            return
        i, j = pairs[r]
        P = rows[offsets[i] : offsets[i + 1]]
        Q = rows[offsets[j] : offsets[j + 1]]
        found[r] = exactly(P, Q, i == j, s, logs, budget, most_scans[r], log_boxes, stop)
