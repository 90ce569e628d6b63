"""Box-constrained QPs:  min 1/2 x'Px + q'x  s.t.  l <= x <= u,  P positive semidefinite, bounds possibly infinite.

1. With a starting point: a few epochs of cyclic coordinate descent (`sweeps`), then principal pivoting (`pivoting`).
2. If pivoting fails, or without a starting point: more epochs, then the semismooth Newton method (`newton`).
3. If the diagonal part d of P (`split`) is too small for Newton's method, pivoting is tried before it also without a
   starting point. If pivoting fails, the proximal point method is used,

       x_{k+1} = argmin 1/2 x'Px + q'x + (sigma/2) ||x - x_k||^2  over the box,

   with Newton's method for each step. If there is no minimum, the steps x_{k+1} - x_k tend to a ray r of descent:
   P r = 0, q'r < 0, r in the recession cone of the box.

The epochs of 1 and 2 (but not those after a stall) and the pivoting of 3 need at least `MIN_COORDINATE_DESCENT_COLUMNS`
columns. If P is diagonal, each column is solved separately instead. If the curvatures P_ii differ by more than a factor
of about 1e6, the columns are first scaled to similar curvatures, x = D u. An epoch costs one row of P per column, a
Newton step or a pivoting guess at most one Cholesky factorisation on the free columns.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.status import Termination
from milopt.solvers.native.box_qp.newton import BoxPoint, BoxQPProgress, StrictBoxQP, projected_gradient, run_newton
from milopt.solvers.native.box_qp.pivoting import run_pivoting
from milopt.solvers.native.box_qp.split import QuadraticSplit

PROJECTED_GRADIENT_TOLERANCE = 1e-12
"""Largest entry of the projected gradient, relative to the terms of the gradient, at which the methods stop."""
ACCEPTED_RESIDUAL = 1e-8
"""Relative projected gradient at which a point that cannot be improved further still counts as optimal."""
EPOCHS_STRICT, EPOCHS_PROXIMAL, EPOCHS_RESCUE = 5, 30, 200
"""Epochs of coordinate descent before Newton's method.

The first applies if the diagonal part d of P is large enough, the second if a proximal term is needed, the third after
a stall.
"""
EPOCHS_WARM_START = 10
"""Epochs of coordinate descent from a starting point, before pivoting; they cost far less than they save."""
MIN_COORDINATE_DESCENT_COLUMNS = 100
"""Smallest number of columns for which coordinate descent saves time."""
MAX_PROXIMAL_POINT_STEPS = 60
"""Maximum number of steps of the proximal point method."""
PIVOTING_PROXIMAL_WEIGHTS = (1e-4, 1e-6, 1e-8, *(1e-9,) * 4)
"""Proximal weights sigma for principal pivoting, relative to the largest curvature, in order of use.

Pivoting is faster than Newton's method, but unreliable if the first value is too small.
"""
DIRECTION_ZERO_TOLERANCE = 1e-12
"""Entries of a direction below this fraction of its largest entry are treated as rounding errors."""
PROXIMAL_WEIGHTS = (1e-2, 1e-4, 1e-7, 1e-9, 1e-11)
"""Proximal weights sigma for Newton's method, relative to the largest curvature, in order of use.

