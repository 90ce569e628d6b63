"""Counts of many pairs of bags: exact where that is cheap, estimated otherwise, on several threads.

Each pair has its own stream of random numbers, so that its count depends neither on the other pairs nor on the threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.bag_kernels.coded import CodedBags
from milopt.bag_kernels.estimators import (
    Codes,
    enough,
    karp_luby_draws,
    quantile,
    self_adjusting_draws,
)
from milopt.bag_kernels.stream import pair_seeds
from milopt.declaration.arrays import Floats, Indices

PIECES = 16
"""Parts a thread that the pairs are divided into."""


@dataclass(frozen=True)
class Counting:
    """How pairs are counted."""

    epsilon: float
    delta: float
    exact_below: int
    rule: str
    seed: int


def counted_pairs(bags: CodedBags, pairs: Indices, s: Codes, how: Counting, jobs: int | None) -> Floats:
    """(log count, draws, log |U|) of each pair; exact counts have no draws, and NaN for log |U|."""
    from joblib import Parallel, delayed, effective_n_jobs

    threads = effective_n_jobs(jobs)
    work = _Work(bags, pairs, s, how)
    if threads == 1 or len(pairs) < 2 * PIECES:
        work.count(np.arange(len(pairs)))
        return work.found
    # Dealt out like cards, largest first, so that no part is much longer than another.
    order = np.argsort(-work.sizes, kind="stable")
    parts = [order[k :: PIECES * threads] for k in range(PIECES * threads)]
    Parallel(n_jobs=threads, backend="threading")(delayed(work.count)(part) for part in parts if part.size)
    return work.found


class _Work:
    """The pairs, and where their counts go."""

    def __init__(self, bags: CodedBags, pairs: Indices, s: Codes, how: Counting) -> None:
        self.rows, self.offsets = bags.stacked()
        self.columns = np.ascontiguousarray(self.rows.T)
        self.pairs, self.s, self.how = pairs, s, how
        counts = np.diff(self.offsets)
        self.sizes = counts[pairs[:, 0]] * counts[pairs[:, 1]]
        self.seeds = pair_seeds(how.seed, bags.words[pairs[:, 0]], bags.words[pairs[:, 1]])
        self.logs = np.concatenate([[-np.inf], np.log(np.arange(1.0, int(s.max(initial=0)) + 3))])
        self.found = np.full((len(pairs), 3), np.nan)

    def count(self, which: Indices) -> None:
        """Count some of the pairs."""
        if self.how.rule in ("karp-luby", "self-adjusting"):
            self._faithful(which)
            return
        from milopt.bag_kernels.compiled_exact import exact_pairs

        exact = np.full((which.size, 2), np.nan)
        if self.how.exact_below > 0:
            budget = float(self.how.exact_below)
            exact_pairs(self.rows, self.offsets, self.pairs[which], self.s, self.logs, budget, exact)
        known = np.isfinite(exact[:, 0])
        self.found[which[known], 0] = exact[known, 0]
        self.found[which[known], 1] = 0
        self._estimate(which[~known])

    def _estimate(self, which: Indices) -> None:
        if not which.size:
            return
        from milopt.bag_kernels.compiled_coverage import coverage_pairs

        how, found = self.how, np.empty((which.size, 3))
        limit = enough(how.epsilon, how.delta) if how.rule == "guaranteed" else 0.0
        z = quantile(how.delta)
        pairs, seeds = self.pairs[which], self.seeds[which]
        coverage_pairs(self.columns, self.offsets, pairs, seeds, self.s, self.logs, limit, how.epsilon, z, found)
        self.found[which] = found

    def _faithful(self, which: Indices) -> None:
        from milopt.bag_kernels.compiled_faithful import faithful_pairs

        how, found = self.how, np.empty((which.size, 3))
        adjusting = how.rule == "self-adjusting"
        number = self_adjusting_draws if adjusting else karp_luby_draws
        draws = np.array([number(1, int(size), how.epsilon, how.delta) for size in self.sizes[which]], dtype=np.intp)
        pairs, seeds = self.pairs[which], self.seeds[which]
        faithful_pairs(self.rows, self.offsets, pairs, seeds, self.s, self.logs, draws, adjusting, found)
        self.found[which] = found
