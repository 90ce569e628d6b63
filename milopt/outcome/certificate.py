"""The proof that comes with an answer: KKT residuals recomputed from the program, never read from a solver.

For the evaluation form  min 1/2 x'Px + q'x (+ functions)  s.t.  s = A x + E f + g in K,  l <= x <= u  at (x, f, z):

    primal = max of  dist(s_i, K_i) / (u_i + |g_i|)  over rows, of  violation / (1 + |bound|)  over bounds, and of
             violation / (1 + largest term)  over the declared rows, with atoms evaluated as declared;
             u_i = min(1, max(largest coefficient of the row, |A_i||x|)), so that the unit of a row does not matter
    dual   = max of  |r_j| / scale_j  over the columns, r = P x + q - A'z  where no bound takes it, and of the same for
             functions and for multipliers outside a second-order cone
    gap    = error / (1 + |objective|)
    error  = max{ |objective - bound| + effect,  sum_i |z_i| dist(s_i, K_i) + sum_j |reduced cost_j| violation_j }

A residual is compared with the numbers that cancel in it, so that no choice of units makes a wrong answer look right:

    column j                       max(|q_j|, |Px|_j, |A_j|'|z|) + a little of max_k(|q_k|, |Px|_k), k over columns that
                                   are not fixed and over points: 1e-3 of it if q_j = 0, and 1e-4 of it otherwise
    column with a square of its    the same or, if larger, sqrt(2 h (1 + |objective|)), at which the residual is worth
    own, h x_j^2 / 2               1 + |objective|
    function f, c ||f||^2 / 2      1 + |p|
    in the objective
    another function               sum_p (|p| + |E|'|z|)_p sqrt(K(x_p, x_p)), over its points, + a little of the same
                                   maximum: 1e-3 of it if p = 0, and 1e-4 of it otherwise
    multiplier (t, w) of a         max(|t|, ||w||) + 0.001 max |z|, or, if the head of the row is a constant R (a ball),
    second-order cone              (1 + |objective|) / R

The little terms admit the noise of interior-point methods: at a tolerance of 1e-6, 1e-9 of the largest gradient in
columns and functions without a linear term and in cones, 1e-10 of it in others, and 1e-13 in any case.

`objective` is the declared one. `bound` is the dual value of z. It is a lower bound on the optimum if r = 0. The effect
of another r is  sum_j |r_j| |x_j|,  or  r_j^2 / (2 h)  with a square of its own, for columns;  ||r_f||^2 / (2 c),  or
||r_f|| ||f|| if c = 0, for functions; and, for a multiplier outside its cone, the distance times the head of its row.
Since interior-point methods leave r at their own tolerance, a point may first be given multipliers for which r vanishes
(`dual_repair`): then the bound holds whatever the size of x.

The objectives of two points of one program differ by at most the sum of their errors, and so by at most
tolerance * (2 + |objective_1| + |objective_2|) if both certificates hold; see `Certificate.error` for the conditions.
Negative multipliers of inequalities count as 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.compiled import Point
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.quadratic import weighted
from milopt.compilation.rows import Rows
from milopt.compilation.supports import TermSizes
from milopt.cones.cone import factor_starts
from milopt.declaration.programs.sparse import absolute, row_lengths, transposed

NOISE, DATA_NOISE = 1e-3, 1e-4
"""Share of the largest number of its kind that is added to the scale of a dual residual; the second for data."""
NOTHING = 1e-7
"""Added to the scale of every dual residual: a gradient of 1e-13, at a tolerance of 1e-6, is nothing in any unit."""
ROUNDING = 1e-15
"""Share of the largest gradient up to which the linear term of a column is no data."""


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
    error: float = math.nan
    """Bound on the distance between the declared objective at this point and the optimum, in the objective's own unit.

    It is proved if `dual` and `primal` are 0. Otherwise it holds to first order: for every optimum whose free columns
    are no larger than those of the point, and if violated rows are worth what their multipliers say.
    """

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.primal, self.dual, self.gap)

    @property
    def largest_error(self) -> float:
        """The larger of `error` and `violation`: unscaled, unlike `worst`."""
        return max(self.error, self.violation)

    def holds(self, tolerance: float) -> bool:
        """Whether all three are within tolerance."""
        return all(residual <= tolerance for residual in (self.primal, self.dual, self.gap))  # false for NaN

    def __str__(self) -> str:
        return f"primal {self.primal:.1e}, dual {self.dual:.1e}, gap {self.gap:.1e}"


@dataclass(frozen=True)
class DeclaredResiduals:
    """The declared program at a point; see `milopt.outcome.declared`."""

    primal: float
    """The largest violation of a declared row, divided by 1 + the largest term of the row."""
    violation: float
    """The largest violation of a declared row, unscaled."""
    objective: float
    """The declared objective as a minimisation."""


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


def certify(
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: Point,
    worth: Evaluated,
    declared: DeclaredResiduals | None = None,
    sizes: TermSizes | None = None,
) -> Certificate:
    """Compute the certificate of a primal-dual point; `declared` adds the residuals of the declared program.

    `sizes` are terms that cancel within the form's own coefficients, and so count in the scale too.
    """
    norms = _norms(point, worth)
    wrong, scale = _violations(form, point.x, worth, norms)
    outside, beyond = form.bounds.violation(point.x)
    primal, violation = max(_largest_ratio(wrong, scale), outside), max(_inf(wrong), beyond)
    objective = worth.objective
    if declared is not None:
        primal, violation = max(primal, declared.primal), max(violation, declared.violation)
        objective = max(objective, declared.objective)
    gradient = _Gradient(form, spaces, point, worth, norms, sizes)
    z = np.zeros(form.rows.count) if point.z is None or gradient.is_zero else point.z
    proof = gradient.proof(np.where(form.inequality, np.maximum(z, 0.0), z))
    paid = float(_largest_of_cones(form, np.abs(proof.z)) @ wrong) + float(proof.taken @ form.bounds.distance(point.x))
    error = max(abs(objective - proof.bound) + proof.effect, paid)
    return Certificate(primal, proof.dual, error / (1.0 + abs(objective)), violation, proof.bound, error)


def remainder(form: EvaluationForm, spaces: Sequence[KernelSpace], point: Point, worth: Evaluated) -> Vector:
    """Return what no bound takes of P x + q - A'z, column by column."""
    z = np.zeros(form.rows.count) if point.z is None else point.z
    gradient = _Gradient(form, spaces, point, worth, [0.0] * len(spaces))
    return gradient.proof(np.where(form.inequality, np.maximum(z, 0.0), z)).left


