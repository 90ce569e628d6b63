"""Optimal values of the linear programs: enumeration, or `linprog` with its multipliers as a proof."""

from __future__ import annotations

import itertools

import numpy as np

from tests.peers.linear import MEASURED, PIE_DEMAND, SIGNAL
from tests.peers.optima import linear_optimum


def chebyshev_centre() -> float:
    """Return the largest radius among the vertices: the polyhedron of (x, r) has no line, so a vertex is optimal."""
    A, b = np.array([[2, -1, 2, -1], [1, 1, -1, -1]]).T, np.ones(4)
    rows = np.column_stack([A, np.linalg.norm(A, axis=1)])
    vertices = [np.linalg.solve(rows[list(three)], b[list(three)]) for three in itertools.combinations(range(4), 3)]
    return float(max(vertex[2] for vertex in vertices if (rows @ vertex <= b + 1e-12).all()))


def basis_pursuit() -> float:
    """Write x = p - n with p, n >= 0; the norm is the sum of both."""
    return linear_optimum(np.ones(80), A=np.hstack([MEASURED, -MEASURED]), b=MEASURED @ SIGNAL, is_nonnegative=True)


def minimax_fit() -> float:
    """Minimise t with -t <= residual <= t."""
    rows = np.vstack([MEASURED.T, -MEASURED.T])
    return linear_optimum(np.eye(21)[20], np.column_stack([rows, -np.ones(80)]), np.append(SIGNAL, -SIGNAL))


def deadzone() -> float:
    """Minimise the sum of t >= 0 with -t - 0.05 <= residual <= t + 0.05."""
    rows = np.hstack([np.vstack([MEASURED.T, -MEASURED.T]), -np.vstack([np.eye(40), np.eye(40)])])
    sign = np.arange(60) >= 20
    return linear_optimum(sign.astype(float), rows, np.append(SIGNAL, -SIGNAL) + 0.05, is_nonnegative=sign)


def two_stage() -> float:
    """Return the best profit over the demands: with y = min(x, demand) it is concave and linear between demands."""
    made = np.append(0, PIE_DEMAND)[:, None]
    sold = np.minimum(made, PIE_DEMAND)
    return float((-2 * made[:, 0] + (5 * sold - 0.1 * (made - sold)).mean(axis=1)).max())


def risk_averse() -> float:
    """Return the best mean profit of the worst 40 of 100 scenarios.

    The conditional value at risk at 0.4 is this mean. The profit increases with the demand, for every x, so the worst
    scenarios are those of the 40 lowest demands; between these the mean is linear in x, and it decreases above them.
    """
    made, lowest = np.append(0, PIE_DEMAND)[:, None], np.sort(PIE_DEMAND)[:40]
    sold = np.minimum(made, lowest)
    return float((-2 * made[:, 0] + (5 * sold - 0.1 * (made - sold)).mean(axis=1)).max())
