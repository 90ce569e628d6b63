"""Optimal values of the programs with multipliers."""

from __future__ import annotations

import numpy as np

from tests.peers.linear import FOOD_COST, NUTRIENTS
from tests.peers.optima import linear_optimum


def nutrient_prices() -> float:
    """Maximise the value of the nutrients at prices at which no food is worth more than its cost (the dual program)."""
    signs = np.array([1, 1, -1, -1])
    limits = signs * [1800, 91, 65, 1779]
    return -linear_optimum(-limits, (signs[:, None] * NUTRIENTS).T, FOOD_COST, is_nonnegative=True)


def power_price() -> float:
    """Use the cheapest power first: 200 of wind at no cost, at least 300 of the second plant, the rest of the first."""
    return 50.0 * (1500 - 200 - 300) + 100.0 * 300
