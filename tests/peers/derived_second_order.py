"""Optimal values of the second-order cone programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import minimize, nnls

from tests.peers.optima import assert_tight, smallest_peak
from tests.peers.second_order import (
    JUMP_INPUT,
    JUMP_OUTPUT,
    LIMITS,
    RESPONSE,
    ROWS,
    SIDE,
    STEERING,
    TOWARDS,
    WANTED,
)


def jump_rotated_soc() -> float:
    """Project the target on the data."""
    theta = JUMP_INPUT @ JUMP_OUTPUT / (JUMP_INPUT @ JUMP_INPUT)
    return float(((theta * JUMP_INPUT - JUMP_OUTPUT) ** 2).sum())


def robust_linear_program() -> float:
    """Ascend, then prove the value: for l >= 0 with |1 - ROWS'l| <= 0.3 sum(l), no sum(x) is above LIMITS'l."""

    def room(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(LIMITS - ROWS @ x - 0.3 * np.linalg.norm(x))

    def gradients(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(ROWS + 0.3 * x / np.linalg.norm(x))

    constraint = {"type": "ineq", "fun": room, "jac": lambda x: -gradients(x)}
    x = minimize(
        lambda x: -x.sum(),
        np.full(3, 0.01),
        jac=lambda x: -np.ones(3),
        constraints=constraint,
        options={"ftol": 1e-15, "maxiter": 500},
    ).x
    active = room(x) <= 1e-6
    multipliers, _ = nnls(gradients(x)[active].T, np.ones(3))
    assert (room(x) >= -1e-8).all()
    assert np.linalg.norm(1 - ROWS[active].T @ multipliers) <= 0.3 * multipliers.sum() + 1e-7
    assert_tight(float(x.sum()), float(LIMITS[active] @ multipliers))
    return float(x.sum())


def antenna() -> float:
    """Eliminate the two equations of the direction; the largest response at the side remains."""
    real = np.stack([np.hstack([STEERING.real, -STEERING.imag]), np.hstack([STEERING.imag, STEERING.real])], axis=1)
    start, Z = np.linalg.lstsq(real[TOWARDS], np.array([1.0, 0.0]), rcond=None)[0], null_space(real[TOWARDS])
    return smallest_peak(real[SIDE] @ Z, -real[SIDE] @ start)


def fir_filter() -> float:
    """Minimise the largest error over the frequencies."""
    return smallest_peak(np.stack([RESPONSE.real, RESPONSE.imag], axis=1), np.stack([WANTED.real, WANTED.imag], axis=1))