def certify_integer(
    form: EvaluationForm,
    point: Point,
    worth: Evaluated,
    bound: float | None,
    declared: DeclaredResiduals | None = None,
) -> Certificate:
    """Feasibility, integrality and the MIP gap to a proved bound."""
    x, objective = point.x, worth.objective
    wrong, scale = _violations(form, x, worth, _norms(point, worth))
    outside, beyond = form.bounds.violation(x)
    fraction = _inf((x - np.round(x))[form.integer])
    primal, violation = max(_largest_ratio(wrong, scale), outside, fraction), max(_inf(wrong), beyond, fraction)
    if declared is not None:
        primal, violation = max(primal, declared.primal), max(violation, declared.violation)
        objective = max(objective, declared.objective)
    low = bound if bound is not None else -np.inf
    error = max(objective - low, 0.0) if np.isfinite(low) else np.inf
    return Certificate(primal, 0.0, error / (1.0 + abs(objective)), violation, low, error)


@dataclass(frozen=True)
class _Proof:
    """Multipliers, and what they prove."""

    z: Vector
    left: Vector
    """What no bound takes of the gradient of the Lagrangian, column by column."""
    taken: Vector
    """The sizes of the reduced costs: what bounds take of it."""
    dual: float
    bound: float
    effect: float


class _Gradient:
    """The gradient of the objective at a point, from which the residuals of any multipliers follow."""

    def __init__(
        self,
        form: EvaluationForm,
        spaces: Sequence[KernelSpace],
        point: Point,
        worth: Evaluated,
        norms: Sequence[float],
        sizes: TermSizes | None = None,
    ) -> None:
        o = form.objective
        self._form, self._spaces, self._point, self._worth, self._norms = form, spaces, point, worth, norms
        self._sizes = sizes
        self._columns, self._terms, linear = o.q.copy(), np.abs(o.q), np.abs(o.q)
        self._pulls = [ridge * a + p for ridge, a, p in zip(o.ridge, point.coefficients, o.p, strict=True)]
        self._offsets = [_inf(p) for p in o.p]
        for square in o.squares:
            r, h = square.rows.value(point.x, worth.evaluations), square.rows.g
            pull, offset = weighted(square.weight, r), weighted(square.weight, h)
            self._columns += square.rows.pulled(pull)
            linear = np.maximum(linear, _pulled_sizes(square.rows, offset))
            self._terms = np.maximum(self._terms, _pulled_sizes(square.rows, pull))
            for k, e in enumerate(square.rows.E):
                if e.nnz:
                    self._pulls[k] = self._pulls[k] + transposed(e) @ pull
                    self._offsets[k] = max(self._offsets[k], _inf(transposed(e) @ offset))

        moves, pulled = form.lower < form.upper, max([0.0, *(_inf(pull) for pull in self._pulls)])
        self.is_zero = max(_inf(self._terms[moves]), pulled) == 0.0
        """True if the objective is flat, so that z = 0 proves any feasible point optimal."""
        if sizes is not None:
            self._terms = np.maximum(self._terms, sizes.columns)
        self._largest = max(_inf(self._terms[moves]), pulled)
        has_data = linear > ROUNDING * self._largest
        self._noise = np.where(has_data, DATA_NOISE, NOISE) * self._largest + NOTHING

    def proof(self, z: Vector) -> _Proof:
        """Compute the residuals and the bound of multipliers with the right signs."""
        form, point, worth = self._form, self._point, self._worth
        whole = self._columns - form.rows.pulled(z)
        left, at_bounds = form.bounds.shared(whole)
        scale = np.maximum(self._terms, _pulled_sizes(form.rows, z)) + self._noise
        bend, size = form.objective.separable_curvature, np.abs(left)
        scale = np.maximum(scale, np.sqrt(2.0 * bend * (1.0 + abs(worth.objective))))
        dual = _largest_ratio(size, scale)
        worth_of = np.where(bend > 0, size**2 / (2.0 * np.where(bend > 0, bend, 1.0)), size * np.abs(point.x))
        effect = float(worth_of.sum())
        tails: list[float] = []
        for k, (space, pull) in enumerate(zip(self._spaces, self._pulls, strict=True)):
            held = transposed(form.rows.E[k]) @ z
            tails.append(space.norm(pull - held))
            if any(block.space == k for _, block in form.conic):
                continue
            ridge = form.objective.ridge[k]
            if ridge > 0:
                dual = max(dual, tails[-1] / (1.0 + self._offsets[k]))
                effect += tails[-1] ** 2 / (2.0 * ridge)
            elif tails[-1] > 0:
                sizes = np.abs(pull) + transposed(absolute(form.rows.E[k])) @ np.abs(z)
                cancelling = None if self._sizes is None else self._sizes.points[k]
                sizes = sizes if cancelling is None else np.maximum(sizes, cancelling)
                share = DATA_NOISE if self._offsets[k] > ROUNDING * self._largest else NOISE
                dual = max(dual, tails[-1] / (space.size(sizes) + share * self._largest + NOTHING))
                effect += tails[-1] * self._norms[k]
        outside, more = _outside_dual(form, z, tails, worth)
        gap = float(self._columns @ point.x) + float(form.rows.g @ z)
        gap += sum(float(pull @ values) for pull, values in zip(self._pulls, worth.evaluations, strict=True))
        bound = worth.objective - (gap - at_bounds)
        return _Proof(z, left, np.abs(whole - left), max(dual, outside), bound, effect + more)


