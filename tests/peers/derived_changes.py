"""Optimal values of the last solves of the programs that change."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import lsq_linear

from tests.peers.changes import PIECES, A, B
from tests.peers.derived_control import trajectory
from tests.peers.derived_quadratic import best_long_portfolio
from tests.peers.derived_regression import lasso_optimum
from tests.peers.optima import linear_optimum


def lasso_path() -> float:
    """Return the lasso of the last weight."""
    return lasso_optimum(100.0)


def trade_off() -> float:
    """Return the best portfolio of the last weight of the variance."""
    return best_long_portfolio(10.0)


def predictive_control() -> float:
    """Simulate: per step, least squares over the inputs in a box, with the states eliminated."""
    of_start, of_inputs = trajectory(A, B, 15)
    rows, state = np.vstack([of_inputs, np.sqrt(0.1) * np.eye(15)]), np.array([1.0, 0.0])
    for _ in range(4):
        solution = lsq_linear(rows, np.append(-of_start @ state, np.zeros(15)), (-1, 1), method="bvls", tol=1e-14)
        state = A @ state + B @ solution.x[:1]
    return float(2 * solution.cost)


def other_costs() -> float:
    """Use the cheapest power first: wind at 50, at least 300 of the second plant at 100, the first plant at 125."""
    return 50.0 * 200 + 125.0 * 300 + 100.0 * 1000


def cutting_stock() -> float:
    """Solve the linear program of all patterns at once: all numbers of pieces that fit into a width of 100."""
    width, demand = PIECES.T
    numbers = [range(int(100 // piece) + 1) for piece in width]
    patterns = np.array([pattern for pattern in itertools.product(*numbers) if width @ pattern <= 100]).T
    return linear_optimum(np.ones(patterns.shape[1]), -patterns, -demand, is_nonnegative=True)
