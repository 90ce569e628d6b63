"""Compiled exact counts by a sweep over the coordinates, for few coordinates.

The pure Python reference is `exact.count_by_sweep`.

For every coordinate but the last, intervals are grouped by the lowest and the highest value of a point that they
contain. For the points that remain, one scan along the last coordinate counts the intervals of this coordinate. The
cost is therefore known in advance: it is the product of v_k (v_k + 1) / 2 scans over all coordinates k but the last,
where v_k is the number of distinct values of the points. The last coordinate is the one with most distinct values.
Coordinates with a single value take no scan. Points are stored in rows.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Codes, Floats, Index, Mask, Words
from milopt.jit import njit_inner


@njit_inner
def fill_distinct_values(points: Codes, k: int, left: Index, count: int, values: Codes) -> int:
    """Write the sorted distinct values of coordinate k of the points left[:count] to `values`; return how many.

    `left` are indices of points.
    """
    size = 0
    for r in range(count):
        v = points[left[r], k]
        place = size
        while place > 0 and values[place - 1] > v:
            place -= 1
        if place > 0 and values[place - 1] == v:
            continue
        for t in range(size, place, -1):
            values[t] = values[t - 1]
        values[place] = v
        size += 1
    return size


@njit_inner
def count_scans(points: Codes, max_scans: float, sizes: Index) -> float:
    """Return the number of scans of a sweep, or infinity if it exceeds `max_scans`.

    The number v_k of distinct values of each coordinate k is written to sizes[k]. If the result is infinity, only some
    of these numbers are written.
    """
    count = points.shape[0]
    every, values = np.arange(count), np.empty(count, dtype=np.int32)
    total, largest = 1.0, 1.0
    for k in range(points.shape[1]):
        sizes[k] = fill_distinct_values(points, k, every, count, values)
        intervals = 0.5 * sizes[k] * (sizes[k] + 1)
        total *= intervals
        largest = max(largest, intervals)
        if total > max_scans * largest:
            return np.inf
    return total / largest


@njit_inner
def count_intervals(points: Codes, first: Mask, second: Mask, k: int, top: int, left: Index, count: int) -> float:
    """Return the number of intervals of {0..top} that contain the coordinate k of a point of each of the two bags.

    `first` and `second` mark the points of each bag. The remaining points are left[:count], sorted by increasing value
    of coordinate k.
    """
    total, next_first, next_second = 0.0, top + 1, top + 1
    for r in range(count - 1, -1, -1):
        i = left[r]
        v = points[i, k]
        next_first = v if first[i] else next_first
        next_second = v if second[i] else next_second
        before = points[left[r - 1], k] if r > 0 else -1
        total += float(v - before) * (top + 1 - max(next_first, next_second))
    return total


@njit_inner
def count_by_sweep(
    points: Codes, first: Mask, second: Mask, s: Codes, logs: Floats, sizes: Index, stop: Words
) -> float:
    """Return log k, the logarithm of the count, by a sweep, or NaN if another thread sets `stop`.

    `first` and `second` mark the points of each bag. `sizes` are the numbers of distinct values from `count_scans`.
    """
    count = points.shape[0]
    log_scale, moving = 0.0, 0
    order = np.argsort(sizes, kind="mergesort")
    for k in range(s.size):
        if sizes[k] == 1:
            log_scale += logs[points[0, k] + 1] + logs[s[k] - points[0, k] + 1]
        else:
            # Count fractions of all intervals, so that products do not overflow.
            log_scale += np.log(0.5 * (s[k] + 1.0) * (s[k] + 2.0))
            moving += 1
    if moving == 0:
        return log_scale
    order = order[s.size - moving :]
    last = order[moving - 1]
    whole = 0.5 * (s[last] + 1.0) * (s[last] + 2.0)
    left = np.empty((moving, count), dtype=np.intp)
    values = np.empty((moving, count), dtype=np.int32)
    left[0] = np.argsort(points[:, last], kind="mergesort")
    counts, number = np.empty(moving, dtype=np.intp), np.empty(moving, dtype=np.intp)
    low, high = np.zeros(moving, dtype=np.intp), np.zeros(moving, dtype=np.intp)
    share = np.ones(moving)
    counts[0] = count
    depth, total = 0, 0.0
    low[0], high[0] = 0, -1
    number[0] = fill_distinct_values(points, order[0], left[0], count, values[0])
    while depth >= 0 and stop[0] == 0:
        if depth == moving - 1:
            intervals = count_intervals(points, first, second, last, s[last], left[depth], counts[depth])
            total += share[depth] * intervals / whole
            depth -= 1
            continue
        high[depth] += 1
        if high[depth] == number[depth]:
            low[depth] += 1
            high[depth] = low[depth]
            if low[depth] == number[depth]:
                depth -= 1
                continue
        k, a, b = order[depth], low[depth], high[depth]
        start, end = values[depth, a], values[depth, b]
        before = values[depth, a - 1] if a > 0 else -1
        after = values[depth, b + 1] if b + 1 < number[depth] else s[k] + 1
        new, has_first, has_second = 0, False, False
        for r in range(counts[depth]):
            i = left[depth, r]
            if start <= points[i, k] <= end:
                left[depth + 1, new] = i
                new += 1
                has_first |= first[i]
                has_second |= second[i]
        if not (has_first and has_second):
            continue
        share[depth + 1] = (
            share[depth] * float(start - before) * float(after - end) / (0.5 * (s[k] + 1.0) * (s[k] + 2.0))
        )
        depth += 1
        counts[depth] = new
        if depth < moving - 1:
            low[depth], high[depth] = 0, -1
            number[depth] = fill_distinct_values(points, order[depth], left[depth], new, values[depth])
    return log_scale + np.log(total) if stop[0] == 0 else np.nan
