"""Estimates of the number of boxes that meet two sets of grid points, in plain Python: what each estimator is.

The universe is U = {(p, q, b): b holds p and q}, |U| = sum_{p, q} |B(p, q)|, and W = k(P, Q) <= |U| <= |P||Q| W. A
draw takes (p, q) with probability |B(p, q)| / |U|, then the corners l_k of {0..min(p_k, q_k)} and u_k of
{max(p_k, q_k)..s_k}.

    Karp-Luby       mean of [p and q are the first of P and of Q in b], S = 4 |P||Q| ln(2/delta) / eps^2 draws
    self-adjusting  T = 8 (1 + eps) |P||Q| ln(3/delta) / ((1 - eps^2/8) eps^2) pairs drawn evenly, a new b for each that
                    b holds: W = T |U| / (|P||Q| trials)
    coverage        mean of 1 / (|P cap b| |Q cap b|): of the same mean and never of larger variance

The first two are the paper's, with its numbers of draws. Coverage stops by itself, in one of two ways:

    guaranteed      once the sum of draws is 1 + (1 + eps) 4 (e - 2) ln(2/delta) / eps^2, which proves
                    Pr(|W^ - W| <= eps W) >= 1 - delta (Dagum, Karp, Luby and Ross); since the last draw passes that
                    sum, and the number of draws is chance, W^ has a bias of up to about one over it
    fast            once z s / sqrt(N) <= eps mean, by the normal approximation; no proof

A coordinate that keeps all points of both sets in the box is never drawn, and none once one pair is left. Of a bag with
itself W is the number of boxes that meet it, whose universe has single points instead of pairs. All is in logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, e, log, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats
from milopt.bag_kernels.stream import Stream
from milopt.errors import ParameterError

Codes = npt.NDArray[np.int32]

FIRST_LOOK = 64
"""Draws between two looks at the normal approximation."""
MOST_DRAWS = 10**9
"""Draws that a pair may need at least, which take an hour or so."""


@dataclass(frozen=True)
class Estimate:
    """log W^, what it took, and log |U|."""

    log_count: float
    draws: int
    log_universe: float


def karp_luby_draws(n: int, m: int, epsilon: float, delta: float) -> int:
    """S of the module."""
    return ceil(4 * n * m * log(2 / delta) / epsilon**2)


def self_adjusting_draws(n: int, m: int, epsilon: float, delta: float) -> int:
    """T of the module."""
    return ceil(8 * (1 + epsilon) * n * m * log(3 / delta) / ((1 - epsilon**2 / 8) * epsilon**2))


def enough(epsilon: float, delta: float) -> float:
    """The sum of draws at which the guaranteed rule stops."""
    return 1 + (1 + epsilon) * 4 * (e - 2) * log(2 / delta) / epsilon / epsilon


def check_draws(epsilon: float, delta: float) -> None:
    """Refuse an accuracy that takes more draws than anybody waits for."""
    needed = enough(epsilon, delta)
    if not needed <= MOST_DRAWS:
        raise ParameterError(
            f"epsilon = {epsilon:g} with delta = {delta:g} takes {needed:.1g} draws a pair, where {MOST_DRAWS:.0g} are "
            "the most: take a larger epsilon or delta."
        )


def least_draws(epsilon: float, delta: float, rule: str) -> int:
    """How many draws an estimate of a pair takes at least: none is worth more than 1."""
    return FIRST_LOOK if rule == "fast" else ceil(enough(epsilon, delta))


def quantile(delta: float) -> float:
    """z with Pr(|N(0, 1)| > z) = delta."""
    return -NormalDist().inv_cdf(delta / 2)


def log_volumes(P: Codes, Q: Codes, s: Codes) -> Floats:
    """log |B(p, q)| of every pair."""
    low, high = np.minimum(P[:, None], Q), np.maximum(P[:, None], Q)
    return np.asarray(np.log(low + 1.0).sum(axis=2) + np.log(s - high + 1.0).sum(axis=2))


def spread_order(P: Codes, Q: Codes, s: Codes) -> list[int]:
    """The coordinates in which the points differ, those where they spread widest first."""
    both = np.vstack([P, Q])
    spread = np.ptp(both, axis=0) / (s + 1.0)
    return [int(k) for k in np.argsort(-spread, kind="stable") if spread[k] > 0]


class Universe:
    """The pairs of points with their shares, and draws of them."""

    def __init__(self, P: Codes, Q: Codes, s: Codes, stream: Stream) -> None:
        self.P, self.Q, self.s, self.stream = P, Q, s, stream
        volumes = log_volumes(P, Q, s).ravel()
        if Q is P:
            # Boxes that hold p and p' hold p: of a bag with itself single points are the universe.
            volumes = volumes[:: len(P) + 1]
        top = float(volumes.max())
        self._sums = np.cumsum(np.exp(volumes - top))
        self.log_size = top + log(float(self._sums[-1]))

    def pair(self) -> tuple[int, int]:
        """The places of p and of q."""
        found = int(np.searchsorted(self._sums, self.stream.unit() * self._sums[-1], side="right"))
        place = min(found, len(self._sums) - 1)
        return (place, place) if self.Q is self.P else divmod(place, len(self.Q))

    def side(self, i: int, j: int, k: int) -> tuple[int, int]:
        """The interval of a box that holds p and q in coordinate k."""
        low, high = sorted((int(self.P[i, k]), int(self.Q[j, k])))
        return self.stream.below(low + 1), high + self.stream.below(int(self.s[k]) - high + 1)

    def box(self, i: int, j: int) -> tuple[Codes, Codes]:
        """A whole box that holds p and q."""
        sides = [self.side(i, j, k) for k in range(len(self.s))]
        low, high = np.array(sides, dtype=np.int32).reshape(-1, 2).T
        return low, high


def coverage_draw(universe: Universe, order: list[int]) -> float:
    """1 / (|P cap b| |Q cap b|) of a box drawn coordinate by coordinate, as far as it matters."""
    i, j = universe.pair()
    P, Q = universe.P, universe.Q
    alone = Q is P
    Q = Q[j : j + 1] if alone else Q
    for k in order:
        if len(P) == len(Q) == 1:
            break
        low, high = universe.side(i, j, k)
        P = P[(P[:, k] >= low) & (P[:, k] <= high)]
        Q = Q if alone else Q[(Q[:, k] >= low) & (Q[:, k] <= high)]
    return 1.0 / (len(P) * len(Q))


def coverage(P: Codes, Q: Codes, s: Codes, seed: int, epsilon: float, delta: float, rule: str) -> Estimate:
    """The coverage estimate under either rule."""
    universe = Universe(P, Q, s, Stream(seed))
    order = spread_order(P, Q, s)
    limit, z = enough(epsilon, delta), quantile(delta)
    total = squares = 0.0
    draws = 0
    while True:
        value = coverage_draw(universe, order)
        total, squares, draws = total + value, squares + value * value, draws + 1
        if rule == "guaranteed":
            if total >= limit:
                return Estimate(universe.log_size + log(limit / draws), draws, universe.log_size)
        elif draws % FIRST_LOOK == 0:
            mean = total / draws
            variance = max(0.0, squares / draws - mean * mean)
            if z * sqrt(variance / draws) <= epsilon * mean:
                return Estimate(universe.log_size + log(mean), draws, universe.log_size)


def karp_luby(P: Codes, Q: Codes, s: Codes, seed: int, epsilon: float, delta: float) -> Estimate:
    """The paper's estimate: a fixed number of draws, each 0 or 1."""
    universe = Universe(P, Q.copy(), s, Stream(seed))
    draws = karp_luby_draws(len(P), len(Q), epsilon, delta)
    hits = 0
    for _ in range(draws):
        i, j = universe.pair()
        low, high = universe.box(i, j)
        hits += not held(P[:i], low, high).any() and not held(Q[:j], low, high).any()
    return Estimate(universe.log_size + log(hits / draws), draws, universe.log_size)


def self_adjusting(P: Codes, Q: Codes, s: Codes, seed: int, epsilon: float, delta: float) -> Estimate:
    """The paper's other estimate: how many evenly drawn pairs it takes until a box holds one, within a budget."""
    stream = Stream(seed)
    universe = Universe(P, Q.copy(), s, stream)
    budget = self_adjusting_draws(len(P), len(Q), epsilon, delta)
    steps = trials = 0
    while steps < budget:
        low, high = universe.box(*universe.pair())
        while steps < budget:
            steps += 1
            i, j = stream.below(len(P)), stream.below(len(Q))
            if held(P[i : i + 1], low, high).all() and held(Q[j : j + 1], low, high).all():
                trials += 1
                break
    share = budget / (len(P) * len(Q) * trials)
    return Estimate(universe.log_size + log(share), budget, universe.log_size)


def held(points: Codes, low: Codes, high: Codes) -> npt.NDArray[np.bool_]:
    """Which points lie in a box."""
    return np.asarray(((points >= low) & (points <= high)).all(axis=1))