def _norms(point: Point, worth: Evaluated) -> list[float]:
    """Return the norm of each function."""
    squares = (float(a @ values) for a, values in zip(point.coefficients, worth.evaluations, strict=True))
    return [float(np.sqrt(max(0.0, square))) for square in squares]


def _violations(form: EvaluationForm, x: Vector, worth: Evaluated, norms: Sequence[float]) -> tuple[Vector, Vector]:
    """Return (violation, scale) of each row, given the norms of functions that end cones."""
    rows = worth.rows
    wrong = np.where(form.equality, np.abs(rows), np.where(form.inequality, np.maximum(-rows, 0.0), 0.0))
    unit, offset = _row_units(form.rows, x, worth.evaluations), np.abs(form.rows.g)
    scale = unit + offset
    for start, block in form.conic:
        span, sizes = slice(start, start + block.count), block.cone_sizes
        local = factor_starts(sizes)
        # A function that ends a cone adds one row: its norm.
        tail = [] if block.space is None else [norms[block.space]]
        wrong[start + local] = block.cone.distance(np.append(rows[span], tail), sizes + len(tail))
        largest = np.maximum.reduceat(unit[span], local) if block.space is None else 1.0
        scale[start + local] = np.maximum.reduceat(offset[span], local) + largest
    return wrong, scale