A last value at the level of rounding errors follows, and is used for all further steps.
"""


@dataclass(frozen=True)
class BoxAnswer:
    """Termination of a box QP and its best point x.

    The point is None if the box is empty or a separable objective has no minimum.
    """

    termination: Termination
    reason: str
    x: Vector | None
    residual: float = math.nan
    """Largest entry of the projected gradient, of the scaled program if columns were scaled; NaN if not computed."""
    factorisations: int = 0
    """Number of Cholesky factorisations."""
    interrupted: bool = False
    """Whether Ctrl-C ended the solve."""


def solve_box_qp(
    parts: QuadraticSplit,
    q: Vector,
    lower: Vector,
    upper: Vector,
    start: Vector | None = None,
    time_limit: float | None = None,
) -> BoxAnswer:
    """Minimise a convex quadratic over a box.

    P is assumed to be positive semidefinite; `check_convex` tests it.

    Parameters
    ----------
    parts : QuadraticSplit
        The matrix P, split into its parts.
    q, lower, upper : ndarray of shape (n_columns,)
        Linear costs and bounds.
    start : ndarray of shape (n_columns,) or None
        Starting point, which is clipped to the box; None for a cold start.
    time_limit : float or None
        Limit in seconds; None for no limit.

    Returns
    -------
    BoxAnswer
    """
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    empty = np.flatnonzero(lower > upper)
    if empty.size:
        i = int(empty[0])
        reason = f"column {i} has lower bound {lower[i]:.6g} above its upper bound {upper[i]:.6g}"
        return BoxAnswer(Termination.INFEASIBLE, reason, None)
    origin = np.zeros(q.size) if start is None else start
    x = np.clip(origin, lower, upper)
    if parts.is_diagonal:
        return _solve_separable(parts.diagonal, q, lower, upper, x)
    scales = parts.column_scales()
    if scales is not None:
        seconds_left = None if time_limit is None else deadline - time.perf_counter()
        start = None if start is None else start / scales
        scaled = solve_box_qp(parts.rescale(scales), q * scales, lower / scales, upper / scales, start, seconds_left)
        return scaled if scaled.x is None else replace(scaled, x=np.clip(scales * scaled.x, lower, upper))
    progress = BoxQPProgress(deadline)
    try:
        problem = StrictBoxQP(parts, parts.diagonal, q, lower, upper)
        if start is not None:
            if (
                q.size >= MIN_COORDINATE_DESCENT_COLUMNS
                and not problem.evaluate_clipped(
                    x, parts.times_without_diagonal(x), PROJECTED_GRADIENT_TOLERANCE
                ).is_optimal
            ):
                x = _run_coordinate_descent(problem, x, EPOCHS_WARM_START)
            minimum = _pivot_with_proximal_terms(problem, x, progress)
            if minimum is not None:
                return _to_answer(parts, minimum, progress)
        is_strict = _has_sufficient_diagonal(parts, lower, upper)
        for epochs in (EPOCHS_STRICT if is_strict else EPOCHS_PROXIMAL, EPOCHS_RESCUE):
            if q.size >= MIN_COORDINATE_DESCENT_COLUMNS or epochs == EPOCHS_RESCUE:
                x = _run_coordinate_descent(problem, x, epochs)
            if (
                start is None
                and not is_strict
                and epochs == EPOCHS_PROXIMAL
                and q.size >= MIN_COORDINATE_DESCENT_COLUMNS
            ):
                minimum = run_pivoting(problem, x, PROJECTED_GRADIENT_TOLERANCE, progress)
                if minimum is not None:
                    return _to_answer(parts, minimum, progress)
            answer = _minimise(parts, q, lower, upper, x, progress)
            if answer.termination is not Termination.STALLED or answer.x is None:
                break
            x = answer.x
        return answer
    except KeyboardInterrupt:
        x = x if progress.best is None else progress.best.x
        return BoxAnswer(Termination.LIMIT, "interrupted", x, factorisations=progress.factor.count, interrupted=True)


def _run_coordinate_descent(problem: StrictBoxQP, x: Vector, epochs: int) -> Vector:
    """Run coordinate descent from x for this number of epochs, and return the last point."""
    # Imported here: numba takes a second to load, which is longer than Newton's method on a few columns.
    from milopt.solvers.native.box_qp.sweeps import coordinate_descent

    return coordinate_descent(problem.parts, problem.q, problem.lower, problem.upper, x, epochs)


def _pivot_with_proximal_terms(problem: StrictBoxQP, x: Vector, progress: BoxQPProgress) -> BoxPoint | None:
    """Run pivoting from x, and again with proximal terms if P is numerically singular on a set of free columns.

    Returns the minimum, or None if pivoting fails.
    """
    point = run_pivoting(problem, x, PROJECTED_GRADIENT_TOLERANCE, progress)
    if point is not None or progress.factor.lower is not None:
        return point
    parts = problem.parts
    largest = float(parts.curvature.max())
    for share in PIVOTING_PROXIMAL_WEIGHTS:
        sigma = share * largest
        proximal_point = run_pivoting(
            replace(problem, diagonal=parts.diagonal + sigma, q=problem.q - sigma * x),
            x,
            PROJECTED_GRADIENT_TOLERANCE,
            progress,
        )
        if proximal_point is None:
            return None
        x = proximal_point.x
        point = problem.evaluate_clipped(x, parts.times_without_diagonal(x), PROJECTED_GRADIENT_TOLERANCE)
        if point.is_optimal:
            return point
    return None


def _has_sufficient_diagonal(parts: QuadraticSplit, lower: Vector, upper: Vector) -> bool:
    """Return True if the diagonal part d of P is so large that Newton's method needs no proximal term.

    d must be positive in all columns, fixed ones included, and must exceed PROXIMAL_WEIGHTS[-2] times the largest
    curvature in the columns that are not fixed.
    """
    own = float(parts.diagonal[lower < upper].min(initial=math.inf))
    # Newton divides by the diagonal in fixed columns too.
    return bool(np.all(parts.diagonal > 0.0)) and own > PROXIMAL_WEIGHTS[-2] * float(parts.curvature.max())


def _minimise(
    parts: QuadraticSplit, q: Vector, lower: Vector, upper: Vector, x: Vector, progress: BoxQPProgress
) -> BoxAnswer:
    """Run Newton's method from x, with proximal terms if `_has_sufficient_diagonal` returns False."""
    problem = StrictBoxQP(parts, parts.diagonal, q, lower, upper)
    first = problem.evaluate_clipped(x, parts.times_without_diagonal(x), PROJECTED_GRADIENT_TOLERANCE)
    if first.is_optimal:
        return _to_answer(parts, first, progress)
    if _has_sufficient_diagonal(parts, lower, upper):
        return _to_answer(parts, run_newton(problem, x, PROJECTED_GRADIENT_TOLERANCE, progress), progress)
    return _run_proximal_point_method(parts, q, lower, upper, first, progress)


