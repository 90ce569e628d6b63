"""Counts of many pairs of bags, exact if that is cheap and estimated otherwise, on several threads.

Each pair has its own random stream, so its count depends neither on the other pairs nor on the number of threads.
Ctrl-C and the time limit of the call stop the counting; the counts are then discarded.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.arrays import Codes, Floats, Index
from milopt.bag_kernels.coded_bags import CodedBags
from milopt.bag_kernels.estimators import (
    karp_luby_draws,
    min_draws,
    normal_quantile,
    self_adjusting_pair_count,
    stopping_sum,
)
from milopt.bag_kernels.stream import pair_seeds
from milopt.deadline import seconds_left
from milopt.errors import TimeLimitError
from milopt.interrupt import CallEnd, run_interruptible

VOLUMES_PER_DRAW = 6
"""Number of volumes (of an exact count) that can be computed in about the time of one draw (of an estimate)."""
PARTS_PER_THREAD = 16
"""Number of parts into which the pairs are divided, per thread."""


@dataclass(frozen=True)
class CountingSettings:
    """Settings for counting pairs of bags.

    A pair is counted exactly if that takes fewer than `exact_below` steps, or, if `exact_below` is None, if that is no
    more expensive than the draws of an estimate. The rules "karp-luby" and "self-adjusting" never count exactly. The
    fields are those of `BoxCounting`.
    """

    epsilon: float
    delta: float
    exact_below: int | None
    rule: str
    seed: int

    @property
    def min_draws(self) -> int:
        """Minimum number of draws of an estimate by the rule "guaranteed" or "fast"."""
        return min_draws(self.epsilon, self.delta, self.rule)

    @property
    def max_volumes(self) -> int:
        """Maximum number of volumes that the exact recursion may compute."""
        return VOLUMES_PER_DRAW * self.min_draws if self.exact_below is None else self.exact_below


def count_pairs(bags: CodedBags, pairs: Index, s: Codes, settings: CountingSettings, jobs: int | None) -> Floats:
    """Count pairs (i, j) of bags: return (log count, draws, log |U|) of each pair, one row per pair.

    U is the universe of the draws (see `estimators`). Exact counts have 0 draws, and NaN in place of log |U|. `s` gives
    the largest code of each feature, and `jobs` the number of threads.

    Raises
    ------
    TimeLimitError
        If the time limit passes first (see `milopt.deadline`).
    """
    from joblib import Parallel, delayed, effective_n_jobs

    threads = effective_n_jobs(jobs)
    counter = _PairCounter(bags, pairs, s, settings)

    def count_all_pairs() -> None:
        """Count all pairs, on several threads if `jobs` allows it and there are enough pairs."""
        if threads == 1 or len(pairs) < 2 * PARTS_PER_THREAD:
            counter.count(np.arange(len(pairs)))
            return
        # Distribute the pairs round-robin, largest first, so that all parts take about the same time.
        order = np.argsort(-counter.sizes, kind="stable")
        parts = [order[k :: PARTS_PER_THREAD * threads] for k in range(PARTS_PER_THREAD * threads)]
        Parallel(n_jobs=threads, backend="threading")(delayed(counter.count)(part) for part in parts if part.size)

    seconds, late = seconds_left(), threading.Event()

    def stop_at_deadline() -> None:
        """Stop the counting because the time limit has passed."""
        late.set()
        counter.stop()

    timer = None if seconds is None else threading.Timer(seconds, stop_at_deadline)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        ended = run_interruptible(count_all_pairs, counter.stop)
    finally:
        if timer is not None:
            timer.cancel()
    if ended is not CallEnd.FINISHED:
        raise KeyboardInterrupt
    if late.is_set():
        raise TimeLimitError(
            f"The time limit passed while the boxes of {len(pairs)} pairs of bags were counted: give more time, "
            'or use rule="fast" or a larger epsilon.'
        )
    return counter.results


class _PairCounter:
    """Pairs of bags and the array of their counts, which several threads fill in."""

    def __init__(self, bags: CodedBags, pairs: Index, s: Codes, settings: CountingSettings) -> None:
        self.rows, self.offsets = bags.stack()
        self.columns = np.ascontiguousarray(self.rows.T)
        self.pairs, self.s, self.settings = pairs, s, settings
        counts = np.diff(self.offsets)
        self.sizes = counts[pairs[:, 0]] * counts[pairs[:, 1]]
        self.points = counts[pairs].sum(axis=1)
        self.seeds = pair_seeds(settings.seed, bags.words[pairs[:, 0]], bags.words[pairs[:, 1]])
        self.logs = np.concatenate([[-np.inf], np.log(np.arange(1.0, int(s.max(initial=0)) + 3))])
        self.results = np.full((len(pairs), 3), np.nan)
        self.stopped = np.zeros(1, dtype=np.uint64)

    def stop(self) -> None:
        """Make all running counts return immediately, without a result."""
        self.stopped[0] = 1

    def count(self, which: Index) -> None:
        """Count the pairs with the indices `which`, and write the counts to `results`."""
        if self.settings.rule in ("karp-luby", "self-adjusting"):
            self._estimate_by_paper_rule(which)
            return
        self._estimate(which[~self._count_exactly(which)] if self.settings.max_volumes > 0 else which)

    def _count_exactly(self, which: Index) -> npt.NDArray[np.bool_]:
        """Count the pairs `which` exactly if that is cheap; return a mask of the pairs that were counted."""
        from milopt.bag_kernels.compiled_exact import count_pairs_exactly

        settings, results = self.settings, np.full(which.size, np.nan)
        if settings.exact_below is None:
            scans = np.full(which.size, float(settings.min_draws))
        else:
            scans = settings.exact_below / self.points[which]
        # The number of scans is scaled by |U| / (number of boxes) only for the rule "guaranteed": for "fast", only the
        # minimum number of draws is known.
        scaled = settings.exact_below is None and settings.rule == "guaranteed"
        log_box_count = np.log((self.s + 1.0) * (self.s + 2.0) / 2).sum() if scaled else np.inf
        data = self.rows, self.offsets, self.pairs[which], self.s, self.logs
        count_pairs_exactly(*data, float(settings.max_volumes), scans, float(log_box_count), self.stopped, results)
        is_exact = np.asarray(np.isfinite(results))
        self.results[which[is_exact], 0] = results[is_exact]
        self.results[which[is_exact], 1] = 0
        return is_exact

    def _estimate(self, which: Index) -> None:
        """Estimate the counts of the pairs `which` by the rule "guaranteed" or "fast"."""
        if not which.size:
            return
        from milopt.bag_kernels.compiled_coverage import estimate_pairs_by_coverage

        settings, results = self.settings, np.empty((which.size, 3))
        limit = stopping_sum(settings.epsilon, settings.delta) if settings.rule == "guaranteed" else 0.0
        z = normal_quantile(settings.delta)
        pairs, seeds = self.pairs[which], self.seeds[which]
        estimate_pairs_by_coverage(
            self.columns,
            self.offsets,
            pairs,
            seeds,
            self.s,
            self.logs,
            limit,
            settings.epsilon,
            z,
            self.stopped,
            results,
        )
        self.results[which] = results

    def _estimate_by_paper_rule(self, which: Index) -> None:
        """Estimate the counts of the pairs `which` by the rule "karp-luby" or "self-adjusting" of the paper."""
        from milopt.bag_kernels.compiled_karp_luby import estimate_pairs_by_karp_luby, estimate_pairs_by_self_adjusting

        settings, results = self.settings, np.empty((which.size, 3))
        if settings.rule == "self-adjusting":
            number, estimate = self_adjusting_pair_count, estimate_pairs_by_self_adjusting
        else:
            number, estimate = karp_luby_draws, estimate_pairs_by_karp_luby
        draws = np.array(
            [number(1, int(size), settings.epsilon, settings.delta) for size in self.sizes[which]], dtype=np.intp
        )
        pairs, seeds = self.pairs[which], self.seeds[which]
        estimate(self.rows, self.offsets, pairs, seeds, self.s, self.logs, draws, self.stopped, results)
        self.results[which] = results
