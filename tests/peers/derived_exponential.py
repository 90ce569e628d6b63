"""Optimal values of the programs with logarithms and exponentials."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from tests.peers.exponential import (
    A_ENTROPY,
    CHANCES,
    CHANNEL_GAINS,
    F_ENTROPY,
    HALFSPACES,
    LABELS,
    NOISE,
    ODDS,
    POINTS,
    X_ENTROPY,
)
from tests.peers.optima import smooth_optimum

Vector = NDArray[np.float64]


def logistic_loss(beta: Vector) -> tuple[float, Vector]:
    """Return the sum of log(1 + exp(-margin)) and its gradient."""
    rows = (2 * LABELS - 1)[:, None] * POINTS
    margins = rows @ beta
    return float(np.logaddexp(0, -margins).sum()), -rows.T @ expit(-margins)


def logistic_regression() -> float:
    """Descend over beta = p - n with p, n >= 0: the norm is linear there."""

    def loss(parts: Vector) -> tuple[float, Vector]:
        value, gradient = logistic_loss(parts[:6] - parts[6:])
        return value / 50 + 0.01 * parts.sum(), np.append(gradient, -gradient) / 50 + 0.01

    return -smooth_optimum(loss, [np.zeros(12), np.ones(12)], is_nonnegative=True)[0]


def logistic_ridge() -> float:
    """Descend from two points; the norm is smooth because the optimum is not zero."""

    def loss(beta: Vector) -> tuple[float, Vector]:
        value, gradient = logistic_loss(beta)
        return value + 2 * float(np.linalg.norm(beta)), gradient + 2 * beta / np.linalg.norm(beta)

    return smooth_optimum(loss, [np.ones(6), np.arange(-2.0, 4.0)])[0]


def water_filling() -> float:
    """Find the water level at which the amounts x = max(level - NOISE, 0) have the sum 1."""
    level = brentq(lambda level: np.maximum(level - NOISE, 0).sum() - 1, 0, 10, xtol=1e-14)
    return float(np.log(np.maximum(level, NOISE)).sum())


def power_allocation() -> float:
    """Give all power and bandwidth to the best channel.

    Every rate W log(1 + a P / W) is at most that with the largest a, and the rate of sums is at least the sum of
    rates (it is concave and homogeneous in P and W).
    """
    return -float(np.log(1 + CHANNEL_GAINS.max() * 0.5))


def largest_entropy(rows: Vector, right: Vector, equations: int) -> float:
    """Return the largest entropy of x over the rows: the first ones are equations, the others inequalities <=.

    The dual problem is to minimise sum(x) + right'l over multipliers l of the rows, with x = exp(-1 - rows'l). Its x is
    feasible, and its entropy is the value of the dual.
    """
    signs = np.arange(len(rows)) >= equations
    # A free multiplier is the difference of two that are not negative.
    rows, right = np.vstack([rows, -rows[~signs]]), np.append(right, -right[~signs])

    def dual(multipliers: Vector) -> tuple[float, Vector]:
        x = np.exp(-1 - rows.T @ multipliers)
        return float(x.sum() + right @ multipliers), right - rows @ x

    starts = [np.zeros(len(rows)), np.linspace(0, 1, len(rows))]
    value, multipliers = smooth_optimum(dual, starts, is_nonnegative=True)
    x = np.exp(-1 - rows.T @ multipliers)
    assert (rows @ x <= right + 1e-6).all()
    assert abs(value + x @ np.log(x)) <= 1e-6
    return value


def max_entropy() -> float:
    """Solve the dual problem with six multipliers."""
    right = np.append(A_ENTROPY @ X_ENTROPY, F_ENTROPY @ X_ENTROPY + 0.1)
    return largest_entropy(np.vstack([A_ENTROPY, F_ENTROPY]), right, 4)


def entropy_on_simplex() -> float:
    """Solve the dual problem with three multipliers."""
    return largest_entropy(np.vstack([np.ones(8), F_ENTROPY]), np.array([1.0, -0.2, -0.2]), 1)


def kelly_gambling() -> float:
    """Enumerate the outcomes that are bet on.

    Let the wealth be odds * chance if an outcome of the set wins, and the reserve otherwise. The reserve is then
    (1 - sum of chances) / (1 - sum of 1 / odds), and the bet is chance - reserve / odds. Without a reserve, the bets
    are the chances, and the growth is negative here; so the optimum has a reserve, and it is one of these bets.
    """
    odds = ODDS[:, :3].diagonal()
    best = -np.inf
    for chosen in itertools.product([False, True], repeat=3):
        bet = np.array(chosen)
        reserve = (1 - CHANCES[bet].sum()) / (1 - (1 / odds[bet]).sum())
        if reserve > 0 and (reserve / odds <= CHANCES)[bet].all():
            best = max(best, CHANCES @ np.log(np.where(bet, CHANCES * odds, reserve)))
    return float(best)


def analytic_centre() -> float:
    """Take Newton steps from zero until the decrement proves the value.

    The function is self-concordant: with a decrement d < 0.6, the value is within d^2 of the optimum.
    """
    x = np.zeros(2)
    for _ in range(50):
        slacks = 1 - HALFSPACES @ x
        gradient = -HALFSPACES.T @ (1 / slacks)
        hessian = HALFSPACES.T @ np.diag(slacks**-2) @ HALFSPACES
        step = np.linalg.solve(hessian, gradient)
        decrement = float(np.sqrt(gradient @ step))
        x = x + step / (1 + decrement)
    assert decrement <= 1e-8
    return float(np.log(1 - HALFSPACES @ x).sum())


def largest_box() -> float:
    """Bound the volume by the walls and the floor, and state the box that attains the bound.

    With 2 (h w + h d) <= 200 and w d <= 60, the volume h w d is at most 100 w d / (w + d) <= 50 sqrt(w d), because
    w + d >= 2 sqrt(w d). It is attained at w = d = sqrt(60), h = 50 / w, whose ratios are within the limits.
    """
    w = np.sqrt(60)
    assert 0.8 <= 50 / w / w <= 1.2
    return float(np.log(50 * w))
