"""Methods to compute the Gram matrix of the box-counting kernel: `python benchmarks/box_gram.py [DATA] [--share S]`.

eps = .1, delta = .01, 100 uniform bins; all methods in compiled code, with one thread, on the same pairs of bags.
The self-adjusting algorithm takes a minute on Musk1 and an hour on Musk2: `--share .1` measures a tenth of the pairs,
evenly spread over their cost. The claims: guaranteed sampling is at least 8 times faster than the self-adjusting
algorithm, the fast rule at least 150 times, and the whole Gram of Musk1 with a guarantee takes less than 20 s on two
processors.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from timing import single_thread, table, time_call

from milopt import load_data
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.coded_bags import CodedBags, code_bags
from milopt.bag_kernels.count_cache import clear_count_cache
from milopt.bag_kernels.pair_counts import CountingSettings, count_pairs

EPSILON, DELTA = 0.1, 0.01
WAYS = (
    ("self-adjusting (paper)", "self-adjusting", 0),
    ("guaranteed, sampling only", "guaranteed", 0),
    ("fast, sampling only", "fast", 0),
    ("guaranteed, exact where cheap", "guaranteed", None),
    ("fast, exact where cheap", "fast", None),
)


def some_pairs(bags: CodedBags, share: float) -> np.ndarray:
    """Return a fraction of the pairs of bags, evenly spread over their cost."""
    i, j = np.triu_indices(len(bags.points))
    sizes = np.array([len(points) for points in bags.points])
    order = np.argsort(sizes[i] * sizes[j], kind="stable")
    step = max(1, round(1 / share))
    chosen = order[step // 2 :: step]
    return np.stack([i[chosen], j[chosen]], axis=1)


def main() -> None:
    """Print the table, then the time of the whole Gram matrix with two threads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="musk1")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--without-paper", action="store_true")
    arguments = parser.parse_args()
    single_thread()
    bags = load_data(arguments.data).bags
    kernel = BoxCounting(epsilon=EPSILON, delta=DELTA).fitted_to(bags)
    assert kernel.grid is not None
    points, s = code_bags(kernel.grid, bags), kernel.grid.s
    pairs = some_pairs(points, arguments.share)
    ways = WAYS[1:] if arguments.without_paper else WAYS
    small = np.array([[0, 1]])
    exact = count_pairs(points, pairs, s, CountingSettings(EPSILON, DELTA, 10**7, "fast", 0), 1)
    rows = []
    for name, rule, exact_below in ways:
        how = BoxCounting(EPSILON, DELTA, exact_below, rule=rule).counting_settings
        count_pairs(points, small, s, how, 1)  # compile, or load from the cache
        seconds, counts = time_call(count_pairs, points, pairs, s, how, 1)
        known = exact[:, 1] == 0
        errors = np.abs(np.expm1(counts[known, 0] - exact[known, 0]))
        rows.append((name, seconds, float(counts[:, 1].mean()), float(np.mean(counts[:, 1] == 0)), float(errors.max())))
    base = rows[0][1]
    print(f"{arguments.data}: {len(pairs)} of {len(points.points) * (len(points.points) + 1) // 2} pairs of bags")
    heads = ("way", "seconds", "times faster", "mean draws", "exact share", "worst error")
    table(heads, [(n, t, base / t, draws, share, error) for n, t, draws, share, error in rows])
    for exact_below in (0, None):
        clear_count_cache()
        whole = BoxCounting(epsilon=EPSILON, delta=DELTA, exact_below=exact_below, jobs=2).fitted_to(bags)
        began = time.perf_counter()
        whole.log(bags, bags)
        kind = "exact where cheap" if exact_below is None else "sampling only"
        print(f"whole Gram, guaranteed, {kind}, 2 threads: {time.perf_counter() - began:.2f} s on the clock")


if __name__ == "__main__":
    main()