def _to_answer(parts: QuadraticSplit, point: BoxPoint, progress: BoxQPProgress) -> BoxAnswer:
    """Return the answer for a final point: optimal if its residual is small enough, else limit or stalled."""
    count = progress.factor.count
    reason = f"projected gradient {point.residual:.1e} after {count} factorisations"
    # A residual below the rounding error of its own gradient cannot be distinguished from 0.
    if point.residual <= ACCEPTED_RESIDUAL * point.scale or point.residual <= parts.estimate_rounding_error(point.x):
        termination = Termination.OPTIMAL
    elif progress.is_expired:
        termination, reason = Termination.LIMIT, f"time limit; {reason}"
    else:
        termination = Termination.STALLED
    return BoxAnswer(termination, reason, point.x, point.residual, count)


def _run_proximal_point_method(
    parts: QuadraticSplit,
    q: Vector,
    lower: Vector,
    upper: Vector,
    best: BoxPoint,
    progress: BoxQPProgress,
) -> BoxAnswer:
    """Run the proximal point method (see the module docstring) from the point `best`, with Newton's method per step."""
    x, largest = best.x, float(parts.curvature.max()) or 1.0
    # The last weight is about the error that rounding causes in the smallest eigenvalue of a singular block.
    weights = (*PROXIMAL_WEIGHTS, 20 * x.size * float(np.finfo(np.float64).eps))
    stalled_steps, sigma, diagonal = 0, 0.0, parts.diagonal
    for count in range(MAX_PROXIMAL_POINT_STEPS):
        if count < len(weights):
            sigma = weights[count] * largest
            diagonal = parts.diagonal + sigma
        problem = StrictBoxQP(parts, diagonal, q - sigma * x, lower, upper)
        inner = run_newton(problem, x, PROJECTED_GRADIENT_TOLERANCE, progress)
        change = inner.x - x
        gradient = inner.gradient - sigma * change
        residual = projected_gradient(inner.x, gradient, lower, upper)
        # The scale is that of P x and q, without the proximal terms, which are large.
        scale = float(max(np.abs(q).max(), np.abs(gradient - q).max()))
        point = BoxPoint(inner.x, gradient, residual, scale, residual <= PROJECTED_GRADIENT_TOLERANCE * scale)
        x = inner.x
        if is_unbounded_direction(parts, q, lower, upper, change, largest):
            reason = "P d = 0 and q'd < 0 along a direction d that never leaves the box"
            return BoxAnswer(Termination.UNBOUNDED, reason, x, residual, progress.factor.count)
        stalled_steps = 0 if residual < 0.5 * best.residual else stalled_steps + 1
        if residual < best.residual:
            best = point
        # The residual may stagnate while x moves where P has no curvature: stop only at the level of rounding errors.
        is_settled = (
            stalled_steps >= 4 and count >= len(weights) and best.residual <= parts.estimate_rounding_error(best.x)
        )
        if point.is_optimal or progress.is_expired or is_settled:
            break
    return _to_answer(parts, best, progress)


def is_unbounded_direction(
    parts: QuadraticSplit, q: Vector, lower: Vector, upper: Vector, change: Vector, largest: float
) -> bool:
    """Return True if the step `change` is a direction r with P r = 0 and q'r < 0 that never leaves the box.

    The objective then has no minimum. Components of the step that move towards a finite bound are set to 0 first.
    P r = 0 is tested up to rounding errors of `largest`, the largest curvature.
    """
    forbidden = (np.isfinite(lower) & (change < 0.0)) | (np.isfinite(upper) & (change > 0.0))
    ray = np.where(forbidden, 0.0, change)
    length = float(np.abs(ray).max(initial=0.0))
    if length == 0.0:
        return False
    ray = np.where(np.abs(ray) > DIRECTION_ZERO_TOLERANCE * length, ray / length, 0.0)
    # A positive entry of d, however small, makes the objective strictly convex along the direction.
    if parts.diagonal[ray != 0.0].any():
        return False
    slope = float(q @ ray)
    if slope >= -1e-9 * float(np.abs(q) @ np.abs(ray)):
        return False
    return float(np.abs(parts.times(ray)).max()) <= 1e-13 * largest * ray.size


def _solve_separable(curvature: Vector, q: Vector, lower: Vector, upper: Vector, x: Vector) -> BoxAnswer:
    """Minimise each column separately: clip(-q_i / P_ii, l_i, u_i), or the bound on the side of -q_i if P_ii = 0.

    A column with P_ii = q_i = 0 keeps its value in `x`.
    """
    curved = curvature > 0.0
    x = x.copy()
    x[curved] = np.clip(-q[curved] / curvature[curved], lower[curved], upper[curved])
    x = np.where(~curved & (q > 0.0), lower, np.where(~curved & (q < 0.0), upper, x))
    endless = np.flatnonzero(~np.isfinite(x))
    if endless.size:
        i = int(endless[0])
        reason = f"column {i} has no curvature, cost {q[i]:.6g} and no bound on that side"
        return BoxAnswer(Termination.UNBOUNDED, reason, None)
    return BoxAnswer(Termination.OPTIMAL, "separable: solved column by column", x, 0.0)
