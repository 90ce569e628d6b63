"""Semismooth Newton for a strictly convex box QP:  min 1/2 x'(diag(d) + N)x + q'x  s.t.  l <= x <= u,  d > 0, N >= 0.

At the solution  x = x(w) := clip(-(N w + q)/d, l, u)  with w = x. The step freezes which entries of x(w) are clipped
(the active set), and solves for the others (see `box_qp_factor`): the primal-dual active set method, at most one
Cholesky factorisation of (diag(d) + N) on the free columns a step. It is also Newton's method on the convex, once
differentiable merit

    phi(w) = 1/2 w'Nw + h*(-N w),    h(x) = 1/2 x'diag(d)x + q'x on the box,    grad phi = N (w - x(w)),

so that a full step, which is quickest but may raise phi, can always be shortened until phi falls. Full steps are taken
on trust for a while; when none of them finds a new lowest phi, the search goes back to the lowest and goes on by a line
search there, to a slope of phi a thousandth of the first (see `newton`). At most `STEPS` steps are made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from milopt.arrays import Vector
from milopt.solvers.native.box_qp.factor import Factor
from milopt.solvers.native.box_qp.split import Split

STEPS = 200
"""More Newton steps than any problem met has needed."""


@dataclass(frozen=True)
class Point:
    """A point of the box, with  gradient = P x + q  and the largest projected gradient."""

    x: Vector
    gradient: Vector
    residual: float
    scale: float
    """The size of the terms that cancel in the gradient; the residual is judged beside it."""
    finished: bool
    """The residual is within tolerance; False when it could not be improved or time was up."""


@dataclass
class Progress:
    """What outlives one run of Newton's method: when to stop, the last factor, and the best point so far."""

    deadline: float
    factor: Factor = field(default_factory=Factor)
    best: Point | None = None

    @property
    def expired(self) -> bool:
        """Time is up."""
        return time.perf_counter() > self.deadline


def projected_gradient(x: Vector, gradient: Vector, lower: Vector, upper: Vector) -> float:
    """max_i of |g_i| between the bounds, [-g_i]+ at a lower one, [g_i]+ at an upper one; 0 is optimality."""
    if x.size == 0:
        return 0.0
    down = np.where(x > lower, gradient, 0.0)
    up = np.where(x < upper, -gradient, 0.0)
    return float(max(down.max(), up.max(), 0.0))


@dataclass(frozen=True)
class Strict:
    """min 1/2 x'(diag(d) + N)x + q'x over the box; `parts` has N, and d may be more than the diagonal of `parts`."""

    parts: Split
    diagonal: Vector
    q: Vector
    lower: Vector
    upper: Vector

    def step(self, w: Vector, image: Vector, factor: Factor) -> tuple[Vector, Vector] | None:
        """Newton's step d and N d at w, where `image` = N w; None when the block cannot be factorised."""
        target = -(image + self.q) / self.diagonal
        free = (target > self.lower) & (target < self.upper)
        step = np.where(free, 0.0, np.clip(target, self.lower, self.upper) - w)
        moved = self.parts.inner(step)
        right = -(image + self.diagonal * w + self.q + moved)[free]
        if right.size:
            solved = factor.solve(self.parts, self.diagonal, free, right)
            if solved is None:
                return None
            step[free] = solved
            moved = self.parts.inner(step)
        return step, moved

    def land(self, w: Vector, image: Vector, tolerance: float) -> Point:
        """The point of the box nearest to w, and how far from optimal it is."""
        x = np.clip(w, self.lower, self.upper)
        inner = image if np.array_equal(x, w) else self.parts.inner(x)
        own = self.diagonal * x
        gradient = inner + own + self.q
        residual = projected_gradient(x, gradient, self.lower, self.upper)
        scale = max(_size(self.q), _size(inner), _size(own))
        return Point(x, gradient, residual, scale, residual <= tolerance * scale)

    def merit(self, w: Vector, image: Vector) -> float:
        """phi(w)."""
        pull = -(image + self.q)
        x = np.clip(pull / self.diagonal, self.lower, self.upper)
        return 0.5 * float(w @ image) + float(x @ (pull - 0.5 * self.diagonal * x))

    def line_search(self, image: Vector, step: Vector, moved: Vector) -> float:
        """A t in (0, 1] where the slope of phi(w + t step), piecewise linear and increasing in t, is nearly 0, or 1."""
        constant, linear = float(step @ image), float(step @ moved)
        target, change = -(image + self.q) / self.diagonal, -moved / self.diagonal
        bend = -moved * change

        def slope(t: float) -> tuple[float, float]:
            at = target + t * change
            clipped = np.clip(at, self.lower, self.upper)
            return constant + t * linear - float(clipped @ moved), linear + float(bend[at == clipped].sum())

        first, _ = slope(0.0)
        value, curvature = slope(1.0)
        # A slope this small beside the first one is rounding, and full steps are what ends the method.
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


def newton(problem: Strict, start: Vector, tolerance: float, progress: Progress) -> Point:
    """Minimise from `start`; ends when the projected gradient is `tolerance` relative, or no longer falls.

    Full steps are taken on trust while they are quickest: up to `patience` of them without a new lowest merit. Then the
    search goes back to the lowest, takes the step that the line search allows from there, and trusts half as long.
    """
    w, image = start, problem.parts.inner(start)
    best: Point | None = None
    lowest: tuple[float, Vector, Vector, Vector, Vector] | None = None
    waiting, patience, stale = 0, 8, 0
    for _ in range(STEPS):
        found = problem.step(w, image, progress.factor)
        if found is None:
            break
        step, moved = found
        point = problem.land(w + step, image + moved, tolerance)
        stale = 0 if best is None or point.residual < 0.5 * best.residual else stale + 1
        if best is None or point.residual < best.residual:
            best = progress.best = point
        # A residual at the level of rounding that stops falling is as good as it gets.
        settled = stale >= 3 and best.residual <= 1e-9 * best.scale
        if point.finished or settled or progress.expired:
            break
        merit = problem.merit(w, image)
        if lowest is None or merit < lowest[0]:
            lowest, waiting = (merit, w, image, step, moved), 0
        else:
            waiting += 1
        if waiting < patience:
            w, image = w + step, image + moved
            continue
        _, w, image, step, moved = lowest
        length = problem.line_search(image, step, moved)
        w, image = w + length * step, image + length * moved
        lowest, waiting, patience = None, 0, patience // 2
    # The image was carried along by steps; what is reported rests on a product of its own.
    x = start if best is None else best.x
    return problem.land(x, problem.parts.inner(x), tolerance)


def _size(vector: Vector) -> float:
    return float(np.abs(vector).max(initial=0.0))
