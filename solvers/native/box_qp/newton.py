"""Semismooth Newton for a strictly convex box QP:  min 1/2 x'(diag(d) + N)x + q'x  s.t.  l <= x <= u,  d > 0, N >= 0.

In the notation of `split`,  P = diag(d) + N  with N = S'WS + G; here d may include a proximal term. With
x(w) = clip(-(N w + q)/d, l, u),  x is the solution if and only if  x = x(w)  for w = x. A step fixes the entries of
x(w) that are clipped (the active set) and solves for the other entries (see `factor`). This is the primal-dual active
set method, with at most one Cholesky factorisation of (diag(d) + N) on the free columns per step. It is also Newton's
method on the convex, once differentiable merit function

    phi(w) = 1/2 w'Nw + h*(-N w),    h(x) = 1/2 x'diag(d)x + q'x on the box,    grad phi = N (w - x(w)),

where h* is the convex conjugate of h.

A full step converges fastest but may increase phi; it can always be shortened until phi decreases. Full steps are
accepted without a test for a while. If none of them reaches a new lowest phi, the method returns to the point of lowest
phi and makes a line search there, until the slope of phi is at most a thousandth of the initial slope (see
`run_newton`). At most `MAX_NEWTON_STEPS` steps are made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from milopt.arrays import Vector
from milopt.solvers.native.box_qp.factor import CholeskyFactor
from milopt.solvers.native.box_qp.split import QuadraticSplit

MAX_NEWTON_STEPS = 200
"""Maximum number of Newton steps. No known problem has needed as many."""


@dataclass(frozen=True)
class BoxPoint:
    """Point x of the box, the gradient of an objective at x, and the violation of optimality."""

    x: Vector
    gradient: Vector
    """Gradient P x + q. A proximal term is included in points of a `StrictBoxQP` whose diagonal has one."""
    residual: float
    """Largest entry of the projected gradient."""
    scale: float
    """Largest absolute entry of the terms whose sum is the gradient. The residual is compared with `scale`."""
    is_optimal: bool
    """Whether the residual is at most the tolerance times `scale`."""


@dataclass
class BoxQPProgress:
    """Mutable state that successive runs of Newton's method and of pivoting share.

    `deadline` is a time of `time.perf_counter`, `factor` the last Cholesky factor, and `best` the best point of the
    last run of Newton's method.
    """

    deadline: float
    factor: CholeskyFactor = field(default_factory=CholeskyFactor)
    best: BoxPoint | None = None

    @property
    def is_expired(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.deadline


def projected_gradient(x: Vector, gradient: Vector, lower: Vector, upper: Vector) -> float:
    """Return the largest entry of the projected gradient; 0 means optimality.

    The entry is |g_i| between the bounds, max(-g_i, 0) at a lower bound, and max(g_i, 0) at an upper bound.
    """
    if x.size == 0:
        return 0.0
    down = np.where(x > lower, gradient, 0.0)
    up = np.where(x < upper, -gradient, 0.0)
    return float(max(down.max(), up.max(), 0.0))


@dataclass(frozen=True)
class StrictBoxQP:
    """Strictly convex problem  min 1/2 x'(diag(d) + N)x + q'x  over the box.

    `diagonal` is d, possibly with a proximal term. N is taken from `parts`, whose attribute `diagonal` is ignored.
    """

    parts: QuadraticSplit
    diagonal: Vector
    q: Vector
    lower: Vector
    upper: Vector

    def newton_step(self, w: Vector, image: Vector, factor: CholeskyFactor) -> tuple[Vector, Vector] | None:
        """Return (step, N step): the Newton step at w and its product with N, given `image` = N w.

        Returns None if the matrix on the free columns cannot be factorised.
        """
        target = -(image + self.q) / self.diagonal
        free = (target > self.lower) & (target < self.upper)
        step = np.where(free, 0.0, np.clip(target, self.lower, self.upper) - w)
        step_image = self.parts.times_without_diagonal(step)
        right = -(image + self.diagonal * w + self.q + step_image)[free]
        if right.size:
            solution = factor.solve(self.parts, self.diagonal, free, right)
            if solution is None:
                return None
            step[free] = solution
            step_image = self.parts.times_without_diagonal(step)
        return step, step_image

    def evaluate_clipped(self, w: Vector, image: Vector, tolerance: float) -> BoxPoint:
        """Clip w to the box, and return the point with its gradient and residual, given `image` = N w."""
        x = np.clip(w, self.lower, self.upper)
        inner = image if np.array_equal(x, w) else self.parts.times_without_diagonal(x)
        diagonal_part = self.diagonal * x
        gradient = inner + diagonal_part + self.q
        residual = projected_gradient(x, gradient, self.lower, self.upper)
        scale = max(_max_abs(self.q), _max_abs(inner), _max_abs(diagonal_part))
        return BoxPoint(x, gradient, residual, scale, residual <= tolerance * scale)

    def merit(self, w: Vector, image: Vector) -> float:
        """Return the merit function phi(w) (see the module docstring), given `image` = N w."""
        negative_gradient = -(image + self.q)
        x = np.clip(negative_gradient / self.diagonal, self.lower, self.upper)
        return 0.5 * float(w @ image) + float(x @ (negative_gradient - 0.5 * self.diagonal * x))

    def line_search(self, image: Vector, step: Vector, step_image: Vector) -> float:
        """Return a step length t in (0, 1] at which the slope of phi(w + t step) is nearly 0.

        Returns 1 if the slope at 1 is not positive beyond rounding errors, or the slope at 0 is not negative. The slope
        is piecewise linear and nondecreasing in t. `image` is N w and `step_image` is N step.
        """
        constant, linear = float(step @ image), float(step @ step_image)
        target, change = -(image + self.q) / self.diagonal, -step_image / self.diagonal
        slope_changes = -step_image * change

        def slope(t: float) -> tuple[float, float]:
            at = target + t * change
            clipped = np.clip(at, self.lower, self.upper)
            return constant + t * linear - float(clipped @ step_image), linear + float(
                slope_changes[at == clipped].sum()
            )

        first, _ = slope(0.0)
        value, curvature = slope(1.0)
        # A slope this small relative to the first one is rounding error. Full steps are needed for finite termination.
        if value <= 1e-9 * abs(first) or first >= 0.0:
            return 1.0
        left, right, t = 0.0, 1.0, 1.0
        for _ in range(60):
            trial = t - value / curvature if curvature > 0.0 else left
            t = trial if left < trial < right else 0.5 * (left + right)
            value, curvature = slope(t)
            if abs(value) <= 1e-3 * abs(first):
                break
            left, right = (t, right) if value < 0.0 else (left, t)
        return t


def run_newton(problem: StrictBoxQP, start: Vector, tolerance: float, progress: BoxQPProgress) -> BoxPoint:
    """Minimise from `start` until the relative projected gradient is at most `tolerance`.

    The method also ends if the relative projected gradient is at most 1e-9 and has not halved in three steps, if a
    factorisation fails, if the time is up, or after MAX_NEWTON_STEPS steps. `is_optimal` of the returned point is True
    if the point satisfies `tolerance`. Full steps are accepted for up to `max_waiting` steps without a new lowest value
    of the merit function. Then the method returns to the point of the lowest value, makes a line search from there, and
    halves `max_waiting`.
    """
    w, image = start, problem.parts.times_without_diagonal(start)
    best: BoxPoint | None = None
    lowest: tuple[float, Vector, Vector, Vector, Vector] | None = None
    steps_since_lowest, max_waiting, stalled_steps = 0, 8, 0
    for _ in range(MAX_NEWTON_STEPS):
        newton_step = problem.newton_step(w, image, progress.factor)
        if newton_step is None:
            break
        step, step_image = newton_step
        point = problem.evaluate_clipped(w + step, image + step_image, tolerance)
        stalled_steps = 0 if best is None or point.residual < 0.5 * best.residual else stalled_steps + 1
        if best is None or point.residual < best.residual:
            best = progress.best = point
        # A small residual that no longer decreases is probably at the level of rounding errors.
        is_settled = stalled_steps >= 3 and best.residual <= 1e-9 * best.scale
        if point.is_optimal or is_settled or progress.is_expired:
            break
        merit = problem.merit(w, image)
        if lowest is None or merit < lowest[0]:
            lowest, steps_since_lowest = (merit, w, image, step, step_image), 0
        else:
            steps_since_lowest += 1
        if steps_since_lowest < max_waiting:
            w, image = w + step, image + step_image
            continue
        _, w, image, step, step_image = lowest
        length = problem.line_search(image, step, step_image)
        w, image = w + length * step, image + length * step_image
        lowest, steps_since_lowest, max_waiting = None, 0, max_waiting // 2
    # `image` was updated step by step: recompute it for the point that is returned.
    x = start if best is None else best.x
    return problem.evaluate_clipped(x, problem.parts.times_without_diagonal(x), tolerance)


def _max_abs(vector: Vector) -> float:
    """Return the largest absolute value."""
    return float(np.abs(vector).max(initial=0.0))
