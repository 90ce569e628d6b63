"""Optimal values of control and estimation, with the states eliminated: they are linear in start and inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.peers.control import GLIDE_A, GLIDE_B, MEASURED, SENSOR, START, TARGET, A, B, T
from tests.peers.optima import linear_optimum, quadratic_optimum, smooth_optimum

Matrix = NDArray[np.float64]


def trajectory(A: Matrix, B: Matrix, steps: int) -> tuple[Matrix, Matrix]:
    """Return the maps of the start and of the stacked inputs (step by step) to the stacked states 0, ..., steps."""
    n, m = B.shape
    of_start, of_inputs = np.zeros((steps + 1, n, n)), np.zeros((steps + 1, n, steps * m))
    of_start[0] = np.eye(n)
    for t in range(steps):
        of_start[t + 1] = A @ of_start[t]
        of_inputs[t + 1] = A @ of_inputs[t]
        of_inputs[t + 1, :, t * m : (t + 1) * m] += B
    return of_start.reshape(-1, n), of_inputs.reshape(-1, steps * m)


def control() -> float:
    """Minimise over the inputs in a box, with eight equations for the end."""
    of_start, of_inputs = trajectory(A, B, T)
    free = of_start @ START
    P, q = 2 * (of_inputs.T @ of_inputs + np.eye(2 * T)), 2 * of_inputs.T @ free
    G, h = np.vstack([np.eye(2 * T), -np.eye(2 * T)]), np.ones(4 * T)
    return quadratic_optimum(P, q, G, h, of_inputs[-8:], -free[-8:]) + float(free[8:] @ free[8:])


def control_by_steps() -> float:
    """Return the same value: the declaration differs, the problem does not."""
    return control()


def least_fuel() -> float:
    """Minimise the sum of absolute values of inputs along the line to the target.

    Both axes move alike, and the end asks for nothing across the line from 0 to the target. The components of the
    inputs along the line reach the same end and are not longer, so that a program with scalar inputs p - n remains.
    """
    axis_a, axis_b = GLIDE_A[::2, ::2], GLIDE_B[::2, :1]
    of_inputs = trajectory(axis_a, axis_b, 30)[1][-2:]
    end = np.array([np.linalg.norm(TARGET[:2]), 0.0])
    limits = np.hstack([np.eye(30), np.eye(30)])
    equations = np.hstack([of_inputs, -of_inputs])
    return linear_optimum(np.ones(60), limits, np.full(30, 4.0), equations, end, is_nonnegative=True)


def measurements(sensor: Matrix) -> Matrix:
    """Return the map of the start and the disturbances to the outputs of the sensor, step by step."""
    of_start, of_inputs = trajectory(GLIDE_A, GLIDE_B, 30)
    return np.kron(np.eye(30), sensor) @ np.hstack([of_start, of_inputs])[:-4]


def kalman() -> float:
    """Solve least squares for the start and the disturbances."""
    rows = np.vstack([np.hstack([np.zeros((60, 4)), np.eye(60)]), np.sqrt(0.2) * measurements(SENSOR)])
    right = np.append(np.zeros(60), np.sqrt(0.2) * MEASURED.T.ravel())
    return float(((rows @ np.linalg.lstsq(rows, right, rcond=None)[0] - right) ** 2).sum())


def robust_kalman() -> float:
    """Descend over the start and the disturbances: 2 |v|^2 or 8 |v| - 8 has the derivative 4 v, of a norm up to 8."""
    rows, right = measurements(SENSOR), MEASURED.T.ravel()
    # Orthonormal coordinates: the squares of all disturbances and residuals have the Hessian 2 I.
    hessian = rows.T @ rows + np.diag(np.append(np.zeros(4), np.ones(60)))
    coordinates = np.linalg.inv(np.linalg.cholesky(hessian)).T

    def loss(z: Matrix) -> tuple[float, Matrix]:
        x = coordinates @ z
        v = (right - rows @ x).reshape(30, 2)
        norms = np.linalg.norm(v, axis=1)
        losses = 2 * np.where(norms <= 2, norms**2, 4 * norms - 4)
        pull = 4 * v * np.minimum(1, 2 / np.maximum(norms, 1e-12))[:, None]
        gradient = np.append(np.zeros(4), 2 * x[4:]) - rows.T @ pull.ravel()
        return float(x[4:] @ x[4:] + losses.sum()), coordinates.T @ gradient

    return smooth_optimum(loss, [np.zeros(64), np.ones(64)])[0]
