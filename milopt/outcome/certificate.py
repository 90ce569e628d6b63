"""Certificates: KKT residuals that are recomputed from the program's own data, never read from a solver.

The evaluation form is  min 1/2 x'Px + q'x + sum_f (c ||f||^2 / 2 + p'f)  s.t.  s = A x + E f + g in K,  l <= x <= u,
where p'f and E f are sums over the values of the functions f at their points.
At a point (x, f) with multipliers z of the rows, let r = P x + q - A'z be the gradient of the Lagrangian without the
entries that are reduced costs of finite bounds. The certificate consists of

    primal = maximum of
             dist(s_i, K_i) / (u_i + |g_i|)         over the rows, u_i = min(1, max(largest coefficient, |A_i||x|)),
                                                    so that the unit of a row does not matter,
             violation / (1 + |bound|)              over the bounds, and
             violation / (u_i + largest term)       over the declared rows, with atoms evaluated as declared
    dual   = maximum of
             |r_j| / scale_j                        over the columns,
             ||r_f|| / scale_f                      over the functions, and
             dist(z_k, K_k*) / scale_k              over the cones K_k that are not polyhedral
    gap    = error / (1 + |objective|)
    error  = max{ |objective - bound| + effect,  sum_i |z_i| dist(s_i, K_i) + sum_j |reduced cost_j| violation_j }

Every dual residual is divided by the size of the numbers that cancel in it. So no choice of units makes a wrong answer
look right. With G = max_k(|q_k|, |Px|_k), k over the columns that are not fixed and over the points of functions:

    column j                       m + min(c G, max(m, |A_j|'1 max |z|)),  m = max(|q_j|, |Px|_j, |A_j|'|z|),
                                   c = 1e-3 if q_j = 0 and c = 1e-4 otherwise
    column j with a separable      the same or, if larger, sqrt(2 h (1 + |objective|)); at that residual the objective
    term h x_j^2 / 2               can change by 1 + |objective|
    function f with the term       1 + |p|
    c ||f||^2 / 2
    any other function             sum_p (|p| + |E|'|z|)_p sqrt(K(x_p, x_p)), over its points, + c G,  c = 1e-3 if p = 0
                                   and c = 1e-4 otherwise
    multiplier z_k = (t, w) of a   max(|t|, ||w||) + 0.001 max |z|, or, if the head of the cone is constant (in a ball
    of cone, t its first entry        radius R the first row, ||s|| = R), (1 + |objective|) / ||s||, s the head

The terms c G admit the noise of interior-point methods: at a tolerance of 1e-6, residuals of 1e-9 of the largest
gradient (in cones, of the largest multiplier) are admitted in cones and in columns and functions without a linear
term, of 1e-10 of it in other columns and functions, and of 1e-13 in any column or function (`ABSOLUTE_SCALE_OFFSET`).
In a column with tiny coefficients, errors of the multipliers cause tiny residuals only, and no more are admitted: its
value may be so large that the column matters.

`objective` is the declared objective. `bound` is the value of the Lagrange dual at z, a lower bound on the optimum if
r = 0. If r is not 0, `effect` estimates by how much the bound may be wrong. It is the sum of

    |r_j| |x_j|              for a column,        r_j^2 / (2 h)        for a column with a separable term h x_j^2 / 2,
    ||r_f||^2 / (2 c)        for a function,      ||r_f|| ||f||        for a function with c = 0, and of
    dist(z_k, K_k*) ||s||    for a multiplier outside its dual cone, with s the values of the head of the cone: the rows
                             in which an interior point of the cone is not 0, such as t in ||w|| <= t.

Interior-point methods leave r at their own tolerance. So a point may first be given multipliers with r = 0
(`milopt.outcome.dual_repair`), for which the bound holds whatever the size of x.

The objectives of two points of the same program differ by at most the sum of their errors. If both certificates hold,
they differ by at most tolerance * (2 + |objective_1| + |objective_2|); `Certificate.error` states the conditions.
Negative multipliers of inequalities count as 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.compiled_form import PrimalDualPoint
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.minorant_lowering import TermSizes
from milopt.compilation.quadratic import apply_weight
from milopt.compilation.rows import Rows
from milopt.cones.cone import factor_starts
from milopt.declaration.programs.sparse import absolute, row_lengths, transpose
from milopt.html import entries_table, view

NOISE_SHARE, DATA_NOISE_SHARE = 1e-3, 1e-4
"""Shares of the largest gradient (G of the module docstring) that are added to the scale of a dual residual.

