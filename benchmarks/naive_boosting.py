"""Plain implementation of boosted shapelets in cvxpy: every LP is declared and solved again, with all rows.

The reference of `boosting`; it does not use milopt. One-sided and without a bias, as in the paper: each round is a
descent  from the best single atom whose convex steps are

    min  sum_{I-} d_i lam_i - c'a   s.t.  k_x'a <= lam_i (x in B_i, i in I-),  ||a|| <= 1,   c = sum_{I+} d_i k_{x_i}

with the 1-norm (by HiGHS), or with the 2-norm in coordinates k_x of the dictionary's span (by ECOS), and then

    min  gamma   s.t.  sum_i y_i d_i h_t(B_i) <= gamma,  1'd = 1,  0 <= d <= 1/(nu m)

over all hypotheses so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
MAX_DESCENT_STEPS, MIN_RELATIVE_DECREASE, TOLERANCE, DROPPED = 10, 1e-6, 1e-4, 1e-10


@dataclass(frozen=True)
class BoostingResult:
    """Result of boosting."""

    gamma: float
    rounds: int
    steps: int
    """Convex steps over all rounds."""


@dataclass(frozen=True)
class Sample:
    """Data of boosting: rows `offsets[i]` to `offsets[i + 1]` of the kernel matrix `K` belong to bag i."""

    K: Array
    """K[x, z], an instance a row."""
    gram: Array
    """K[z, z'], of the dictionary."""
    offsets: npt.NDArray[np.intp]
    y: Array


def boost(sample: Sample, ball: str, nu: float, rounds: int) -> BoostingResult:
    """Run boosting over the ball `l1` or `hilbert` until no hypothesis is violated, for at most `rounds` rounds."""
    m, steps, gamma = len(sample.y), 0, -np.inf
    d = np.full(m, 1 / m)
    hypotheses: list[Array] = []
    largest = np.maximum.reduceat(np.hstack([sample.K, -sample.K]), sample.offsets[:-1], axis=0)
    features, one_hots = coordinates(sample, ball)
    one_hots = np.hstack([one_hots, -one_hots])
    for _ in range(rounds):
        z = int(np.argmax((sample.y * d) @ largest))
        h, taken = learn(features, sample, d, one_hots[:, z], ball)
        steps += taken
        edge = float((sample.y * d) @ h)
        if hypotheses and edge - gamma <= TOLERANCE * max(abs(edge), abs(gamma)):
            break
        hypotheses.append(h)
        gamma, d = master(np.array(hypotheses) * sample.y, nu)
    return BoostingResult(gamma, len(hypotheses), steps)


def coordinates(sample: Sample, ball: str) -> tuple[Array, Array]:
    """Return features (one row per instance, one column per atom) in which the ball is that of the 1-norm or 2-norm."""
    if ball == "l1":
        return sample.K, np.eye(sample.K.shape[1])
    values, vectors = np.linalg.eigh(sample.gram)
    kept = values > DROPPED * values[-1]
    atoms = vectors[:, kept] * np.sqrt(values[kept])
    return sample.K @ (vectors[:, kept] / np.sqrt(values[kept])), (atoms / np.linalg.norm(atoms, axis=1)[:, None]).T


def learn(features: Array, sample: Sample, d: Array, start: Array, ball: str) -> tuple[Array, int]:
    """Run the convex-concave procedure; return the maxima of the bags and the number of convex steps."""
    u, before, chosen = start, np.inf, None
    for step in range(1, MAX_DESCENT_STEPS + 1):
        place, _ = maxima(features @ u, sample.offsets)
        if chosen is not None and np.array_equal(place[sample.y > 0], chosen):
            return maxima(features @ u, sample.offsets)[1], step - 1
        chosen = place[sample.y > 0]
        value, u = convex_step(features, sample, d, chosen, ball)
        if before - value <= MIN_RELATIVE_DECREASE * abs(value):
            break
        before = value
    return maxima(features @ u, sample.offsets)[1], step


def maxima(values: Array, offsets: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], Array]:
    """Return index and value of the maximum of each bag."""
    bags = np.split(values, offsets[1:-1])
    return offsets[:-1] + np.array([np.argmax(bag) for bag in bags]), np.array([bag.max() for bag in bags])


def convex_step(
    features: Array, sample: Sample, d: Array, chosen: npt.NDArray[np.intp], ball: str
) -> tuple[float, Array]:
    """Solve a convex step with fixed witnesses of the positive bags; return optimum and solution."""
    y, sizes = sample.y, np.diff(sample.offsets)
    negative = np.repeat(y < 0, sizes)
    bag_of = np.repeat(np.cumsum(y < 0) - 1, sizes)[negative]
    u, lam = cp.Variable(features.shape[1]), cp.Variable(int((y < 0).sum()))
    norm = cp.norm1(u) if ball == "l1" else cp.norm(u)
    # Without a lower bound, lam of a bag of weight 0 would be unbounded.
    constraints = [features[negative] @ u <= lam[bag_of], norm <= 1, lam >= -2 * np.abs(features).max()]
    worth = d[y < 0] @ lam - (d[y > 0] @ features[chosen]) @ u
    problem = cp.Problem(cp.Minimize(worth), constraints)
    problem.solve(solver=cp.HIGHS if ball == "l1" else cp.ECOS)
    return float(problem.value), np.asarray(u.value)


def master(rows: Array, nu: float) -> tuple[float, Array]:
    """Solve the master with the rows y_i h_t(B_i); return gamma and d."""
    m = rows.shape[1]
    gamma, d = cp.Variable(), cp.Variable(m)
    constraints = [rows @ d <= gamma, cp.sum(d) == 1, d >= 0, d <= 1 / (nu * m)]
    cp.Problem(cp.Minimize(gamma), constraints).solve(solver=cp.HIGHS)
    return float(gamma.value), np.clip(d.value, 0.0, 1 / (nu * m))
