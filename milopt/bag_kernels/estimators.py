"""Estimators of the number of boxes that meet two sets of grid points, as pure Python references.

P and Q are the sets of points, B(p, q) is the set of boxes that contain p and q, and W = k(P, Q) is the count. The
universe U = {(p, q, b): the box b contains p and q} has the size |U| = sum_{p, q} |B(p, q)|, and W <= |U| <= |P||Q| W.
A draw selects (p, q) with probability |B(p, q)| / |U|, then the corners l_k of b from {0..min(p_k, q_k)} and u_k from
{max(p_k, q_k)..s_k}, where s_k is the largest code of coordinate k.

    Karp-Luby       mean of [p and q are the first of P and of Q in b], S = 4 |P||Q| ln(2/delta) / eps^2 draws
    self-adjusting  T = 8 (1 + eps) |P||Q| ln(3/delta) / ((1 - eps^2/8) eps^2) pairs drawn uniformly, a new b after each
                    pair that b contains: W = T |U| / (|P||Q| trials)
    coverage        mean of 1 / (|P cap b| |Q cap b|), which has the same expectation and never a larger variance

Here eps is the relative error that the estimate W^ may exceed with probability delta, ln is the natural logarithm, and
[..] is 1 if the condition holds and 0 otherwise. `trials` is the number of the T pairs that the current box contains.
Karp-Luby and self-adjusting are the estimators of the paper, with the numbers of draws of the paper. Coverage has one
of two stopping rules:

    guaranteed      stop when the sum of the draws reaches 1 + (1 + eps) 4 (e - 2) ln(2/delta) / eps^2, which proves
                    Pr(|W^ - W| <= eps W) >= 1 - delta (Dagum, Karp, Luby and Ross). The sum of the draws
                    exceeds the limit at the last draw, and the number of draws is random; therefore W^ has a bias of up
                    to about 1 / limit
    fast            stop when z s / sqrt(N) <= eps mean, for N draws with standard deviation s, by the normal
                    approximation with Pr(|N(0, 1)| > z) = delta; no proof

A coordinate in which all points of both sets coincide is never drawn, and drawing ends when one pair of points is left.
For a bag with itself, W is the number of boxes that meet the bag, and the universe has single points instead of pairs.
All computations are in log space.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, e, log, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from milopt.arrays import Codes, Floats
from milopt.bag_kernels.stream import RandomStream
from milopt.errors import ParameterError

DRAWS_PER_TEST = 64
"""Number of draws between two tests of the normal approximation."""
MAX_DRAWS = 10**9
"""Largest admissible minimum number of draws per pair (see `check_accuracy`). 10^9 draws take about an hour."""


@dataclass(frozen=True)
class CountEstimate:
    """Estimate of a count: log W^, the number of draws, and log |U| (see the module docstring)."""

    log_count: float
    draws: int
    log_universe: float


def karp_luby_draws(n: int, m: int, epsilon: float, delta: float) -> int:
    """Return the number of draws S of the Karp-Luby estimator for sets of n and m points."""
    return ceil(4 * n * m * log(2 / delta) / epsilon**2)


def self_adjusting_pair_count(n: int, m: int, epsilon: float, delta: float) -> int:
    """Return the number of tested pairs T of the self-adjusting estimator for sets of n and m points."""
    return ceil(8 * (1 + epsilon) * n * m * log(3 / delta) / ((1 - epsilon**2 / 8) * epsilon**2))


def stopping_sum(epsilon: float, delta: float) -> float:
    """Return the sum of draws (each at most 1) at which the guaranteed rule stops."""
    return 1 + (1 + epsilon) * 4 * (e - 2) * log(2 / delta) / epsilon / epsilon


def check_accuracy(epsilon: float, delta: float) -> None:
    """Raise an error if the guaranteed rule needs more than `MAX_DRAWS` draws per pair for this accuracy."""
    needed = stopping_sum(epsilon, delta)
    if not needed <= MAX_DRAWS:
        raise ParameterError(
            f"epsilon = {epsilon:g} with delta = {delta:g} needs {needed:.1g} draws per pair, and the "
            f"maximum is {MAX_DRAWS:.0g}: choose a larger epsilon or delta."
        )


def min_draws(epsilon: float, delta: float, rule: str) -> int:
    """Return the minimum number of draws for a pair: `DRAWS_PER_TEST` if the rule is "fast", else the stopping sum.

    No draw exceeds 1, so at least as many draws as the stopping sum are needed.
    """
    return DRAWS_PER_TEST if rule == "fast" else ceil(stopping_sum(epsilon, delta))


def normal_quantile(delta: float) -> float:
    """Return z with Pr(|N(0, 1)| > z) = delta."""
    return -NormalDist().inv_cdf(delta / 2)


def log_volumes(P: Codes, Q: Codes, s: Codes) -> Floats:
    """Return log |B(p, q)|, the log number of boxes that contain p and q, for all pairs, of shape (len(P), len(Q))."""
    low, high = np.minimum(P[:, None], Q), np.maximum(P[:, None], Q)
    return np.asarray(np.log(low + 1.0).sum(axis=2) + np.log(s - high + 1.0).sum(axis=2))


def order_by_spread(P: Codes, Q: Codes, s: Codes) -> list[int]:
    """Return the coordinates in which the points of P and Q differ, by decreasing spread (range / number of codes)."""
    both = np.vstack([P, Q])
    spread = np.ptp(both, axis=0) / (s + 1.0)
    return [int(k) for k in np.argsort(-spread, kind="stable") if spread[k] > 0]


class PointPairBoxUniverse:
    """Set U of the triples (p, q, b) of points p of P and q of Q and a box b that contains p and q, with random draws.

    s[k] is the largest code of coordinate k.
    """

    def __init__(self, P: Codes, Q: Codes, s: Codes, stream: RandomStream) -> None:
        self.P, self.Q, self.s, self.stream = P, Q, s, stream
        volumes = log_volumes(P, Q, s).ravel()
        if Q is P:
            # A box that contains p and p' contains p, so single points are the universe of a bag with itself.
            volumes = volumes[:: len(P) + 1]
        top = float(volumes.max())
        self._sums = np.cumsum(np.exp(volumes - top))
        self.log_size = top + log(float(self._sums[-1]))

    def draw_pair(self) -> tuple[int, int]:
        """Draw a pair (p, q) with probability |B(p, q)| / |U|, and return the indices of p and of q."""
        index = int(np.searchsorted(self._sums, self.stream.next_unit_float() * self._sums[-1], side="right"))
        place = min(index, len(self._sums) - 1)
        return (place, place) if self.Q is self.P else divmod(place, len(self.Q))

    def draw_interval(self, i: int, j: int, k: int) -> tuple[int, int]:
        """Draw the interval (low, high) of coordinate k of a random box that contains p_i and q_j."""
        low, high = sorted((int(self.P[i, k]), int(self.Q[j, k])))
        return self.stream.next_integer_below(low + 1), high + self.stream.next_integer_below(int(self.s[k]) - high + 1)

    def draw_box(self, i: int, j: int) -> tuple[Codes, Codes]:
        """Draw a random box that contains p_i and q_j, and return its corners (low, high)."""
        sides = [self.draw_interval(i, j, k) for k in range(len(self.s))]
        low, high = np.array(sides, dtype=np.int32).reshape(-1, 2).T
        return low, high


def draw_coverage(universe: PointPairBoxUniverse, order: list[int]) -> float:
    """Draw a box b, and return 1 / (|P cap b| |Q cap b|), or 1 / |P cap b| if Q is P.

    The coordinates of b are drawn in the given `order`, and only until b excludes all pairs of points but one.
    """
    i, j = universe.draw_pair()
    P, Q = universe.P, universe.Q
    alone = Q is P
    Q = Q[j : j + 1] if alone else Q
    for k in order:
        if len(P) == len(Q) == 1:
            break
        low, high = universe.draw_interval(i, j, k)
        P = P[(P[:, k] >= low) & (P[:, k] <= high)]
        Q = Q if alone else Q[(Q[:, k] >= low) & (Q[:, k] <= high)]
    return 1.0 / (len(P) * len(Q))


def estimate_by_coverage(
    P: Codes, Q: Codes, s: Codes, seed: int, epsilon: float, delta: float, rule: str
) -> CountEstimate:
    """Return the coverage estimate with the stopping rule "guaranteed" or "fast"."""
    universe = PointPairBoxUniverse(P, Q, s, RandomStream(seed))
    order = order_by_spread(P, Q, s)
    limit, z = stopping_sum(epsilon, delta), normal_quantile(delta)
    total = squares = 0.0
    draws = 0
    while True:
        value = draw_coverage(universe, order)
        total, squares, draws = total + value, squares + value * value, draws + 1
        if rule == "guaranteed":
            if total >= limit:
                return CountEstimate(universe.log_size + log(limit / draws), draws, universe.log_size)
        elif draws % DRAWS_PER_TEST == 0:
            mean = total / draws
            variance = max(0.0, squares / draws - mean * mean)
            if z * sqrt(variance / draws) <= epsilon * mean:
                return CountEstimate(universe.log_size + log(mean), draws, universe.log_size)


def estimate_by_karp_luby(P: Codes, Q: Codes, s: Codes, seed: int, epsilon: float, delta: float) -> CountEstimate:
    """Return the Karp-Luby estimate: the mean of a fixed number of draws, each 0 or 1."""
    universe = PointPairBoxUniverse(P, Q.copy(), s, RandomStream(seed))
    draws = karp_luby_draws(len(P), len(Q), epsilon, delta)
    hits = 0
    for _ in range(draws):
        i, j = universe.draw_pair()
        low, high = universe.draw_box(i, j)
        hits += not is_in_box(P[:i], low, high).any() and not is_in_box(Q[:j], low, high).any()
    return CountEstimate(universe.log_size + log(hits / draws), draws, universe.log_size)


def estimate_by_self_adjusting(P: Codes, Q: Codes, s: Codes, seed: int, epsilon: float, delta: float) -> CountEstimate:
    """Return the self-adjusting estimate, from the number of random pairs that are tested until a box contains one."""
    stream = RandomStream(seed)
    universe = PointPairBoxUniverse(P, Q.copy(), s, stream)
    budget = self_adjusting_pair_count(len(P), len(Q), epsilon, delta)
    steps = trials = 0
    while steps < budget:
        low, high = universe.draw_box(*universe.draw_pair())
        while steps < budget:
            steps += 1
            i, j = stream.next_integer_below(len(P)), stream.next_integer_below(len(Q))
            if is_in_box(P[i : i + 1], low, high).all() and is_in_box(Q[j : j + 1], low, high).all():
                trials += 1
                break
    share = budget / (len(P) * len(Q) * trials)
    return CountEstimate(universe.log_size + log(share), budget, universe.log_size)


def is_in_box(points: Codes, low: Codes, high: Codes) -> npt.NDArray[np.bool_]:
    """Return a mask that is True for the points in the box [low, high]."""
    return np.asarray(((points >= low) & (points <= high)).all(axis=1))
