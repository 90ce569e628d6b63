"""Optimal values of the programs with matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from tests.peers.matrices import HEIGHTS, IMAGE, REVENUE, SEEN, VIEWS, WIDTHS
from tests.peers.optima import assert_tight, linear_optimum

Vector = NDArray[np.float64]


def factorization_step() -> float:
    """Solve nonnegative least squares per column."""
    targets = HEIGHTS @ (WIDTHS + 1) - 1
    return float(np.linalg.norm([nnls(HEIGHTS, target)[1] for target in targets.T]))


def inpainting() -> float:
    """Replace the norms |s| by sqrt(|s|^2 + e^2), and lower e, with Newton steps for the unknown pixels.

    For every pair of differences s, p = s / sqrt(|s|^2 + e^2) has a norm of at most 1. If the transposed differences
    of p are zero at the unknown pixels, p is feasible for the dual problem, and its value bounds the total variation.
    """
    pixels = np.arange(100).reshape(10, 10)
    here, down, right = pixels[:-1, :-1].ravel(), pixels[1:, :-1].ravel(), pixels[:-1, 1:].ravel()
    D = np.stack([np.eye(100)[down] - np.eye(100)[here], np.eye(100)[right] - np.eye(100)[here]], axis=1)
    # Pixels that no difference has do not matter.
    unknown = ~SEEN.ravel() & np.abs(D).any(axis=(0, 1))
    known, D = D[:, :, ~unknown] @ IMAGE.ravel()[~unknown], D[:, :, unknown]
    u = np.full(unknown.sum(), IMAGE.mean())

    def smoothed(u: Vector, e: float) -> tuple[Vector, Vector]:
        slopes = known + D @ u
        return slopes, np.sqrt((slopes**2).sum(axis=1) + e**2)

    for e in np.logspace(0, -7, 36):
        for _ in range(60):
            slopes, norms = smoothed(u, e)
            p = slopes / norms[:, None]
            gradient = np.einsum("ij,ijk->k", p, D)
            curvature = (np.eye(2) - p[:, :, None] * p[:, None, :]) / norms[:, None, None]
            hessian = np.einsum("ijk,ijl,ilm->km", D, curvature, D)
            step = -np.linalg.solve(hessian, gradient)
            length = 1.0
            while smoothed(u + length * step, e)[1].sum() > norms.sum() + 1e-4 * length * (gradient @ step) + 1e-13:
                length /= 2
            u = u + length * step
            if np.abs(gradient).max() <= 1e-8:
                break
    value, bound = np.linalg.norm(slopes, axis=1).sum(), (p * known).sum()
    assert np.abs(gradient).max() <= 1e-7
    assert_tight(float(value), float(bound))
    return float(value)


def advertising() -> float:
    """Maximise the sum of t with t <= income and t <= budget over (D, t); the rows of D are stacked."""
    income = np.zeros((4, 48))
    for row in range(4):
        income[row, 12 * row : 12 * row + 12] = REVENUE[row]
    G = np.vstack(
        [
            np.hstack([-income, np.eye(4)]),
            np.hstack([np.zeros((4, 48)), np.eye(4)]),
            np.hstack([np.kron(np.ones(4), np.eye(12)), np.zeros((12, 4))]),
            np.hstack([-np.kron(np.eye(4), np.ones(12)), np.zeros((4, 4))]),
        ]
    )
    h = np.concatenate([np.zeros(4), [5, 4, 6, 3], VIEWS, -np.ones(4)])
    return -linear_optimum(-np.append(np.zeros(48), np.ones(4)), G, h, is_nonnegative=np.arange(52) < 48)
