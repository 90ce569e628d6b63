"""Counts of many pairs of bags: exact where that is cheap, estimated otherwise, on several threads.

Each pair has its own stream of random numbers, so that its count depends neither on the other pairs nor on the threads.
Ctrl-C and the time limit of the call end the counting; no counts are kept then.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Index
from milopt.bag_kernels.coded import CodedBags
from milopt.bag_kernels.estimators import (
    Codes,
    enough,
    karp_luby_draws,
    least_draws,
    quantile,
    self_adjusting_draws,
)
from milopt.bag_kernels.stream import pair_seeds
from milopt.deadline import seconds_left
from milopt.errors import TimeLimitError
from milopt.interrupt import Ended, run_interruptible

VOLUMES_A_DRAW = 6
"""Volumes of an exact count that take about as long as a draw."""
PIECES = 16
"""Parts a thread that the pairs are divided into."""


@dataclass(frozen=True)
class Counting:
    """How pairs are counted; exactly where that takes fewer steps than given, or by default than draws would take."""

    epsilon: float
    delta: float
    exact_below: int | None
    rule: str
    seed: int

    @property
    def least_draws(self) -> int:
        """How many draws an estimate of a pair takes at least."""
        return least_draws(self.epsilon, self.delta, self.rule)

    @property
    def volumes(self) -> int:
        """How many volumes the recursion may compute."""
        return VOLUMES_A_DRAW * self.least_draws if self.exact_below is None else self.exact_below


def counted_pairs(bags: CodedBags, pairs: Index, s: Codes, how: Counting, jobs: int | None) -> Floats:
    """(log count, draws, log |U|) of each pair; exact counts have no draws, and NaN for log |U|.

    Raises `TimeLimitError` if the time is up first (see `milopt.deadline`).
    """
    from joblib import Parallel, delayed, effective_n_jobs

    threads = effective_n_jobs(jobs)
    work = _Work(bags, pairs, s, how)

    def count() -> None:
        if threads == 1 or len(pairs) < 2 * PIECES:
            work.count(np.arange(len(pairs)))
            return
        # Dealt out like cards, largest first, so that no part is much longer than another.
        order = np.argsort(-work.sizes, kind="stable")
        parts = [order[k :: PIECES * threads] for k in range(PIECES * threads)]
        Parallel(n_jobs=threads, backend="threading")(delayed(work.count)(part) for part in parts if part.size)

    seconds, late = seconds_left(), threading.Event()

    def end() -> None:
        late.set()
        work.stop()

    timer = None if seconds is None else threading.Timer(seconds, end)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        ended = run_interruptible(count, work.stop)
    finally:
        if timer is not None:
            timer.cancel()
    if ended is not Ended.FINISHED:
        raise KeyboardInterrupt
    if late.is_set():
        raise TimeLimitError(
            f"The time limit passed while the boxes of {len(pairs)} pairs of bags were counted: give more time, "
            'or take rule="fast" or a larger epsilon.'
        )
    return work.found


class _Work:
    """The pairs, and where their counts go."""

    def __init__(self, bags: CodedBags, pairs: Index, s: Codes, how: Counting) -> None:
        self.rows, self.offsets = bags.stacked()
        self.columns = np.ascontiguousarray(self.rows.T)
        self.pairs, self.s, self.how = pairs, s, how
        counts = np.diff(self.offsets)
        self.sizes = counts[pairs[:, 0]] * counts[pairs[:, 1]]
        self.points = counts[pairs].sum(axis=1)
        self.seeds = pair_seeds(how.seed, bags.words[pairs[:, 0]], bags.words[pairs[:, 1]])
        self.logs = np.concatenate([[-np.inf], np.log(np.arange(1.0, int(s.max(initial=0)) + 3))])
        self.found = np.full((len(pairs), 3), np.nan)
        self.stopped = np.zeros(1, dtype=np.uint64)

    def stop(self) -> None:
        """Let everything that counts end at once, with nothing to show for it."""
        self.stopped[0] = 1

    def count(self, which: Index) -> None:
        """Count some of the pairs."""
        if self.how.rule in ("karp-luby", "self-adjusting"):
            self._faithful(which)
            return
        self._estimate(which[~self._exact(which)] if self.how.volumes > 0 else which)

    def _exact(self, which: Index) -> npt.NDArray[np.bool_]:
        """Count exactly where that is cheap, and say where it was."""
        from milopt.bag_kernels.compiled_exact import exact_pairs

        how, found = self.how, np.full(which.size, np.nan)
        if how.exact_below is None:
            scans = np.full(which.size, float(how.least_draws))
        else:
            scans = how.exact_below / self.points[which]
        # Of other estimates nothing is known but the least of their draws.
        scaled = how.exact_below is None and how.rule == "guaranteed"
        log_boxes = np.log((self.s + 1.0) * (self.s + 2.0) / 2).sum() if scaled else np.inf
        data = self.rows, self.offsets, self.pairs[which], self.s, self.logs
        exact_pairs(*data, float(how.volumes), scans, float(log_boxes), self.stopped, found)
        known = np.asarray(np.isfinite(found))
        self.found[which[known], 0] = found[known]
        self.found[which[known], 1] = 0
        return known

    def _estimate(self, which: Index) -> None:
        if not which.size:
            return
        from milopt.bag_kernels.compiled_coverage import coverage_pairs

        how, found = self.how, np.empty((which.size, 3))
        limit = enough(how.epsilon, how.delta) if how.rule == "guaranteed" else 0.0
        z = quantile(how.delta)
        pairs, seeds = self.pairs[which], self.seeds[which]
        coverage_pairs(
            self.columns, self.offsets, pairs, seeds, self.s, self.logs, limit, how.epsilon, z, self.stopped, found
        )
        self.found[which] = found

    def _faithful(self, which: Index) -> None:
        from milopt.bag_kernels.compiled_faithful import karp_luby_pairs, self_adjusting_pairs

        how, found = self.how, np.empty((which.size, 3))
        if how.rule == "self-adjusting":
            number, estimate = self_adjusting_draws, self_adjusting_pairs
        else:
            number, estimate = karp_luby_draws, karp_luby_pairs
        draws = np.array([number(1, int(size), how.epsilon, how.delta) for size in self.sizes[which]], dtype=np.intp)
        pairs, seeds = self.pairs[which], self.seeds[which]
        estimate(self.rows, self.offsets, pairs, seeds, self.s, self.logs, draws, self.stopped, found)
        self.found[which] = found
