"""The proof that comes with an answer: KKT residuals recomputed from the program, never read from a solver.

For the evaluation form  min 1/2 x'Px + q'x (+ functions)  s.t.  s = A x + E f + g in K,  l <= x <= u  at (x, f, z):

    primal = max of  dist(s_i, K_i) / (1 + |g_i|)  over rows and of  violation / (1 + |bound|)  over bounds
    dual   = max of  |P x + q - A'z|_j / (1 + |q_j|)  where no bound takes it, of  ||c f + p - E'z|| / (1 + |p|)  in f's
             space, and of  (||w|| - t) / (1 + |t|)  for the multiplier (t, w) of a second-order cone
    gap    = |primal value - dual value| / (1 + |primal value|)

Each residual is divided by 1 + the size of its own data, so that a large number elsewhere forgives nothing. A
second-order cone is one row: ||v|| - t, with the largest of its offsets. Negative multipliers of inequalities count as
0. All three at most `tolerance`: to that, the point is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milopt.compilation.compiled import Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.quadratic import Vector, weighted
from milopt.declaration.sparse import transposed


@dataclass(frozen=True)
class Certificate:
    """Scaled residuals of a point; see the module.

    For an integer program `gap` is the distance to the solver's own bound, which cannot be recomputed, and `dual` is 0.
    """

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
    z = np.where(form.inequality, np.maximum(z, 0.0), z)
    norms = [np.sqrt(max(0.0, float(a @ v))) for a, v in zip(point.coefficients, worth.evaluations, strict=True)]
    primal, violation = _primal(form, point.x, worth.rows, norms)
    gradient, pulls, linear = _gradient(form, point, worth)
    residual, at_bounds = form.bounds.shared(gradient - form.rows.pulled(z))
    dual = _inf(residual / (1.0 + np.abs(linear.columns)))
    tails: list[float] = []
    for k, (space, pull) in enumerate(zip(spaces, pulls, strict=True)):
        tails.append(space.norm(pull - transposed(form.rows.E[k]) @ z))
        if not any(block.space == k for _, block in form.second_order):
            dual = max(dual, tails[-1] / (1.0 + linear.points[k]))
    dual = max(dual, _outside_dual(form, z, tails))
    gap = float(gradient @ point.x) + float(form.rows.g @ z)
    gap += sum(float(pull @ values) for pull, values in zip(pulls, worth.evaluations, strict=True))
    gap -= at_bounds
    return Certificate(primal, dual, abs(gap) / (1.0 + abs(worth.objective)), violation, worth.objective - gap)


def certify_integer(form: EvaluationForm, point: Point, worth: Evaluated, bound: float | None) -> Certificate:
    """Feasibility, integrality and the MIP gap to a proved bound."""
    x = point.x
    primal, violation = _primal(form, x, worth.rows, [])
    fraction = _inf((x - np.round(x))[form.integer])
    low = bound if bound is not None else -np.inf
    gap = (worth.objective - low) / (1.0 + abs(worth.objective)) if np.isfinite(low) else np.inf
    return Certificate(max(primal, fraction), 0.0, max(gap, 0.0), max(violation, fraction), low)


@dataclass(frozen=True)
class LinearSizes:
    """The linear data that dual residuals are compared with: per column, and per function the largest."""

    columns: Vector
    points: list[float]


def _gradient(form: EvaluationForm, point: Point, worth: Evaluated) -> tuple[Vector, list[Vector], LinearSizes]:
    """(d/dx, coefficients of d/df, sizes of the linear data) of the objective."""
    o = form.objective
    gradient, linear = o.q.copy(), o.q.copy()
    pulls = [ridge * a + p for ridge, a, p in zip(o.ridge, point.coefficients, o.p, strict=True)]
    scales = [_inf(p) for p in o.p]
    for square in o.squares:
        r, h = square.rows.value(point.x, worth.evaluations), square.rows.g
        pull, offset = weighted(square.weight, r), weighted(square.weight, h)
        gradient += square.rows.pulled(pull)
        linear += square.rows.pulled(offset)
        for k, e in enumerate(square.rows.E):
            if e.nnz:
                pulls[k] = pulls[k] + transposed(e) @ pull
                scales[k] = max(scales[k], _inf(transposed(e) @ offset))
    return gradient, pulls, LinearSizes(linear, scales)


def _primal(form: EvaluationForm, x: Vector, rows: Vector, norms: Sequence[float]) -> tuple[float, float]:
    """(largest scaled violation, largest violation) of rows and bounds, given the norms of functions that end cones."""
    wrong = np.where(form.equality, np.abs(rows), np.where(form.inequality, np.maximum(-rows, 0.0), 0.0))
    scale = 1.0 + np.abs(form.rows.g)
    for start, block in form.second_order:
        part = rows[start : start + block.count]
        tail = 0.0 if block.space is None else norms[block.space]
        wrong[start] = max(0.0, float(np.hypot(np.linalg.norm(part[1:]), tail)) - float(part[0]))
        scale[start] = scale[start : start + block.count].max()
    scaled, outside = form.bounds.violation(x)
    return max(_inf(wrong / scale), scaled), max(_inf(wrong), outside)


def _outside_dual(form: EvaluationForm, z: Vector, tails: Sequence[float]) -> float:
    """How far the multipliers of second-order cones lie outside them, each function's part shared by the cones it ends.

    The tails of those cones need only sum to it, so each takes as much as it has room for: t^2 - ||w||^2.
    """
    cones = [(z[start : start + block.count], block.space) for start, block in form.second_order]
    rooms = [np.sqrt(max(0.0, max(float(w[0]), 0.0) ** 2 - float(w[1:] @ w[1:]))) for w, _ in cones]
    worst = 0.0
    for (part, space), room in zip(cones, rooms, strict=True):
        tail = 0.0
        if space is not None:
            total = sum(r for r, (_, other) in zip(rooms, cones, strict=True) if other == space)
            tail = tails[space] * (room / total if total > 0 else 1.0)
        outside = float(np.hypot(np.linalg.norm(part[1:]), tail)) - float(part[0])
        worst = max(worst, outside / (1.0 + abs(float(part[0]))))
    return worst


def _inf(values: Vector) -> float:
    return float(np.max(np.abs(values), initial=0.0))
