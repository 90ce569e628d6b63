"""One step of the proximal augmented Lagrangian method, solved by a semismooth Newton method.

Given a0 and b0, minimise over (w, b) the smooth function

    1/2 |w|^2 + sum_g max_{a >= 0} {a'v - h_g*(sum a) - |a - a0|^2 / (2 sigma)} + tau/2 (b - b0)^2

with v = q - R w - e b. The rows R, their offsets q and bias coefficients e, the groups g and the conjugate losses h_g*
are those of `margin_program`; sigma and tau weight the proximal terms. The gradient is (w - R'a, -e'a + tau (b - b0)),
where a is the maximiser, which `group_projection` computes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.solvers.native.margin_newton.group_projection import project
from milopt.solvers.native.margin_newton.held_rows import HeldRows
from milopt.solvers.native.margin_newton.newton_system import newton_step
from milopt.solvers.native.margin_newton.reduced_rows import ReducedRows

BIAS_PROXIMAL_WEIGHT = 1e-8
"""Weight of the proximal term of the bias."""
GRADIENT_TOLERANCE = 1e-8
"""Length of the gradient, relative to |w|, at which Newton's method stops."""
ROUNDING_FRACTION = 1e-13
"""Length of the gradient, relative to the terms that cancel in it, that counts as rounding error."""
MAX_NEWTON_STEPS = 60
"""Maximum number of Newton steps per proximal step."""
MAX_STEP_LENGTHS = 30
"""Maximum number of step lengths that are tried per Newton step."""
MAX_SLOPE_FRACTION = 0.1
"""A step length is accepted if the slope at its end is at most this fraction of the slope at its start."""


@dataclass(frozen=True)
class Iterate:
    """Point (w, b) with the multipliers a of the held rows."""

    a: Vector
    w: Vector
    b: float


def proximal_step(held: HeldRows, start: Iterate, sigma: float, deadline: float) -> tuple[Iterate, int]:
    """Make one proximal step from `start`; return its end and the number of Newton steps.

    Newton's method ends early if the clock passes `deadline` (of `time.perf_counter`).
    """
    program, has_bias = held.program, held.program.has_bias
    kappa = program.curvature / sigma
    w, b, steps = start.w, start.b, 0
    v = held.values(w, b)
    a, level = project(start.a + sigma * v, held.layout, program.cap, kappa)
    while True:
        pull = np.asarray(held.features.T @ a)
        gradient = w - pull
        bias_gradient = -float(held.bias @ a) + BIAS_PROXIMAL_WEIGHT * (b - start.b) if has_bias else 0.0
        size = float(np.linalg.norm(w))
        total = float(a.sum())
        error = max(float(np.linalg.norm(gradient)), abs(bias_gradient) * (held.row_size or 1.0))
        small = max(GRADIENT_TOLERANCE * size, ROUNDING_FRACTION * held.row_size * total)
        if (steps and error <= small) or steps >= MAX_NEWTON_STEPS or time.perf_counter() > deadline:
            return Iterate(a, w, b), steps
        rows = ReducedRows.from_support(held, a, level, kappa)
        dw, db = newton_step(rows, gradient, bias_gradient, sigma, BIAS_PROXIMAL_WEIGHT, has_bias)
        dv = -np.asarray(held.features @ dw) - held.bias * db
        length, a, level = _search_step_length(held, start, sigma, kappa, (w, b, v), (dw, db, dv), a)
        if length == 0.0:
            return Iterate(a, w, b), steps + 1
        w, b, v = w + length * dw, b + length * db, v + length * dv
        steps += 1


def _search_step_length(
    held: HeldRows,
    start: Iterate,
    sigma: float,
    kappa: Vector,
    at: tuple[Vector, float, Vector],
    step: tuple[Vector, float, Vector],
    a: Vector,
) -> tuple[float, Vector, Vector]:
    """Return a step length with a small slope, and the multipliers and levels at its end; 0 if there is none.

    The slope along the step increases with the length. The length is found by the secant method in a bracket.
    """
    (w, b, v), (dw, db, dv) = at, step
    program = held.program
    ww, wd, dd = (
        BIAS_PROXIMAL_WEIGHT * (b - start.b) * db,
        float(w @ dw),
        float(dw @ dw) + BIAS_PROXIMAL_WEIGHT * db * db,
    )
    first = wd + ww + float(a @ dv)
    low, low_slope, high, high_slope = 0.0, first, np.inf, np.inf
    length, best = 1.0, (0.0, a, np.zeros(program.cap.size))
    for _ in range(MAX_STEP_LENGTHS):
        trial, level = project(start.a + sigma * (v + length * dv), held.layout, program.cap, kappa)
        slope = wd + ww + length * dd + float(trial @ dv)
        best = (length, trial, level)
        if abs(slope) <= MAX_SLOPE_FRACTION * abs(first):
            return best
        if slope < 0:
            low, low_slope = length, slope
        else:
            high, high_slope = length, slope
        if not np.isfinite(high):
            length *= 4.0
            continue
        width, rise = high - low, high_slope - low_slope
        if width <= 1e-14 * high or rise <= 0.0:
            break
        length = min(max(low - low_slope * width / rise, low + 0.05 * width), high - 0.05 * width)
    return best if first < 0 else (0.0, a, best[2])
