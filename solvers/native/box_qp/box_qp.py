"""Box-constrained QPs:  min 1/2 x'Px + q'x  s.t.  l <= x <= u,  P positive semidefinite, bounds possibly infinite.

From a start, a few epochs of coordinate descent, then principal pivoting; where that does not settle, or there is no
start, more epochs, then semismooth Newton. Where P has no diagonal part of its own to lean on, pivoting is tried first
without a start too; where that does not settle, P is lent a diagonal:
x_{k+1} = argmin 1/2 x'Px + q'x + (sigma/2) ||x - x_k||^2  over the box, the proximal point method. Its steps
x_{k+1} - x_k tend to a ray of descent when there is no minimum:  P d = 0, q'd < 0, d in the box's recession cone.

All of this is done in columns of about one curvature: if those of P are of very different sizes, x = D u first.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.status import Termination
from milopt.solvers.native.box_qp.newton import Point, Progress, Strict, newton, projected_gradient
from milopt.solvers.native.box_qp.pivoting import pivot
from milopt.solvers.native.box_qp.split import Split

TOLERANCE = 1e-12
"""Projected gradient, relative to the terms that cancel in it, at which to stop."""
ACCEPTED = 1e-8
"""The same, at which a point that cannot be improved further is still called optimal."""
EPOCHS_STRICT, EPOCHS_LENT, EPOCHS_RESCUE = 5, 30, 200
"""Epochs of coordinate descent before Newton's method: with a diagonal of its own, with a lent one, after a stall."""
EPOCHS_AGAIN = 10
"""The same from a start, before pivoting: each costs far less than the guesses that it saves."""
WORTHWHILE = 100
"""Columns from which coordinate descent pays for itself."""
OUTER = 60
PIVOTED = (1e-4, 1e-6, 1e-8, *(1e-9,) * 4)
"""The same by pivoting, whose steps are quicker, and go astray where hardly anything is lent from the first."""
NOISE = 1e-12
"""Entries of a direction, in proportion to its largest, that are rounding."""
LENT = (1e-2, 1e-4, 1e-7, 1e-9, 1e-11)
"""sigma over the largest curvature, from the first proximal step on; one at the level of rounding follows and stays."""


@dataclass(frozen=True)
class BoxAnswer:
    """How a box QP ended, and its best point: None when the box is empty or a separable objective has no minimum."""

    termination: Termination
    reason: str
    x: Vector | None
    residual: float = math.nan
    """The largest projected gradient."""
    factorisations: int = 0
    interrupted: bool = False
    """Ended by Ctrl-C."""


def solve_box_qp(
    parts: Split,
    q: Vector,
    lower: Vector,
    upper: Vector,
    start: Vector | None = None,
    time_limit: float | None = None,
) -> BoxAnswer:
    """Minimise over the box; P is taken to be positive semidefinite (`prove_convex` says whether it is)."""
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    empty = np.flatnonzero(lower > upper)
    if empty.size:
        i = int(empty[0])
        reason = f"column {i} has lower bound {lower[i]:.6g} above its upper bound {upper[i]:.6g}"
        return BoxAnswer(Termination.INFEASIBLE, reason, None)
    origin = np.zeros(q.size) if start is None else start
    x = np.clip(origin, lower, upper)
    if parts.separable:
        return _separable(parts.diagonal, q, lower, upper, x)
    units = parts.units()
    if units is not None:
        left = None if time_limit is None else deadline - time.perf_counter()
        start = None if start is None else start / units
        scaled = solve_box_qp(parts.in_units(units), q * units, lower / units, upper / units, start, left)
        return scaled if scaled.x is None else replace(scaled, x=np.clip(units * scaled.x, lower, upper))
    progress = Progress(deadline)
    try:
        problem = Strict(parts, parts.diagonal, q, lower, upper)
        if start is not None:
            if q.size >= WORTHWHILE and not problem.land(x, parts.inner(x), TOLERANCE).finished:
                x = _swept(problem, x, EPOCHS_AGAIN)
            settled = _pivoted(problem, x, progress)
            if settled is not None:
                return _judge(parts, settled, progress)
        strict = _strict(parts, lower, upper)
        for epochs in (EPOCHS_STRICT if strict else EPOCHS_LENT, EPOCHS_RESCUE):
            if q.size >= WORTHWHILE or epochs == EPOCHS_RESCUE:
                x = _swept(problem, x, epochs)
            if start is None and not strict and epochs == EPOCHS_LENT and q.size >= WORTHWHILE:
                settled = pivot(problem, x, TOLERANCE, progress)
                if settled is not None:
                    return _judge(parts, settled, progress)
            found = _minimise(parts, q, lower, upper, x, progress)
            if found.termination is not Termination.STALLED or found.x is None:
                break
            x = found.x
        return found
    except KeyboardInterrupt:
        x = x if progress.best is None else progress.best.x
        return BoxAnswer(Termination.LIMIT, "interrupted", x, factorisations=progress.factor.count, interrupted=True)


def _swept(problem: Strict, x: Vector, epochs: int) -> Vector:
    """By coordinate descent from x."""
    # numba takes a second to load, longer than Newton's method on a few columns.
    from milopt.solvers.native.box_qp.sweeps import sweeps

    return sweeps(problem.parts, problem.q, problem.lower, problem.upper, x, epochs)


