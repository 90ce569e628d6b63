"""Optimal values by numpy and scipy, checked so that the solvers of scipy need not be trusted.

Every function ends with assertions: the point is feasible, and a bound from multipliers equals its value. A smooth
convex function without constraints has a zero gradient instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, null_space, solve_triangular
from scipy.optimize import linprog, minimize, nnls

FEASIBILITY = 1e-7
GAP = 1e-7
"""Largest difference between a value and its bound, relative to the value."""
Vector = NDArray[np.float64]


def assert_tight(value: float, bound: float) -> None:
    """Check that a value and a bound on it agree."""
    assert abs(value - bound) <= GAP * abs(value), (value, bound)


def linear_optimum(
    c: Vector,
    G: Vector | None = None,
    h: Vector | None = None,
    A: Vector | None = None,
    b: Vector | None = None,
    is_nonnegative: bool | NDArray[np.bool_] = False,
) -> float:
    """Return the minimum of c'x over G x <= h, A x = b, with x_j >= 0 for the marked j.

    Multipliers l >= 0 and m with c + G'l + A'm = 0 (>= 0 for the marked j) prove that no c'x is below -h'l - b'm.
    """
    signed = np.broadcast_to(is_nonnegative, c.shape)
    rows, right = given_or_empty(G, h, len(c))
    equations, sides = given_or_empty(A, b, len(c))
    bounds = [(0 if sign else None, None) for sign in signed]
    found = linprog(c, rows, right, equations, sides, bounds=bounds)
    assert found.success, found.message
    x, of_rows, of_equations = found.x, -found.ineqlin.marginals, -found.eqlin.marginals
    assert (rows @ x - right <= FEASIBILITY).all()
    assert (np.abs(equations @ x - sides) <= FEASIBILITY).all()
    assert (x[signed] >= -FEASIBILITY).all()
    reduced = c + rows.T @ of_rows + equations.T @ of_equations
    assert (of_rows >= 0).all()
    assert (reduced >= -FEASIBILITY).all()
    assert (reduced[~signed] <= FEASIBILITY).all()
    assert_tight(float(c @ x), float(-right @ of_rows - sides @ of_equations))
    return float(c @ x)


def given_or_empty(rows: Vector | None, right: Vector | None, columns: int) -> tuple[Vector, Vector]:
    """Return a matrix and its right side, without rows if they are None."""
    return (np.zeros((0, columns)), np.zeros(0)) if rows is None or right is None else (rows, right)


def quadratic_optimum(
    P: Vector, q: Vector, G: Vector, h: Vector, A: Vector | None = None, b: Vector | None = None
) -> float:
    """Return the minimum of x'Px / 2 + q'x over G x <= h and A x = b, for a positive semidefinite P.

    Equations are eliminated: x = x0 + Z y, with the null space Z of A. A positive definite program is a projection on
    a polyhedron, which Lawson and Hanson compute by one nonnegative least squares. A singular P gets a proximal term,
    a multiple of |y - y_k|^2 / 2, and y_k is replaced by the solution until it no longer moves. Multipliers l >= 0 with
    P y + q + G'l = 0 prove that the minimum is at least -y'Py / 2 - h'l.
    """
    start, Z = np.zeros(len(q)), np.eye(len(q))
    if A is not None and b is not None:
        start, Z = np.linalg.lstsq(A, b, rcond=None)[0], null_space(A)
    constant = float(start @ P @ start / 2 + q @ start)
    P, q, G, h = Z.T @ P @ Z, Z.T @ (P @ start + q), G @ Z, h - G @ start
    eigenvalues = np.linalg.eigvalsh(P)
    weight = 0.0 if eigenvalues[0] > 1e-9 * eigenvalues[-1] else 1e-2 * eigenvalues[-1]
    y = np.zeros(len(q))
    for _ in range(500):
        previous = y
        y, multipliers = positive_definite_program(P + weight * np.eye(len(q)), q - weight * previous, G, h)
        if weight * np.abs(y - previous).max() <= 1e-10:
            break
    value = float(y @ P @ y / 2 + q @ y)
    assert (G @ y - h <= FEASIBILITY).all()
    assert (multipliers >= 0).all()
    assert np.abs(P @ y + q + G.T @ multipliers).max() <= FEASIBILITY * max(1.0, np.abs(q).max())
    assert_tight(value, float(-y @ P @ y / 2 - h @ multipliers))
    return value + constant


def positive_definite_program(P: Vector, q: Vector, G: Vector, h: Vector) -> tuple[Vector, Vector]:
    """Return the minimiser of y'Py / 2 + q'y over G y <= h, and the multipliers of the rows.

    With P = L L' and z = L'(y + inv(P) q), it is the shortest z with M z >= k. If u >= 0 minimises the length of
    r = (M'u, k'u - 1), then z = -r[:-1] / r[-1] (Lawson and Hanson, Solving least squares problems, 23.4).
    """
    L = np.linalg.cholesky(P)
    centre = -cho_solve((L, True), q)
    M, k = -solve_triangular(L, G.T, lower=True).T, G @ centre - h
    E = np.vstack([M.T, k])
    u, _ = nnls(E, np.eye(len(E))[-1], maxiter=100 * len(k))
    r = E @ u - np.eye(len(E))[-1]
    return centre + solve_triangular(L.T, -r[:-1] / r[-1]), -u / r[-1]


def smooth_optimum(
    function: Callable[[Vector], tuple[float, Vector]],
    starts: Sequence[Vector],
    is_nonnegative: bool = False,
) -> tuple[float, Vector]:
    """Return the minimum of a smooth convex function, given with its gradient, and where it is.

    The starts must lead to one value, with a gradient of zero (pointing inwards at a bound).
    """
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 100_000, "maxcor": 50}
    ends = []
    for start in starts:
        bounds = [(0, None)] * len(start) if is_nonnegative else None
        x = minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        value, gradient = function(x)
        step = np.maximum(x - gradient, 0) - x if is_nonnegative else gradient
        assert np.abs(step).max() <= 1e-6 * max(1.0, abs(value)), np.abs(step).max()
        ends.append((float(value), x))
    values = [value for value, _ in ends]
    assert_tight(max(values), min(values))
    return min(ends, key=lambda end: end[0])


def smallest_peak(R: Vector, d: Vector) -> float:
    """Return the minimum over x of the largest norm |R_i x - d_i|, for R of shape (m, 2, n) and d of shape (m, 2).

    Any weights p >= 0 of sum 1 prove a bound: the maximum of squares is at least their mean with the weights p, and the
    least mean is a problem of least squares. The weights chosen make the gradients of the largest squares cancel.
    """
    m, _, n = R.shape

    def residuals(x: Vector) -> Vector:
        return R @ x[:n] - d

    def room(x: Vector) -> Vector:
        return np.asarray(x[n] - (residuals(x) ** 2).sum(axis=1))

    def room_gradient(x: Vector) -> Vector:
        return np.hstack([-2 * np.einsum("ij,ijk->ik", residuals(x), R), np.ones((m, 1))])

    fit = np.linalg.lstsq(R.reshape(-1, n), d.ravel(), rcond=None)[0]
    x = np.append(fit, (residuals(np.append(fit, 0)) ** 2).sum(axis=1).max())
    constraint = {"type": "ineq", "fun": room, "jac": room_gradient}
    options = {"ftol": 1e-15, "maxiter": 1000}
    last = np.eye(n + 1)[n]
    x = minimize(lambda x: x[n], x, jac=lambda _: last, constraints=constraint, options=options).x
    squares = (residuals(x) ** 2).sum(axis=1)
    largest = squares >= squares.max() * (1 - 1e-4)
    gradients = -room_gradient(x)[largest, :n]
    p, _ = nnls(np.vstack([gradients.T, np.ones(largest.sum())]), last)
    p = np.sqrt(p / p.sum())[:, None]
    rows, right = (p[..., None] * R[largest]).reshape(-1, n), (p * d[largest]).ravel()
    bound = np.linalg.norm(rows @ np.linalg.lstsq(rows, right, rcond=None)[0] - right)
    assert_tight(float(np.sqrt(squares.max())), float(bound))
    return float(np.sqrt(squares.max()))
