"""Principal pivoting for box QPs:  min 1/2 x'Px + q'x  s.t.  l <= x <= u,  P positive definite on the free columns.

Guess the free columns F: those for which  x - (P x + q) / diag(P)  is strictly between the bounds. With the others (B)
at their bounds, solve  P_FF x_F = -(q_F + P_FB x_B),  and guess again: the primal-dual active set method. In contrast
to `newton`, P needs no separate diagonal part, because after the first step the guess does not depend on the scaling.
From a good starting point (the solution of a similar problem) the method ends within a few factorisations. If the
guesses cycle, only one column changes per step, the last of the wrong columns, until fewer columns are wrong than ever
before (Murty's rule). The method may fail; `run_pivoting` then returns None.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Mask, Vector
from milopt.solvers.native.box_qp.newton import BoxPoint, BoxQPProgress, StrictBoxQP

MAX_ACTIVE_SET_GUESSES = 25
"""Maximum number of guesses, after which a slower and more reliable method is used."""
MAX_STALLED_ACTIVE_SET_GUESSES = 4
"""Number of full guesses without a new smallest number of wrong columns, after which Murty's rule is used.

A column is wrong if it is free in only one of two successive guesses.
"""


def run_pivoting(problem: StrictBoxQP, start: Vector, tolerance: float, progress: BoxQPProgress) -> BoxPoint | None:
    """Return the minimum, found by pivoting from `start`, or None if pivoting fails.

    Pivoting fails if MAX_ACTIVE_SET_GUESSES guesses are not enough, if the relative projected gradient of the final
    point exceeds `tolerance`, if a factorisation fails, if a curvature is not positive, or if the time is up.
    """
    parts, diagonal, q, lower, upper = problem.parts, problem.diagonal, problem.q, problem.lower, problem.upper
    curvature = parts.curvature - parts.diagonal + diagonal
    if not (curvature > 0.0).all():
        return None
    first = problem.evaluate_clipped(start, parts.times_without_diagonal(start), tolerance)
    if first.is_optimal:
        return first
    x, gradient = start, first.gradient
    last_free: Mask | None = None
    fewest, guesses_left = q.size + 1, MAX_STALLED_ACTIVE_SET_GUESSES
    for _ in range(MAX_ACTIVE_SET_GUESSES):
        target = x - gradient / curvature
        free = (target > lower) & (target < upper)
        if last_free is not None:
            wrong = np.flatnonzero(free != last_free)
            if not wrong.size:
                break
            fewest, guesses_left = (
                (wrong.size, MAX_STALLED_ACTIVE_SET_GUESSES) if wrong.size < fewest else (fewest, guesses_left - 1)
            )
            if guesses_left < 0:
                target[wrong[:-1]] = x[wrong[:-1]]
                free = last_free.copy()
                free[wrong[-1]] = ~free[wrong[-1]]
        if progress.is_expired:
            return None
        x = np.where(free, 0.0, np.clip(target, lower, upper))
        if free.any():
            solution = progress.factor.solve(
                parts, diagonal, free, -(parts.times_without_diagonal(x) + diagonal * x + q)[free]
            )
            if solution is None:
                return None
            x[free] = solution
        gradient, last_free = parts.times_without_diagonal(x) + diagonal * x + q, free
    else:
        return None
    if last_free is not None and last_free.any():
        # One step of iterative refinement reduces the error of an ill-conditioned factorisation.
        solution = progress.factor.solve(parts, diagonal, last_free, -gradient[last_free])
        if solution is not None:
            x = x.copy()
            x[last_free] += solution
    x = np.clip(x, lower, upper)
    point = problem.evaluate_clipped(x, parts.times_without_diagonal(x), tolerance)
    return point if point.is_optimal else None
