"""Optimal values of the flows, with the rows of networks built by Kronecker products."""

from __future__ import annotations

import numpy as np

from tests.peers.networks import (
    ARC_CAPACITY,
    ARCS,
    COMMODITIES,
    DEMANDS,
    INCIDENCE,
    SHIPPING,
    SUPPLIES,
)
from tests.peers.optima import linear_optimum


def multi_commodity_flow() -> float:
    """Stack the flows of the two commodities: one incidence matrix per commodity, one capacity per arc."""
    cost, balance = np.tile(ARCS[:, 2], 2), np.kron(np.eye(2), INCIDENCE)
    capacity = np.hstack([np.eye(9), np.eye(9)])
    return linear_optimum(cost, capacity, ARC_CAPACITY, balance, COMMODITIES.T.ravel(), is_nonnegative=True)


def transportation() -> float:
    """Leave out the columns of the arcs that do not exist."""
    exists = SHIPPING.ravel() >= 0
    leaving, arriving = np.kron(np.eye(3), np.ones(7)), np.kron(np.ones(3), np.eye(7))
    cost = SHIPPING.ravel()[exists]
    return linear_optimum(cost, leaving[:, exists], SUPPLIES, arriving[:, exists], DEMANDS, is_nonnegative=True)
