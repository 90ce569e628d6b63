"""Newton step of the proximal subproblem:  (diag(1, ..., 1, tau) + sigma [R e]'P [R e]) (dw, db) = -(g_w, g_b).

(g_w, g_b) is the gradient of the function that `proximal_step` minimises over (w, b), and R, e, a, tau and sigma are
the symbols of that module. kappa is that of `group_projection`. P is block diagonal over the groups. The support J_g of
a group g consists of its rows with a_r > 0. P is the identity on J_g if the group is below its cap, and otherwise I -
11'/(j + kappa) with j = |J_g|. This is the square of  I - (theta/j) 11'  with  theta = 1 - sqrt(kappa / (j + kappa)).

So [R e]'P [R e] = Z'Z. The rows of Z are those of [R e] in the supports; those of groups at their caps minus theta
times the mean over the support of their group. With F and z the features and the bias coefficients of Z, the system is
solved in one of three ways:

* by a Cholesky factorisation with one row per feature;
* by one of M = I/sigma + FF', with one row per row of Z, and a Schur complement for b,

      db = (z'M^-1 F g_w - g_b) / (tau + z'M^-1 z),    dw = F'M^-1 (F g_w - z db) - g_w;

* by conjugate gradients, if both would be larger than `MAX_FACTORISED_SIZE`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from milopt.arrays import Matrix, Vector
from milopt.solvers.native.margin_newton.reduced_rows import ReducedRows, as_dense

MAX_FACTORISED_SIZE = 2000
"""Largest size of a matrix that is factorised."""
DIAGONAL_SHIFTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)
"""Multiples of the mean of the diagonal that are added to it, in order of use, if a factorisation fails."""
MAX_CONJUGATE_STEPS, CONJUGATE_TOLERANCE = 500, 1e-4
"""Maximum number of steps of conjugate gradients, and the relative residual at which they stop."""


def newton_step(
    rows: ReducedRows, gradient: Vector, bias_gradient: float, sigma: float, tau: float, has_bias: bool
) -> tuple[Vector, float]:
    """Return the step (dw, db) of the system in the module docstring; db = 0 without a bias."""
    count, size = rows.shape
    if not count:
        return -gradient, -bias_gradient / tau if has_bias else 0.0
    if min(count, size) > MAX_FACTORISED_SIZE:
        return _conjugate_gradients(rows, gradient, bias_gradient, sigma, tau, has_bias)
    if size <= count:
        return _solve_by_features(rows, gradient, bias_gradient, sigma, tau, has_bias)
    return _solve_by_rows(rows, gradient, bias_gradient, sigma, tau, has_bias)


def _solve_by_features(
    rows: ReducedRows, gradient: Vector, bias_gradient: float, sigma: float, tau: float, has_bias: bool
) -> tuple[Vector, float]:
    """Solve with one row per feature."""
    F, z = rows.features, rows.bias
    size = F.shape[1]
    H = np.empty((size + has_bias, size + has_bias))
    H[:size, :size] = sigma * as_dense(F.T @ F)
    H[np.arange(size), np.arange(size)] += 1.0
    right = np.append(-gradient, -bias_gradient) if has_bias else -gradient
    if has_bias:
        H[size, :size] = H[:size, size] = sigma * np.asarray(F.T @ z)
        H[size, size] = tau + sigma * float(z @ z)
    step = _solve_definite(H, right)
    return (step[:size], float(step[size])) if has_bias else (step, 0.0)


def _solve_by_rows(
    rows: ReducedRows, gradient: Vector, bias_gradient: float, sigma: float, tau: float, has_bias: bool
) -> tuple[Vector, float]:
    """Solve with one row per row of Z."""
    z, M = rows.bias, rows.products()
    M[np.diag_indices_from(M)] += 1.0 / sigma
    Fg = rows.times(gradient)
    if not has_bias:
        return rows.transpose_times(_solve_definite(M, Fg)) - gradient, 0.0
    both = _solve_definite(M, np.stack([Fg, z], axis=1))
    db = (float(z @ both[:, 0]) - bias_gradient) / (tau + float(z @ both[:, 1]))
    return rows.transpose_times(both[:, 0] - db * both[:, 1]) - gradient, db


def _conjugate_gradients(
    rows: ReducedRows, gradient: Vector, bias_gradient: float, sigma: float, tau: float, has_bias: bool
) -> tuple[Vector, float]:
    """Solve approximately, by products with Z only, with the diagonal as preconditioner."""
    F, z = rows.features, rows.bias
    size = F.shape[1]
    squares = F.multiply(F).sum(axis=0) if isinstance(F, sp.csr_array) else np.einsum("ij,ij->j", F, F)
    diagonal = np.append(1.0 + sigma * np.asarray(squares).ravel(), tau + sigma * float(z @ z))
    x, r = np.zeros(size + 1), np.append(-gradient, -bias_gradient if has_bias else 0.0)
    p = y = r / diagonal
    rho, target = float(r @ y), CONJUGATE_TOLERANCE * float(np.linalg.norm(r))
    for _ in range(MAX_CONJUGATE_STEPS):
        t = F @ p[:size] + z * p[size]
        product = np.append(p[:size] + sigma * (F.T @ t), tau * p[size] + sigma * float(z @ t))
        length = rho / float(p @ product)
        x, r = x + length * p, r - length * product
        if np.linalg.norm(r) <= target:
            break
        y = r / diagonal
        rho, last = float(r @ y), rho
        p = y + (rho / last) * p
    return x[:size], float(x[size]) if has_bias else 0.0


def _solve_definite(matrix: Matrix, right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Solve a positive definite system; if rounding makes it indefinite, with a slightly larger diagonal."""
    mean = float(np.trace(matrix)) / len(matrix)
    for jitter in DIAGONAL_SHIFTS:
        shifted = matrix
        if jitter:
            shifted = matrix + jitter * mean * np.eye(len(matrix))
        try:
            return np.asarray(cho_solve(cho_factor(shifted, check_finite=False), right, check_finite=False))
        except np.linalg.LinAlgError:
            continue
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
