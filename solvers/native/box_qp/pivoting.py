"""Principal pivoting for box QPs:  min 1/2 x'Px + q'x  s.t.  l <= x <= u,  P positive definite where it matters.

Guess which columns are free from the sign of  x - (P x + q) / diag(P), solve  P_FF x_F = -(q_F + P_FB x_B)  with the
others at their bounds, guess again: the primal-dual active set method. No part of P needs to be a diagonal of its own,
for after the first step the guess does not depend on the scale. From a good start (the last point of a sequence of
alike problems) it ends within a few factorisations. Where whole guesses go in circles, one column at a time changes,
the last of the wrong ones, until fewer are wrong than ever before (Murty's rule). It may give up, and says so by None.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Mask, Vector
from milopt.solvers.native.box_qp.newton import Point, Progress, Strict

PIVOTS = 25
"""Guesses after which something slower and surer is tried."""
PATIENCE = 4
"""Whole guesses that may go by without fewer columns being wrong than ever before."""


def pivot(problem: Strict, start: Vector, tolerance: float, progress: Progress) -> Point | None:
    """The minimum, or None where the guesses do not settle on a point whose projected gradient is `tolerance`."""
    parts, diagonal, q, lower, upper = problem.parts, problem.diagonal, problem.q, problem.lower, problem.upper
    curvature = parts.curvature - parts.diagonal + diagonal
    if not (curvature > 0.0).all():
        return None
    first = problem.land(start, parts.inner(start), tolerance)
    if first.finished:
        return first
    x, gradient = start, first.gradient
    last: Mask | None = None
    fewest, patience = q.size + 1, PATIENCE
    for _ in range(PIVOTS):
        target = x - gradient / curvature
        free = (target > lower) & (target < upper)
        if last is not None:
            wrong = np.flatnonzero(free != last)
            if not wrong.size:
                break
            fewest, patience = (wrong.size, PATIENCE) if wrong.size < fewest else (fewest, patience - 1)
            if patience < 0:
                target[wrong[:-1]] = x[wrong[:-1]]
                free = last.copy()
                free[wrong[-1]] = ~free[wrong[-1]]
        if progress.expired:
            return None
        x = np.where(free, 0.0, np.clip(target, lower, upper))
        if free.any():
            solved = progress.factor.solve(parts, diagonal, free, -(parts.inner(x) + diagonal * x + q)[free])
            if solved is None:
                return None
            x[free] = solved
        gradient, last = parts.inner(x) + diagonal * x + q, free
    else:
        return None
    if last is not None and last.any():
        # One refinement takes off what the factorisation of an ill-conditioned block left.
        solved = progress.factor.solve(parts, diagonal, last, -gradient[last])
        if solved is not None:
            x = x.copy()
            x[last] += solved
    x = np.clip(x, lower, upper)
    point = problem.land(x, parts.inner(x), tolerance)
    return point if point.finished else None