`DATA_NOISE_SHARE` is used for columns and functions with a linear term, `NOISE_SHARE` for those without. `NOISE_SHARE`
of the largest multiplier is added for a cone.
"""
ABSOLUTE_SCALE_OFFSET = 1e-7
"""Number added to the scales of columns and functions: at a tolerance of 1e-6, residuals of 1e-13 always count as 0."""
MIN_LINEAR_TERM_SHARE = 1e-15
"""Share of the largest gradient up to which a column or function counts as having no linear term."""


@dataclass(frozen=True)
class Certificate:
    """Residuals of a primal-dual point, recomputed from the program.

    The certificate holds if `primal`, `dual` and `gap` are at most the tolerance. The module docstring of
    `milopt.outcome.certificate` states all formulas. For an integer program, `gap` is the relative distance to the
    solver's own bound, which cannot be recomputed, and `dual` is 0.

    Attributes
    ----------
    primal : float
        Largest violation of a row, bound or declared constraint, each relative to its own unit.
    dual : float
        Largest residual of stationarity (gradient of the Lagrangian), or distance of a multiplier from its dual cone,
        each relative to the terms that cancel in it.
    gap : float
        Relative duality gap, ``error / (1 + |objective|)``.
    violation : float
        Largest violation of a row, bound or declared constraint, unscaled.
    bound : float
        Value of the Lagrange dual: a lower bound on the minimised objective if `dual` is 0, otherwise an estimate of
        one. For an integer program, the solver's own bound.
    error : float, default=nan
        Bound on the distance between the declared objective at the point and the optimum, in the unit of the objective.
        It is proved if `dual` and `primal` are 0, otherwise it holds to first order.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("plane")
    >>> x = program.variable("x", 2, lower=0)
    >>> program.minimize(x.sum())
    >>> rows = program.subject_to(x[0] + 2 * x[1] >= 2)
    >>> certificate = milopt.solve(program).certificate
    >>> certificate.holds(1e-6)
    True
    >>> print(f"{certificate.bound:.4f}")
    1.0000
    """

    primal: float
    dual: float
    gap: float
    violation: float
    bound: float
    error: float = math.nan
    """Bound on the distance between the declared objective at this point and the optimum, in the unit of the objective.

    The bound is proved if `dual` and `primal` are 0. Otherwise it holds to first order: for optima whose free columns
    are no larger than those of the point, and if relaxing a violated row changes the optimum at the rate of its
    multiplier.
    """

    @classmethod
    def from_residuals(cls, residuals: Mapping[str, float | None]) -> Certificate:
        """Return a certificate of which only the residuals are known; None stands for a number that is not finite."""
        primal, dual, gap = (
            math.inf if value is None else float(value) for value in map(residuals.get, ("primal", "dual", "gap"))
        )
        return cls(primal, dual, gap, violation=math.nan, bound=math.nan)

    @property
    def worst(self) -> float:
        """Largest of the three residuals `primal`, `dual` and `gap`."""
        return max(self.primal, self.dual, self.gap)

    @property
    def largest_error(self) -> float:
        """Larger of `error` and `violation`; both are unscaled, unlike `worst`."""
        return max(self.error, self.violation)

    def holds(self, tolerance: float) -> bool:
        """Return True if `primal`, `dual` and `gap` are at most the tolerance; False if one of them is NaN."""
        return all(residual <= tolerance for residual in (self.primal, self.dual, self.gap))  # false for NaN

    def __str__(self) -> str:
        return f"primal {self.primal:.1e}, dual {self.dual:.1e}, gap {self.gap:.1e}"

    def __repr__(self) -> str:
        return f"Certificate({self})"

    def _repr_html_(self) -> str:
        """Return the residuals, the bound and the error as a table for a notebook."""
        names = ("primal", "dual", "gap", "violation", "bound", "error")
        return view(entries_table("Certificate", [(name, f"{getattr(self, name):.6g}") for name in names]))


@dataclass(frozen=True)
class DeclaredResiduals:
    """Violations and objective of the declared program at a point, computed by `milopt.outcome.declared_residuals`."""

    primal: float
    """Largest violation of a declared row, divided by its unit (at most 1) + its largest constant or atom term."""
    violation: float
    """Largest violation of a declared row, unscaled."""
    objective: float
    """Declared objective, negated if the program is a maximisation."""


@dataclass(frozen=True)
class PointEvaluation:
    """Values of an evaluation form at a point."""

    function_values: tuple[Vector, ...]
    """Per function, its values at all points at which the form evaluates it."""
    rows: Vector
    """Values s = A x + E f + g of all rows."""
    objective: float
    spaces: tuple[KernelSpace, ...]
    """Spaces of the functions."""


def evaluate(form: EvaluationForm, spaces: Sequence[KernelSpace], point: PrimalDualPoint) -> PointEvaluation:
    """Evaluate all functions at all their points, all rows, and the objective of a form at a point."""
    function_values = tuple(space.values(a) for space, a in zip(spaces, point.coefficients, strict=True))
    norms = squared_norms(spaces, point, function_values)
    rows = form.rows.value(point.x, function_values)
    return PointEvaluation(function_values, rows, form.value(point.x, function_values, norms), tuple(spaces))


def squared_norms(
    spaces: Sequence[KernelSpace], point: PrimalDualPoint, function_values: Sequence[Vector]
) -> tuple[float, ...]:
    """Return ||f||^2 of each function, given its values at all its points; rounding may make it negative."""
    parts = zip(spaces, point.coefficients, function_values, strict=True)
    return tuple(space.inner_product(function, function, values) for space, function, values in parts)


def certify(
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: PrimalDualPoint,
    evaluation: PointEvaluation,
    declared: DeclaredResiduals | None = None,
    sizes: TermSizes | None = None,
) -> Certificate:
    """Compute the certificate of a primal-dual point.

    Parameters
    ----------
    form : EvaluationForm
        Program for which the residuals are computed.
    spaces : sequence of KernelSpace
        Kernel values of the functions of the form.
    point : PrimalDualPoint
        Values and multipliers. Multipliers of inequalities are clipped at 0; missing multipliers count as 0.
    evaluation : PointEvaluation
        Values of the form at the point.
    declared : DeclaredResiduals or None, default=None
        Residuals of the declared program. If given, the certificate uses the larger violation and the larger
        objective of the two programs.
    sizes : TermSizes or None, default=None
        Sizes of terms that cancelled when the coefficients of the form were computed. They count in the scale of the
        dual residual.

    Returns
    -------
    Certificate
    """
    norms = _function_norms(spaces, point, evaluation)
    violations, scale = _violations(form, point.x, evaluation, norms)
    scaled_bound, bound_violation = form.bounds.largest_violations(point.x)
    primal = max(_largest_ratio(violations, scale), scaled_bound)
    violation = max(_max_abs(violations), bound_violation)
    objective = evaluation.objective
    if declared is not None:
        primal, violation = max(primal, declared.primal), max(violation, declared.violation)
        objective = max(objective, declared.objective)
    gradient = _ObjectiveGradient(form, spaces, point, evaluation, norms, sizes)
    z = np.zeros(form.rows.count) if point.z is None or gradient.is_zero else point.z
    proof = gradient.evaluate_multipliers(np.where(form.is_inequality, np.maximum(z, 0.0), z))
    row_cost = float(_move_cone_maxima_to_first_rows(form, np.abs(proof.z)) @ violations)
    bound_cost = float(proof.reduced_cost_sizes @ form.bounds.distance(point.x))
    error = max(abs(objective - proof.bound) + proof.effect, row_cost + bound_cost)
    return Certificate(primal, proof.dual, error / (1.0 + abs(objective)), violation, proof.bound, error)


def stationarity_residual(
    form: EvaluationForm, spaces: Sequence[KernelSpace], point: PrimalDualPoint, evaluation: PointEvaluation
) -> Vector:
    """Return the gradient of the Lagrangian, P x + q - A'z, by column, without the reduced costs of finite bounds.

    Negative multipliers of inequalities, and missing multipliers, count as 0.
    """
    z = np.zeros(form.rows.count) if point.z is None else point.z
    gradient = _ObjectiveGradient(form, spaces, point, evaluation, [0.0] * len(spaces))
    return gradient.evaluate_multipliers(np.where(form.is_inequality, np.maximum(z, 0.0), z)).residual


def certify_integer(
    form: EvaluationForm,
    point: PrimalDualPoint,
    evaluation: PointEvaluation,
    bound: float | None,
    declared: DeclaredResiduals | None = None,
) -> Certificate:
    """Compute the certificate of a point of an integer program: violations, distance from integers, and gap to `bound`.

    `bound` is the lower bound that the solver's search reports, or None. Without a bound, the gap is infinite.
    """
    x, objective = point.x, evaluation.objective
    violations, scale = _violations(form, x, evaluation, _function_norms(evaluation.spaces, point, evaluation))
    scaled_bound, bound_violation = form.bounds.largest_violations(x)
    fraction = _max_abs((x - np.round(x))[form.integer])
    primal = max(_largest_ratio(violations, scale), scaled_bound, fraction)
    violation = max(_max_abs(violations), bound_violation, fraction)
    if declared is not None:
        primal, violation = max(primal, declared.primal), max(violation, declared.violation)
        objective = max(objective, declared.objective)
    low = bound if bound is not None else -np.inf
    error = max(objective - low, 0.0) if np.isfinite(low) else np.inf
    return Certificate(primal, 0.0, error / (1.0 + abs(objective)), violation, low, error)


@dataclass(frozen=True)
class _DualEvaluation:
    """Multipliers with their dual residual and the value of the Lagrange dual, a lower bound if the residual is 0."""

    z: Vector
    residual: Vector
    """Per column, the part of the gradient of the Lagrangian that is not the reduced cost of a finite bound."""
    reduced_cost_sizes: Vector
    """Per column, the absolute reduced cost."""
    dual: float
    """Largest scaled dual residual."""
    bound: float
    """Value of the Lagrange dual."""
    effect: float
    """Estimate of the error of `bound` due to the residuals (see the module docstring)."""


class _ObjectiveGradient:
    """Gradient of the objective at a point, from which the dual residual of any multipliers is computed."""

    def __init__(
        self,
        form: EvaluationForm,
        spaces: Sequence[KernelSpace],
        point: PrimalDualPoint,
        evaluation: PointEvaluation,
        norms: Sequence[float],
        sizes: TermSizes | None = None,
    ) -> None:
        o = form.objective
        self._form, self._spaces, self._point, self._evaluation, self._norms = form, spaces, point, evaluation, norms
        self._sizes = sizes
        self._column_gradient, self._column_sizes, linear_sizes = o.q.copy(), np.abs(o.q), np.abs(o.q)
        self._point_gradients = list(o.p)
        """Per function, the part of the gradient that consists of kernel functions, by their coefficients."""
        self._linear_sizes = [_max_abs(p) for p in o.p]
        for square in o.squares:
            r, h = square.rows.value(point.x, evaluation.function_values), square.rows.g
            weighted_residual, weighted_offset = apply_weight(square.weight, r), apply_weight(square.weight, h)
            self._column_gradient += square.rows.transpose_times(weighted_residual)
            linear_sizes = np.maximum(linear_sizes, _absolute_transpose_times(square.rows, weighted_offset))
            self._column_sizes = np.maximum(
                self._column_sizes, _absolute_transpose_times(square.rows, weighted_residual)
            )
            for k, e in enumerate(square.rows.E):
                if e.nnz:
                    self._point_gradients[k] = self._point_gradients[k] + transpose(e) @ weighted_residual
                    self._linear_sizes[k] = max(self._linear_sizes[k], _max_abs(transpose(e) @ weighted_offset))
        self._function_gradients = [
            ridge * function + space.from_points(part)
            for space, ridge, function, part in zip(
                spaces, o.ridge, point.coefficients, self._point_gradients, strict=True
            )
        ]
        is_free = form.lower < form.upper
        gradients = zip(spaces, self._function_gradients, strict=True)
        largest_function_gradient = max([0.0, *(space.point_size(gradient) for space, gradient in gradients)])
        self.is_zero = max(_max_abs(self._column_sizes[is_free]), largest_function_gradient) == 0.0
        """True if the gradient of the objective is zero, so that z = 0 proves every feasible point optimal."""
        if sizes is not None:
            self._column_sizes = np.maximum(self._column_sizes, sizes.columns)
        self._largest = max(_max_abs(self._column_sizes[is_free]), largest_function_gradient)
        has_data = linear_sizes > MIN_LINEAR_TERM_SHARE * self._largest
        self._noise = np.where(has_data, DATA_NOISE_SHARE, NOISE_SHARE) * self._largest

    def evaluate_multipliers(self, z: Vector) -> _DualEvaluation:
        """Compute the dual residual of multipliers z and the Lagrange dual at z, which must be >= 0 on inequalities."""
        form, point, evaluation = self._form, self._point, self._evaluation
        gradient = self._column_gradient - form.rows.transpose_times(z)
        residual, bound_term = form.bounds.split_gradient(gradient)
        # Errors of the multipliers cannot cause larger residuals of a column than this: its coefficients may be tiny.
        possible = _absolute_transpose_times(form.rows, np.full(z.size, _max_abs(z)))
        own = np.maximum(self._column_sizes, _absolute_transpose_times(form.rows, z))
        scale = own + np.minimum(self._noise, np.maximum(own, possible)) + ABSOLUTE_SCALE_OFFSET
        curvature, size = form.objective.separable_curvature, np.abs(residual)
        scale = np.maximum(scale, np.sqrt(2.0 * curvature * (1.0 + abs(evaluation.objective))))
        dual = _largest_ratio(size, scale)
        column_effects = np.where(
            curvature > 0, size**2 / (2.0 * np.where(curvature > 0, curvature, 1.0)), size * np.abs(point.x)
        )
        effect = float(column_effects.sum())
        function_residuals: list[float] = []
        for k, (space, function_gradient) in enumerate(zip(self._spaces, self._function_gradients, strict=True)):
            row_terms = transpose(form.rows.E[k]) @ z
            function_residuals.append(space.length(function_gradient - space.from_points(row_terms)))
            if any(block.space == k for _, block in form.conic_blocks):
                continue
            ridge = form.objective.ridge[k]
            if ridge > 0:
                dual = max(dual, function_residuals[-1] / (1.0 + self._linear_sizes[k]))
                effect += function_residuals[-1] ** 2 / (2.0 * ridge)
            elif function_residuals[-1] > 0:
                own = function_gradient if space.features is None else self._point_gradients[k]
                sizes = np.abs(own) + transpose(absolute(form.rows.E[k])) @ np.abs(z)
                cancelling = None if self._sizes is None else self._sizes.points[k]
                sizes = sizes if cancelling is None else np.maximum(sizes, cancelling)
                share = (
                    DATA_NOISE_SHARE if self._linear_sizes[k] > MIN_LINEAR_TERM_SHARE * self._largest else NOISE_SHARE
                )
                dual = max(
                    dual,
                    function_residuals[-1]
                    / (space.summed_term_norms(sizes) + share * self._largest + ABSOLUTE_SCALE_OFFSET),
                )
                effect += function_residuals[-1] * self._norms[k]
        cone_residual, cone_effect = _dual_cone_residual(form, z, function_residuals, evaluation)
        gap = float(self._column_gradient @ point.x) + float(form.rows.g @ z)
        gap += sum(
            space.inner_product(function_gradient, function, values)
            for space, function_gradient, function, values in zip(
                self._spaces, self._function_gradients, point.coefficients, evaluation.function_values, strict=True
            )
        )
        bound = evaluation.objective - (gap - bound_term)
        return _DualEvaluation(
            z, residual, np.abs(gradient - residual), max(dual, cone_residual), bound, effect + cone_effect
        )


def _function_norms(spaces: Sequence[KernelSpace], point: PrimalDualPoint, evaluation: PointEvaluation) -> list[float]:
    """Return the norm ||f|| of each function in its kernel space."""
    return [float(np.sqrt(max(0.0, square))) for square in squared_norms(spaces, point, evaluation.function_values)]


def _violations(
    form: EvaluationForm, x: Vector, evaluation: PointEvaluation, norms: Sequence[float]
) -> tuple[Vector, Vector]:
    """Return (violations, scales) of the rows; a non-polyhedral cone has one violation and one scale, at its first row.

    `norms`: ||f|| of every function. If a block of rows has a function (`block.space`), its cone contains ||f|| as an
    additional last entry.
    """
    rows = evaluation.rows
    violations = np.where(form.is_equality, np.abs(rows), np.where(form.is_inequality, np.maximum(-rows, 0.0), 0.0))
    unit, offset = _row_units(form.rows, x, evaluation.function_values), np.abs(form.rows.g)
    scale = unit + offset
    for start, block in form.conic_blocks:
        span, sizes = slice(start, start + block.count), block.cone_sizes
        local = factor_starts(sizes)
        # The norm of the function of a block is an additional last entry of the cone.
        tail = [] if block.space is None else [norms[block.space]]
        violations[start + local] = block.cone.distance(np.append(rows[span], tail), sizes + len(tail))
        largest = np.maximum.reduceat(unit[span], local) if block.space is None else 1.0
        scale[start + local] = np.maximum.reduceat(offset[span], local) + largest
    return violations, scale


def _move_cone_maxima_to_first_rows(form: EvaluationForm, values: Vector) -> Vector:
    """Return values by row, with the first value of each non-polyhedral cone replaced by the largest of the cone."""
    largest = values.copy()
    for start, block in form.conic_blocks:
        local = factor_starts(block.cone_sizes)
        largest[start + local] = np.maximum.reduceat(values[start : start + block.count], local)
    return largest


def _row_units(rows: Rows, x: Vector, evaluations: Sequence[Vector]) -> Vector:
    """Return the unit of each row: the larger of its largest coefficient and the sum of its absolute terms, at most 1.

    A row without coefficients has the unit 1, because its constant may be the rounding error of larger numbers.
    """
    unit, terms = np.zeros(rows.count), np.zeros(rows.count)
    for matrix, values in ((rows.A, x), *zip(rows.E, evaluations, strict=True)):
        if matrix.nnz:
            size = absolute(matrix)
            met = np.flatnonzero(row_lengths(matrix))
            unit[met] = np.maximum(unit[met], np.maximum.reduceat(size.data, matrix.indptr[met]))
            terms += size @ np.abs(values)
    unit = np.maximum(unit, terms)
    return np.where(unit > 0, np.minimum(unit, 1.0), 1.0)


def _dual_cone_residual(
    form: EvaluationForm, z: Vector, function_residuals: Sequence[float], evaluation: PointEvaluation
) -> tuple[float, float]:
    """Return (residual, effect): the largest scaled distance of multipliers from their dual cones, and its effect.

    Only cones that are not polyhedral are considered. `effect`, the estimated effect on the bound, is the sum over all
    cones of the distance times the norm of the cone's head (see the module docstring). For `residual`, the distance is
    divided by the size of the multiplier plus noise. If the head is constant, as in a ball of fixed radius, distance *
    norm of the head is divided by 1 + |objective| instead.

    The cone of a block with a function f has ||f|| as its last entry, and a multiplier (t, w, u) in which u is a
    function too. Only the sum of u over all cones with f is determined: it is the gradient with respect to f that the
    rows leave, and its norm is the entry of f in `function_residuals`. So this norm is split among the cones in
    proportion to the largest ||u|| that the given part (t, w) of each multiplier admits, sqrt(t^2 - ||w||^2)
    (`_largest_tail_norm`).
    """
    capacities = {
        start: _largest_tail_norm(z[start : start + block.count])
        for start, block in form.conic_blocks
        if block.space is not None
    }
    worst, effect, noise = 0.0, 0.0, NOISE_SHARE * _max_abs(z)
    for start, block in form.conic_blocks:
        part, sizes = z[start : start + block.count], block.cone_sizes
        if block.space is not None:
            total = sum(
                capacities[other] for other, other_block in form.conic_blocks if other_block.space == block.space
            )
            part = np.append(part, function_residuals[block.space] * (capacities[start] / total if total > 0 else 1.0))
            sizes = sizes + 1
        distances = block.cone.dual_distance(part, sizes)
        for k in np.flatnonzero(distances):
            first, size = int(sizes[:k].sum()), int(sizes[k])
            # If z is at distance d from the dual cone, the bound may be wrong by about d times the head of the cone.
            point = block.cone.interior_point(size)
            bounding = start + first + np.flatnonzero(np.ones(size) if point is None else point)
            head = float(np.linalg.norm(evaluation.rows[bounding]))
            length = float(np.linalg.norm(part[first + 1 : first + size]))
            effect += float(distances[k]) * head
            if all(_is_constant(form.rows, row) for row in bounding.tolist()):
                worst = max(worst, float(distances[k]) * head / (1.0 + abs(evaluation.objective)))
            else:
                worst = max(worst, float(distances[k]) / (max(abs(float(part[first])), length) + noise))
    return worst, effect


def _largest_tail_norm(z: Vector) -> float:
    """Return the largest u for which (t, w, u), with (t, w) = z, is in the second-order cone; 0 if there is none."""
    return float(np.sqrt(max(0.0, max(float(z[0]), 0.0) ** 2 - float(z[1:] @ z[1:]))))


def _is_constant(rows: Rows, row: int) -> bool:
    """Return True if a row has no coefficients."""
    return all(int(part.indptr[row]) == int(part.indptr[row + 1]) for part in (rows.A, *rows.E))


def _absolute_transpose_times(rows: Rows, z: Vector) -> Vector:
    """Return |A|'|z|, where A is the matrix `rows.A` and |.| takes the absolute value of every entry."""
    return np.asarray(transpose(absolute(rows.A)) @ np.abs(z))


def _largest_ratio(values: Vector, scale: Vector) -> float:
    """Return the largest values / scale, where 0 / 0 counts as 0."""
    met = values > 0
    return float(np.max(values[met] / np.maximum(scale[met], 1e-300), initial=0.0))


def _max_abs(values: Vector) -> float:
    """Return the largest absolute value, 0 if there are none."""
    return float(np.max(np.abs(values), initial=0.0))
