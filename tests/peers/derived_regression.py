"""Optimal values of the regressions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from tests.peers.optima import assert_tight, linear_optimum, quadratic_optimum, smooth_optimum
from tests.peers.regression import SERIES, X, Y


def ridge() -> float:
    """Solve the normal equations."""
    beta = np.linalg.solve(X.T @ X + 2 * np.eye(12), X.T @ Y)
    return float(((X @ beta - Y) ** 2).sum() + 2 * beta @ beta)


def lasso_optimum(weight: float) -> float:
    """Return the minimum of |X beta - Y|^2 + weight |beta|_1, with beta = p - n and p, n >= 0."""
    split = np.hstack([X, -X])
    P, q = 2 * split.T @ split, weight - 2 * split.T @ Y
    return quadratic_optimum(P, q, -np.eye(24), np.zeros(24)) + float(Y @ Y)


def lasso() -> float:
    """Split the coefficients by sign."""
    return lasso_optimum(5.0)


def huber() -> float:
    """Descend: the loss r^2 or 0.4 |r| - 0.04 has the derivative 2 r, limited to 0.4."""

    def loss(beta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        r = X @ beta - Y
        losses = np.where(np.abs(r) <= 0.2, r**2, 0.4 * np.abs(r) - 0.04)
        return float(losses.sum()), X.T @ np.clip(2 * r, -0.4, 0.4)

    return smooth_optimum(loss, [np.zeros(12), np.linalg.lstsq(X, Y, rcond=None)[0]])[0]


def quantile_regression() -> float:
    """Write r = p - n: the loss is 0.9 p + 0.1 n."""
    cost = np.concatenate([np.zeros(12), np.full(50, 0.9), np.full(50, 0.1)])
    equations = np.hstack([X, np.eye(50), -np.eye(50)])
    return linear_optimum(cost, A=equations, b=Y, is_nonnegative=np.arange(112) >= 12)


def censored_data() -> float:
    """Minimise the squares of the known points with one inequality per censored point."""
    limit = np.median(Y)
    known = limit > Y
    P, q = 2 * X[known].T @ X[known], -2 * X[known].T @ Y[known]
    return quadratic_optimum(P, q, -X[~known], np.full((~known).sum(), -limit)) + float(Y[known] @ Y[known])


def trend_filter() -> float:
    """Solve the dual problem: the least |SERIES - D'u|^2 with |u| <= 0.8, for the second differences D.

    x = SERIES - D'u is a point of the primal problem; both values agree.
    """
    D = np.diff(np.eye(60), 2, axis=0)
    u = lsq_linear(D.T, SERIES, (-0.8, 0.8), method="bvls", tol=1e-14).x
    x = SERIES - D.T @ u
    value = 0.5 * ((SERIES - x) ** 2).sum() + 0.8 * np.abs(D @ x).sum()
    assert_tight(value, 0.5 * SERIES @ SERIES - 0.5 * x @ x)
    return float(value)
