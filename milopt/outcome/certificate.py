"""The proof that comes with an answer: KKT residuals recomputed from the program, never read from a solver.

For the evaluation form  min 1/2 x'Px + q'x (+ functions)  s.t.  s = A x + E f + g in K,  l <= x <= u  at (x, f, z):

    primal = max(dist(s, K), bound violations) / (1 + max(|g|, |finite bounds|))
    dual   = max(|P x + q - A'z| where no bound takes it, ||c f + p - E'z|| in f's space, dist(z, K*)) / (1 + |q|)
    gap    = |primal value - dual value| / (1 + |primal value|)

The norms are infinity norms. All three at most `tolerance`: to that tolerance the point is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milopt.compilation.compiled import Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.quadratic import Vector


@dataclass(frozen=True)
class Certificate:
    """Scaled residuals of a point; see the module. For an integer program `gap` is the MIP gap and `dual` is 0."""

    primal: float
    dual: float
    gap: float
    violation: float
    """The largest violation of a row or bound, unscaled."""
    bound: float
    """The dual value: a lower bound on the minimised objective, as exact as `dual` is small."""

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.primal, self.dual, self.gap)

    def holds(self, tolerance: float) -> bool:
        """Whether all three are within tolerance."""
        return all(residual <= tolerance for residual in (self.primal, self.dual, self.gap))  # false for NaN

    def __str__(self) -> str:
        return f"primal {self.primal:.1e}, dual {self.dual:.1e}, gap {self.gap:.1e}"


@dataclass(frozen=True)
class Evaluated:
    """What a point is worth in a form: values of the functions, rows, objective."""

    evaluations: tuple[Vector, ...]
    rows: Vector
    objective: float


def evaluate(form: EvaluationForm, spaces: Sequence[KernelSpace], point: Point) -> Evaluated:
    """Functions at all their points, all rows, and the objective."""
    evaluations = tuple(space.values(a) for space, a in zip(spaces, point.coefficients, strict=True))
    norms = tuple(float(a @ values) for a, values in zip(point.coefficients, evaluations, strict=True))
    return Evaluated(evaluations, form.rows.value(point.x, evaluations), form.value(point.x, evaluations, norms))


def certify(form: EvaluationForm, spaces: Sequence[KernelSpace], point: Point, worth: Evaluated) -> Certificate:
    """The certificate of a primal-dual point."""
    z = point.z if point.z is not None else np.zeros(form.rows.count)
    x, s = point.x, worth.rows
    norms = [np.sqrt(max(0.0, float(a @ v))) for a, v in zip(point.coefficients, worth.evaluations, strict=True)]
    violation = max(_outside(form, s, norms), _outside_bounds(form, x))
    gradient, pulls, linear_scale = _gradient(form, point, worth)
    residual = gradient - form.rows.A.T @ z
    plus = np.where(np.isfinite(form.lower), np.maximum(residual, 0.0), 0.0)
    minus = np.where(np.isfinite(form.upper), np.maximum(-residual, 0.0), 0.0)
    stationarity = _inf(residual - plus + minus)
    tails: list[float] = []
    for k, (space, pull) in enumerate(zip(spaces, pulls, strict=True)):
        rest = space.norm(pull - form.rows.E[k].T @ z)
        tails.append(rest)
        if not any(block.space == k for _, block in form.second_order):
            stationarity = max(stationarity, rest)
    dual = max(stationarity, _outside(form, z, tails, dual=True))
    gap = float(gradient @ x) + float(form.rows.g @ z)
    gap += sum(float(pull @ values) for pull, values in zip(pulls, worth.evaluations, strict=True))
    gap -= float(plus[plus > 0] @ form.lower[plus > 0]) - float(minus[minus > 0] @ form.upper[minus > 0])
    return Certificate(
        violation / (1.0 + primal_scale(form)),
        dual / (1.0 + linear_scale),
        abs(gap) / (1.0 + abs(worth.objective)),
        violation,
        worth.objective - gap,
    )


def certify_integer(form: EvaluationForm, point: Point, worth: Evaluated, bound: float | None) -> Certificate:
    """Feasibility, integrality and the MIP gap to a proved bound."""
    x = point.x
    integrality = _inf((x - np.round(x))[form.integer])
    violation = max(_outside(form, worth.rows, []), _outside_bounds(form, x), integrality)
    low = bound if bound is not None else -np.inf
    gap = (worth.objective - low) / (1.0 + abs(worth.objective)) if np.isfinite(low) else np.inf
    return Certificate(violation / (1.0 + primal_scale(form)), 0.0, max(gap, 0.0), violation, low)


def primal_scale(form: EvaluationForm) -> float:
    """The size of the offsets and finite bounds."""
    bounds = np.concatenate([form.lower, form.upper])
    return max(_inf(form.rows.g), _inf(bounds[np.isfinite(bounds)]))


def _gradient(form: EvaluationForm, point: Point, worth: Evaluated) -> tuple[Vector, list[Vector], float]:
    """(d/dx, coefficients of d/df, size of the linear data) of the objective."""
    o = form.objective
    gradient, linear = o.q.copy(), o.q.copy()
    pulls = [ridge * a + p for ridge, a, p in zip(o.ridge, point.coefficients, o.p, strict=True)]
    scales = [_inf(p) for p in o.p]
    for square in o.squares:
        r, h = square.rows.value(point.x, worth.evaluations), square.rows.g
        weigh = square.weight.__mul__ if square.weight.ndim == 1 else square.weight.__matmul__
        weighted, offset = weigh(r), weigh(h)
        gradient += square.rows.A.T @ weighted
        linear += square.rows.A.T @ offset
        for k, e in enumerate(square.rows.E):
            pulls[k] = pulls[k] + e.T @ weighted
            scales[k] = max(scales[k], _inf(e.T @ offset))
    return gradient, pulls, max(_inf(linear), *scales) if scales else _inf(linear)


def _outside(form: EvaluationForm, values: Vector, tails: Sequence[float], dual: bool = False) -> float:
    """How far values lie outside K (or K*, where the zero cone's dual is everything)."""
    worst = float(np.max(-values[form.inequality], initial=0.0))
    if not dual:
        worst = max(worst, _inf(values[form.equality]))
    for start, block in form.second_order:
        part = values[start : start + block.count]
        tail = float(np.linalg.norm(part[1:]))
        if block.space is not None:
            tail = float(np.hypot(tail, tails[block.space]))
        worst = max(worst, tail - float(part[0]))
    return worst


def _outside_bounds(form: EvaluationForm, x: Vector) -> float:
    return max(float(np.max(form.lower - x, initial=0.0)), float(np.max(x - form.upper, initial=0.0)))


def _inf(values: Vector) -> float:
    return float(np.max(np.abs(values), initial=0.0))
