"""Optimal values of the quadratic programs: enumeration of active sets, or nonnegative least squares."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tests.peers.optima import linear_optimum, quadratic_optimum
from tests.peers.quadratic import (
    EXPOSURE,
    MU,
    POINTS,
    QPSOLVERS_G,
    QPSOLVERS_H,
    QPSOLVERS_M,
    RETURNS,
    SIGMA,
    SIGNS,
    SPECIFIC,
)


def qpsolvers_example() -> float:
    """Return the least value over the solutions of all active sets that are feasible.

    The objective is strictly convex: the optimum solves the equations of its active set, and every other feasible
    point has a larger value.
    """
    P, q, ones = QPSOLVERS_M.T @ QPSOLVERS_M, QPSOLVERS_M.T @ [3.0, 2.0, 3.0], np.ones((1, 3))
    values = []
    for active in itertools.chain.from_iterable(itertools.combinations(range(3), size) for size in range(3)):
        rows, right = np.vstack([ones, QPSOLVERS_G[list(active)]]), np.append(1.0, QPSOLVERS_H[list(active)])
        system = np.block([[P, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        x = np.linalg.solve(system, np.append(-q, right))[:3]
        if (QPSOLVERS_G @ x <= QPSOLVERS_H + 1e-9).all():
            values.append(x @ P @ x / 2 + q @ x)
    return float(min(values))


def best_long_portfolio(gamma: float) -> float:
    """Return the best mean minus gamma variances of MU and SIGMA, over the supports of the portfolio.

    On a support, the weights solve the equations of the best portfolio with sum 1 that may be short; those that are
    not short are feasible, and the support of the optimum is one of them.
    """
    best = -np.inf
    for chosen in itertools.product([False, True], repeat=10):
        held = np.flatnonzero(chosen)
        if len(held):
            system = np.ones((len(held) + 1, len(held) + 1))
            system[:-1, :-1], system[-1, -1] = 2 * gamma * SIGMA[np.ix_(held, held)], 0
            w = np.linalg.solve(system, np.append(MU[held], 1.0))[:-1]
            if (w >= 0).all():
                best = max(best, MU[held] @ w - gamma * w @ SIGMA[np.ix_(held, held)] @ w)
    return float(best)


def portfolio() -> float:
    """Enumerate supports."""
    return best_long_portfolio(0.5)


def best_levered_portfolio(mean: NDArray[np.float64], covariance: NDArray[np.float64], gamma: float) -> float:
    """Return the best mean minus gamma variances with sum 1 and norm 1 of at most 2, with w = p - n, p, n >= 0."""
    n = len(mean)
    split = np.hstack([np.eye(n), -np.eye(n)])
    G, h = np.vstack([-np.eye(2 * n), np.ones(2 * n)]), np.append(np.zeros(2 * n), 2.0)
    P, q = 2 * gamma * split.T @ covariance @ split, -split.T @ mean
    return -quadratic_optimum(P, q, G, h, np.ones((1, n)) @ split, np.ones(1))


def leverage() -> float:
    """Split the weights into long and short ones."""
    return best_levered_portfolio(MU, SIGMA, 0.5)


def factor_model() -> float:
    """Insert the factors: the covariance is 4 E E' + D."""
    return best_levered_portfolio(RETURNS, 4 * EXPOSURE @ EXPOSURE.T + np.diag(SPECIFIC), 0.1)


def svm() -> float:
    """Minimise over (w, b, slacks) with slacks >= 0 and margin >= 1 - slack."""
    P, q = np.diag([1.0, 1.0] + 61 * [0.0]), np.append(np.zeros(3), np.ones(60))
    margins = np.column_stack([SIGNS[:, None] * POINTS, -SIGNS, np.eye(60)])
    G, h = -np.vstack([margins, np.eye(63)[3:]]), np.append(-np.ones(60), np.zeros(60))
    return quadratic_optimum(P, q, G, h)


def sparse_svm() -> float:
    """Write w = p - n and the hinge as slacks: the variables are p, n, slacks >= 0, and b."""
    rows = SIGNS[:, None] * POINTS
    margins = np.column_stack([rows, -rows, np.eye(60), -SIGNS])
    cost = np.concatenate([np.full(4, 0.1), np.full(60, 1 / 60), [0.0]])
    return linear_optimum(cost, -margins, -np.ones(60), is_nonnegative=np.arange(65) < 64)
