"""Growth of the cost of one box count with the number of features and of instances: `python benchmarks/box_growth.py`.

Pairs of bags of uniform points on 100 bins; time per pair, and the exponent of growth, fitted by least squares to
logarithms.
"""

from __future__ import annotations

import numpy as np
from timing import single_thread, table, time_call

from milopt.bag_kernels.coded_bags import CodedBags, as_words
from milopt.bag_kernels.pair_counts import CountingSettings, count_pairs

BINS = 100
WAYS = (("exact", "guaranteed", 10**9), ("guaranteed", "guaranteed", 0), ("fast", "fast", 0))
DIMENSIONS = (20, 40, 80, 160, 320)
SIZES = (4, 8, 16, 32, 64)


def seconds(dimension: int, size: int, rule: str, exact_below: int, pairs: int = 12) -> float:
    """Return the processor seconds of one pair."""
    rng = np.random.default_rng([dimension, size])
    points = tuple(rng.integers(0, BINS, (size, dimension), dtype=np.int32) for _ in range(2 * pairs))
    bags = CodedBags(points, as_words(range(2 * pairs)))
    which = np.arange(2 * pairs).reshape(pairs, 2)
    s = np.full(dimension, BINS - 1, dtype=np.int32)
    how = CountingSettings(0.1, 0.01, exact_below, rule, 0)
    return min(time_call(count_pairs, bags, which, s, how, 1)[0] for _ in range(3)) / pairs


def main() -> None:
    """Print both tables."""
    single_thread()
    for title, values, at in (
        ("features d, bags of 8 points", DIMENSIONS, lambda v: (v, 8)),
        ("points n a bag, 80 features", SIZES, lambda v: (80, v)),
    ):
        rows = []
        for name, rule, exact_below in WAYS:
            seconds(*at(values[0]), rule, exact_below, 1)  # compile, or load from the cache
            times = [seconds(*at(v), rule, exact_below) for v in values]
            power = float(np.polyfit(np.log(values), np.log(times), 1)[0])
            rows.append((name, *(1e3 * t for t in times), power))
        print(f"milliseconds per pair by {title}")
        table(("way", *map(str, values), "power"), rows, first=14, least=11)


if __name__ == "__main__":
    main()
