"""Principal pivoting for box QPs:  min 1/2 x'Px + q'x  s.t.  l <= x <= u,  P positive definite where it matters.

Guess which columns are free from the sign of  x - (P x + q) / diag(P), solve  P_FF x_F = -(q_F + P_FB x_B)  with the
others at their bounds, guess again: the primal-dual active set method. No part of P needs to be a diagonal of its own,
for after the first step the guess does not depend on the scale. From a good start (the last point of a sequence of
alike problems) it ends within a few factorisations. It may also cycle: then it gives up, and says so by None.
"""

from __future__ import annotations

import numpy as np

from milopt.compilation.quadratic import Vector
from milopt.solvers.box_qp_factor import Mask
from milopt.solvers.box_qp_newton import Point, Progress, Strict
from milopt.solvers.box_qp_split import Split

PIVOTS = 25
"""Guesses after which something slower and surer is tried."""


def pivot(
    parts: Split, q: Vector, lower: Vector, upper: Vector, start: Vector, tolerance: float, progress: Progress
) -> Point | None:
    """The minimum, or None where the guesses do not settle on a point whose projected gradient is `tolerance`."""
    curvature = parts.curvature
    if not (curvature > 0.0).all():
        return None
    judge = Strict(parts, parts.diagonal, q, lower, upper)
    first = judge.land(start, parts.inner(start), tolerance)
    if first.finished:
        return first
    x, gradient = start, first.gradient
    last: Mask | None = None
    fewest, patience = q.size + 1, 4
    for _ in range(PIVOTS):
        target = x - gradient / curvature
        free = (target > lower) & (target < upper)
        if last is not None and np.array_equal(free, last):
            break
        wrong = q.size if last is None else int((free != last).sum())
        fewest, patience = (wrong, 4) if wrong < fewest else (fewest, patience - 1)
        if patience < 0 or progress.expired:
            return None
        x = np.where(free, 0.0, np.clip(target, lower, upper))
        if free.any():
            solved = progress.factor.solve(parts, parts.diagonal, free, -(parts.times(x) + q)[free])
            if solved is None:
                return None
            x[free] = solved
        gradient, last = parts.times(x) + q, free
    else:
        return None
    if last is not None and last.any():
        # One refinement takes off what the factorisation of an ill-conditioned block left.
        solved = progress.factor.solve(parts, parts.diagonal, last, -gradient[last])
        if solved is not None:
            x = x.copy()
            x[last] += solved
    x = np.clip(x, lower, upper)
    point = judge.land(x, parts.inner(x), tolerance)
    return point if point.finished else None
