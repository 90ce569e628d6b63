"""A dense interior-point method for the master of MILES, on bare arrays; `benchmarks/miles_columns.py` measures it.

    max  1'd   s.t.  s = A'd,  -lam <= s <= lam,   y'd = 0,   0 <= d <= c

A has one row per bag and one column per similarity. Each iteration is a predictor-corrector step of Mehrotra. The
normal equations have one row per column of A, so an iteration costs one product of m p^2 operations for m bags and p
columns.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from milopt.arrays import Matrix, Vector

STEP_SHARE = 0.995
"""Share of the step to the boundary that is made."""


def solve_dual(A: Matrix, y: Vector, lam: float, c: Vector, target: float = 1e-8) -> tuple[float, float, int]:
    """Return the objective of the primal point, that of the dual point, and the number of iterations."""
    d, s, w, b = c / 2, np.zeros(A.shape[1]), np.zeros(A.shape[1]), 0.0
    bound_prices = [np.ones(d.size), np.ones(d.size), np.full(s.size, 1 / lam), np.full(s.size, 1 / lam)]
    primal = dual = np.inf
    for iteration in range(100):
        distances = [d, c - d, s + lam, lam - s]
        scores = A @ w + y * b
        primal, dual = float(lam * np.abs(w).sum() + c @ np.maximum(0, 1 - scores)), float(d.sum())
        errors = 1 - scores + bound_prices[0] - bound_prices[1], w + bound_prices[2] - bound_prices[3]
        residuals = s - A.T @ d, -float(y @ d)
        feasible = max(np.abs(residuals[0]).max(), abs(residuals[1])) <= 1e-9
        if feasible and primal - dual <= target * max(1.0, abs(primal)):
            return primal, dual, iteration
        products = [distance * price for distance, price in zip(distances, bound_prices, strict=True)]
        mean = sum(product.sum() for product in products) / sum(product.size for product in products)
        solve = _newton_solver(A, y, distances, bound_prices, errors, residuals)
        affine = solve([-product for product in products])
        lengths = _lengths(distances, bound_prices, affine, 1.0)
        moved = sum(
            (distance + lengths[0] * sign * step) @ (price + lengths[1] * change)
            for distance, price, sign, step, change in zip(
                distances, bound_prices, (1, -1, 1, -1), _bound_steps(affine), affine[4], strict=True
            )
        )
        centre = mean * (moved / sum(product.size for product in products) / mean) ** 3
        step = solve(
            [
                centre - product - sign * change * price_change
                for product, sign, change, price_change in zip(
                    products, (1, -1, 1, -1), _bound_steps(affine), affine[4], strict=True
                )
            ]
        )
        length, price_length = _lengths(distances, bound_prices, step, STEP_SHARE)
        d, s = d + length * step[0], s + length * step[1]
        w, b = w + price_length * step[2], b + price_length * step[3]
        bound_prices = [price + price_length * change for price, change in zip(bound_prices, step[4], strict=True)]
    return primal, dual, 100


def _newton_solver(A, y, distances, prices, errors, residuals):
    """Return a function from complementarity targets to the Newton step (d, s, w, b, bound prices)."""
    of_d = prices[0] / distances[0] + prices[1] / distances[1]
    of_s = prices[2] / distances[2] + prices[3] / distances[3]
    scaled = A / of_d[:, None]
    normal = A.T @ scaled
    normal[np.diag_indices_from(normal)] += 1 / of_s
    factor = cho_factor(normal)
    row = scaled.T @ y
    solved_row = cho_solve(factor, row)

    def solve(targets):
        right_d = errors[0] + targets[0] / distances[0] - targets[1] / distances[1]
        right_s = errors[1] + targets[2] / distances[2] - targets[3] / distances[3]
        right = cho_solve(factor, A.T @ (right_d / of_d) - right_s / of_s - residuals[0])
        db = ((y * right_d / of_d).sum() - residuals[1] - row @ right) / ((y * y / of_d).sum() - row @ solved_row)
        dw = right - solved_row * db
        dd, ds = (right_d - A @ dw - y * db) / of_d, (right_s + dw) / of_s
        steps = (dd, -dd, ds, -ds)
        changes = [
            (target - price * step) / distance
            for target, price, step, distance in zip(targets, prices, steps, distances, strict=True)
        ]
        return dd, ds, dw, db, changes

    return solve


def _bound_steps(step):
    """Return the change of d, d, s and s, one per pair of a bound and its price."""
    return step[0], step[0], step[1], step[1]


def _lengths(distances, prices, step, share):
    """Return the step lengths of the point and of the prices."""
    moves = zip(distances, (1, -1, 1, -1), _bound_steps(step), strict=True)
    point = [_length(at, sign * change) for at, sign, change in moves]
    price = [_length(at, change) for at, change in zip(prices, step[4], strict=True)]
    return min(1.0, share * min(point)), min(1.0, share * min(price))


def _length(at: Vector, change: Vector) -> float:
    """Return the largest step, at most 1 / `STEP_SHARE`, for which at + step * change is not negative."""
    falling = change < 0
    return float(np.min(-at[falling] / change[falling], initial=1 / STEP_SHARE))