def _pivoted(problem: Strict, x: Vector, progress: Progress) -> Point | None:
    """By pivoting from x; where P is singular on what pivoting meets, with next to nothing lent to its diagonal."""
    point = pivot(problem, x, TOLERANCE, progress)
    if point is not None or progress.factor.lower is not None:
        return point
    parts = problem.parts
    largest = float(parts.curvature.max())
    for share in PIVOTED:
        sigma = share * largest
        lent = pivot(replace(problem, diagonal=parts.diagonal + sigma, q=problem.q - sigma * x), x, TOLERANCE, progress)
        if lent is None:
            return None
        x = lent.x
        point = problem.land(x, parts.inner(x), TOLERANCE)
        if point.finished:
            return point
    return None


def _strict(parts: Split, lower: Vector, upper: Vector) -> bool:
    """Whether the diagonal of P is strong enough to need no proximal term, on the columns that may move."""
    own = float(parts.diagonal[lower < upper].min(initial=math.inf))
    # Fixed columns are divided by it too.
    return bool(np.all(parts.diagonal > 0.0)) and own > LENT[-2] * float(parts.curvature.max())


def _minimise(parts: Split, q: Vector, lower: Vector, upper: Vector, x: Vector, progress: Progress) -> BoxAnswer:
    """Newton's method from x, with a diagonal lent to P when it has too little of its own."""
    problem = Strict(parts, parts.diagonal, q, lower, upper)
    first = problem.land(x, parts.inner(x), TOLERANCE)
    if first.finished:
        return _judge(parts, first, progress)
    if _strict(parts, lower, upper):
        return _judge(parts, newton(problem, x, TOLERANCE, progress), progress)
    return _proximal(parts, q, lower, upper, first, progress)


def _judge(parts: Split, point: Point, progress: Progress) -> BoxAnswer:
    count = progress.factor.count
    reason = f"projected gradient {point.residual:.1e} after {count} factorisations"
    # No point is known to be better than what rounding leaves in its own gradient.
    if point.residual <= ACCEPTED * point.scale or point.residual <= parts.rounding(point.x):
        termination = Termination.OPTIMAL
    elif progress.expired:
        termination, reason = Termination.LIMIT, f"time limit; {reason}"
    else:
        termination = Termination.STALLED
    return BoxAnswer(termination, reason, point.x, point.residual, count)


def _proximal(
    parts: Split,
    q: Vector,
    lower: Vector,
    upper: Vector,
    best: Point,
    progress: Progress,
) -> BoxAnswer:
    """The proximal point method from the point `best`, with Newton's method for each step."""
    x, largest = best.x, float(parts.curvature.max()) or 1.0
    # The last one is about what rounding may take from the smallest eigenvalue of a singular block.
    lent = (*LENT, 20 * x.size * float(np.finfo(np.float64).eps))
    stale, sigma, diagonal = 0, 0.0, parts.diagonal
    for outer in range(OUTER):
        if outer < len(lent):
            sigma = lent[outer] * largest
            diagonal = parts.diagonal + sigma
        problem = Strict(parts, diagonal, q - sigma * x, lower, upper)
        inner = newton(problem, x, TOLERANCE, progress)
        change = inner.x - x
        gradient = inner.gradient - sigma * change
        residual = projected_gradient(inner.x, gradient, lower, upper)
        # The lent terms are large and do not count: the scale is that of P x and q.
        scale = float(max(np.abs(q).max(), np.abs(gradient - q).max()))
        point = Point(inner.x, gradient, residual, scale, residual <= TOLERANCE * scale)
        x = inner.x
        if descends_forever(parts, q, lower, upper, change, largest):
            reason = "P d = 0 and q'd < 0 along a direction d that never leaves the box"
            return BoxAnswer(Termination.UNBOUNDED, reason, x, residual, progress.factor.count)
        stale = 0 if residual < 0.5 * best.residual else stale + 1
        if residual < best.residual:
            best = point
        # A residual may stand still while x slides along flat directions: only one that is mere rounding has settled.
        settled = stale >= 4 and outer >= len(lent) and best.residual <= parts.rounding(best.x)
        if point.finished or progress.expired or settled:
            break
    return _judge(parts, best, progress)


def descends_forever(parts: Split, q: Vector, lower: Vector, upper: Vector, change: Vector, largest: float) -> bool:
    """Whether `change`, less what the finite bounds forbid, proves that the objective has no minimum on the box."""
    forbidden = (np.isfinite(lower) & (change < 0.0)) | (np.isfinite(upper) & (change > 0.0))
    ray = np.where(forbidden, 0.0, change)
    length = float(np.abs(ray).max(initial=0.0))
    if length == 0.0:
        return False
    ray = np.where(np.abs(ray) > NOISE * length, ray / length, 0.0)
    # P's own diagonal bends every such direction, however small it is beside the rest.
    if parts.diagonal[ray != 0.0].any():
        return False
    slope = float(q @ ray)
    if slope >= -1e-9 * float(np.abs(q) @ np.abs(ray)):
        return False
    return float(np.abs(parts.times(ray)).max()) <= 1e-13 * largest * ray.size


def _separable(curvature: Vector, q: Vector, lower: Vector, upper: Vector, x: Vector) -> BoxAnswer:
    """Each column on its own: clip(-q_i / P_ii), or the bound that q_i points to when P_ii = 0."""
    curved = curvature > 0.0
    x = x.copy()
    x[curved] = np.clip(-q[curved] / curvature[curved], lower[curved], upper[curved])
    x = np.where(~curved & (q > 0.0), lower, np.where(~curved & (q < 0.0), upper, x))
    endless = np.flatnonzero(~np.isfinite(x))
    if endless.size:
        i = int(endless[0])
        reason = f"column {i} has no curvature, cost {q[i]:.6g} and no bound on that side"
        return BoxAnswer(Termination.UNBOUNDED, reason, None)
    return BoxAnswer(Termination.OPTIMAL, "each column on its own", x, 0.0)