def _largest_of_cones(form: EvaluationForm, values: Vector) -> Vector:
    """Return the values with, in the first row of each cone that is not polyhedral, the largest value of the cone."""
    largest = values.copy()
    for start, block in form.conic:
        local = factor_starts(block.cone_sizes)
        largest[start + local] = np.maximum.reduceat(values[start : start + block.count], local)
    return largest


def _row_units(rows: Rows, x: Vector, evaluations: Sequence[Vector]) -> Vector:
    """Return per row its largest coefficient or the size of its terms, whichever is larger, but at most 1.

    A row without coefficients has the unit 1: its constant may be the rounding error of larger numbers.
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


def _outside_dual(form: EvaluationForm, z: Vector, tails: Sequence[float], worth: Evaluated) -> tuple[float, float]:
    """Return how far the multipliers of other cones than R+ lie outside K*: (scaled, effect on the bound).

    In a ball of a fixed radius the effect is at most the distance times the radius, so there it is the residual too.
    The parts of a function's multiplier in the cones that it ends need only sum to it, so each cone takes as much as it
    has room for: t^2 - ||w||^2.
    """
    rooms = {start: _room(z[start : start + block.count]) for start, block in form.conic if block.space is not None}
    worst, effect, noise = 0.0, 0.0, NOISE * _inf(z)
    for start, block in form.conic:
        part, sizes = z[start : start + block.count], block.cone_sizes
        if block.space is not None:
            total = sum(rooms[other] for other, one in form.conic if one.space == block.space)
            part = np.append(part, tails[block.space] * (rooms[start] / total if total > 0 else 1.0))
            sizes = sizes + 1
        outside = block.cone.dual_distance(part, sizes)
        for k in np.flatnonzero(outside):
            first, size = int(sizes[:k].sum()), int(sizes[k])
            # An error d of z costs at most d times the rows in which a cone is bounded: the head of a ball.
            point = block.cone.interior(size)
            bounding = start + first + np.flatnonzero(np.ones(size) if point is None else point)
            head = float(np.linalg.norm(worth.rows[bounding]))
            length = float(np.linalg.norm(part[first + 1 : first + size]))
            effect += float(outside[k]) * head
            if all(_is_constant(form.rows, row) for row in bounding.tolist()):
                worst = max(worst, float(outside[k]) * head / (1.0 + abs(worth.objective)))
            else:
                worst = max(worst, float(outside[k]) / (max(abs(float(part[first])), length) + noise))
    return worst, effect


def _room(z: Vector) -> float:
    """Return the largest norm that a function may have at the end of a multiplier (t, w): sqrt(t^2 - ||w||^2)."""
    return float(np.sqrt(max(0.0, max(float(z[0]), 0.0) ** 2 - float(z[1:] @ z[1:]))))


def _is_constant(rows: Rows, row: int) -> bool:
    """Return True if a row has no entries."""
    return all(int(part.indptr[row]) == int(part.indptr[row + 1]) for part in (rows.A, *rows.E))


def _pulled_sizes(rows: Rows, z: Vector) -> Vector:
    """Return |A|'|z|."""
    return np.asarray(transposed(absolute(rows.A)) @ np.abs(z))


def _largest_ratio(values: Vector, scale: Vector) -> float:
    """Return the largest values / scale, where 0 / 0 is 0."""
    met = values > 0
    return float(np.max(values[met] / np.maximum(scale[met], 1e-300), initial=0.0))


def _inf(values: Vector) -> float:
    return float(np.max(np.abs(values), initial=0.0))
