"""The certificate of a declared program with atoms: multipliers of declared rows, slopes and conjugates.

1. The multiplier of a declared row is the sum over its lowered rows of share * z.
2. The slopes of an atom are read from the multipliers of its epigraph, T t + E e + ... in K, as -E'z / T'z, and then
   replaced by the nearest slopes that a minorant may have (`Atom.conjugate`). Where T'z vanishes, they are the slopes
   at the point. For an atom behind a column t, T'z is taken from the other rows of t, which give the weight that the
   declared rows put on the atom: at the edge of a domain the weight may be 1e-10 and the slope 1e10.
3. With these minorants in place of atoms on their convex side, and those of the step on their other side, the program
   is a relaxation without cones (`milopt.compilation.supports`), whose KKT residuals and bound are computed as for any
   other program (`milopt.outcome.certificate`).

Violations and the objective come from the declared program itself (`milopt.outcome.declared`). No cone, no auxiliary
column and no row of an epigraph takes part: a wrong epigraph gives a worse point or a worse bound, never a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from milopt.compilation.arguments import has_affine_argument
from milopt.compilation.compiled import Compiled, Point
from milopt.compilation.epigraphs import Lowered
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.kernel_space import KernelSpace
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant
from milopt.compilation.quadratic import Vector, weighted
from milopt.compilation.supports import SupportedLowering, Supports, TermSizes, support
from milopt.declaration.atoms.atom import Atom, Radial
from milopt.declaration.sparse import absolute, row_vector, transposed
from milopt.outcome.certificate import Certificate, DeclaredResiduals, Evaluated, certify
from milopt.outcome.declared import declared_residuals
from milopt.outcome.point_values import LeafValues

VANISHING = 1e-14
"""Share of the largest multiplier below which the multiplier of an epigraph counts as 0."""
NOISE = 1e-9
"""Share used instead of `VANISHING` for a second try: the accuracy to which interior-point methods know multipliers."""
GOOD = 1e-7
"""Largest residual of a certificate for which no other slopes are tried."""


CONFIRMING = 1e-6
"""Share of the terms of a column's sum up to which the sum counts as 0 when a Farkas vector is checked."""
CANCELLATION = 1e-9
"""Smallest margin of a Farkas vector, relative to the terms that it is the sum of."""
LITTLE = 1e-2
"""Share of the largest size of a column's terms that counts as the size of every column's terms."""
RAY_STEPS = (0.0, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18)
"""How far along a ray, in units of the feasible point that it starts from, the declared program is evaluated."""
RAY_NOISE = 1e-7
"""Share of the largest entry of a ray below which an entry may be an error."""
RAY_VIOLATION, RAY_ROUNDING = 1e-5, 1e-13
"""Largest violation of a declared row along a ray, in units of the feasible point: fixed, and per length of the ray."""


def certify_declared(
    lowering: Lowering,
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: Point,
    worth: Evaluated,
    declared: DeclaredResiduals,
) -> Certificate:
    """Compute the certificate of a point from the declared program; see the module."""
    certificate = _certified(lowering, form, spaces, point, worth, declared, VANISHING)
    if certificate.worst <= GOOD:
        return certificate
    # Slopes from multipliers that are noise may be steep, above all at the edge of a domain.
    # Any minorants prove a bound, so the better of two certificates is taken.
    other = _certified(lowering, form, spaces, point, worth, declared, NOISE)
    return min(certificate, other, key=lambda one: one.worst if np.isfinite(one.worst) else np.inf)


def _certified(
    lowering: Lowering,
    form: EvaluationForm,
    spaces: Sequence[KernelSpace],
    point: Point,
    worth: Evaluated,
    declared: DeclaredResiduals,
    vanishing: float,
) -> Certificate:
    """Compute the certificate with the slopes at the point where multipliers are below a share of the largest."""
    z = np.zeros(form.rows.count) if point.z is None else point.z
    values = LeafValues(lowering, point, worth.evaluations)
    gradient = _column_gradient(form, point.x, worth, z)
    supports = _supports(lowering, form, z, gradient, values, vanishing) | _square_supports(lowering, values)
    duals = declared_duals(lowering, form, z)
    proof = _Proof(lowering, spaces, point, worth, duals, form.objective.ridge)
    supports |= proof.function_supports(
        {atom: m for atom, m in supports.items() if _is_free_function(lowering, atom)}, supports
    )
    relaxed, y, sizes = proof.relaxation(supports)
    rows = relaxed.rows.value(point.x, worth.evaluations)
    norms = tuple(float(a @ v) for a, v in zip(point.coefficients, worth.evaluations, strict=True))
    value = relaxed.value(point.x, worth.evaluations, norms)
    return certify(
        relaxed,
        spaces,
        Point(point.x, point.coefficients, y),
        Evaluated(worth.evaluations, rows, value),
        declared,
        sizes,
    )


def excludes_all_points(lowering: Lowering, form: EvaluationForm, spaces: Sequence[KernelSpace], farkas: Point) -> bool:
    """Return True if multipliers of the lowered rows prove that no point satisfies the declared rows.

    With the slopes that the multipliers have, the declared rows have a relaxation without cones. The multipliers y of
    the declared rows prove that it has no point if  y'(A x + E f + g) < 0  for all x within the bounds and all f.
    """
    z = np.zeros(form.rows.count) if farkas.z is None else farkas.z
    evaluations = tuple(space.values(a) for space, a in zip(spaces, farkas.coefficients, strict=True))
    values = LeafValues(lowering, farkas, evaluations)
    # A Farkas vector has no objective: its rows alone make up the gradient.
    gradient = -np.asarray(transposed(form.rows.A) @ z)
    supports = _supports(lowering, form, z, gradient, values, VANISHING) | _square_supports(lowering, values)
    supported = SupportedLowering(lowering, supports, declared_duals(lowering, form, z), [0.0] * len(spaces))
    relaxed = supported.form()
    y = _row_multipliers(relaxed, supported.duals)
    pull, sizes = relaxed.rows.pulled(y), supported.sizes.columns + transposed(absolute(relaxed.rows.A)) @ np.abs(y)
    side = np.where(pull > 0.0, relaxed.upper, relaxed.lower)
    is_bounded = np.isfinite(side)
    # Slopes that are noise have only noise to be compared with, so the largest size counts too.
    sizes = np.maximum(sizes, LITTLE * float(sizes.max(initial=0.0)))
    if (np.abs(pull) > CONFIRMING * sizes)[~is_bounded].any():
        return False
    for space, E, more in zip(spaces, relaxed.rows.E, supported.sizes.points, strict=True):
        own = transposed(absolute(E)) @ np.abs(y)
        if space.norm(transposed(E) @ y) > CONFIRMING * space.size(own if more is None else own + more):
            return False
    terms = np.concatenate([relaxed.rows.g * y, pull * np.where(is_bounded, side, 0.0)])
    return bool(-terms.sum() > CANCELLATION * np.abs(terms).sum())


def falls_along(
    lowering: Lowering, spaces: Sequence[KernelSpace], compiled: Compiled, start: Vector, ray: Vector
) -> bool:
    """Return True if the declared objective falls along a ray from a feasible point and the declared rows hold.

    The ray is measured in columns that are not auxiliary: those of atoms may run away alone if an epigraph is wrong. It
    is tried without its small entries too, which may be errors of the solver that found it.
    """
    own = np.ones(ray.size, dtype=bool)
    for one in lowering.epigraphs.lowered:
        own[np.concatenate([np.zeros(0, dtype=np.intp) if one.columns is None else one.columns, *one.new])] = False
    length = float(np.abs(ray[own]).max(initial=0.0))
    if length == 0.0:
        return False
    direction = ray * ((1.0 + float(np.abs(start[own]).max(initial=0.0))) / length)
    rounded = np.where(np.abs(ray) > RAY_NOISE * length, direction, 0.0)
    return any(_falls(lowering, spaces, compiled, start, one) for one in (direction, rounded))


def _falls(
    lowering: Lowering, spaces: Sequence[KernelSpace], compiled: Compiled, start: Vector, direction: Vector
) -> bool:
    """Return True if the declared program confirms a direction as far as `RAY_STEPS` go."""
    size, last = float(np.abs(direction).max()), np.inf
    for step in RAY_STEPS:
        x = start + step * direction
        point = compiled.recover(x, None)
        evaluations = tuple(space.values(a) for space, a in zip(spaces, point.coefficients, strict=True))
        values = LeafValues(lowering, point, evaluations)
        with np.errstate(over="ignore", invalid="ignore"):
            declared = declared_residuals(lowering, values, compiled.form.value(x))
        allowed = size * (RAY_VIOLATION + RAY_ROUNDING * step)
        if not (declared.violation <= allowed and declared.objective < last):  # false for NaN
            return False
        last = declared.objective
    return True


def declared_duals(lowering: Lowering, form: EvaluationForm, z: Vector) -> dict[str, Vector]:
    """Return the multipliers of declared rows, by block, from those of the lowered rows."""
    duals: dict[str, Vector] = {
        name: np.zeros(constraint.expression.size) for name, constraint in lowering.program.constraints.items()
    }
    for block, start in zip(form.blocks, form.starts[:-1], strict=True):
        if block.origin in duals:
            part = z[start : start + block.count]
            np.add.at(duals[block.origin], block.declared, part if block.share is None else part * block.share)
    return duals


def _row_multipliers(relaxed: EvaluationForm, duals: Mapping[str, Vector]) -> Vector:
    """Return the multipliers of the rows of a relaxation, at least 0 for inequalities."""
    y = np.concatenate([np.zeros(0), *(duals[block.name][block.declared] for block in relaxed.blocks)])
    return np.where(relaxed.inequality, np.maximum(y, 0.0), y)


def _is_free_function(lowering: Lowering, atom: Atom) -> bool:
    return atom.function is not None and lowering.linear.place_of(atom.function) is not None


def _column_gradient(form: EvaluationForm, x: Vector, worth: Evaluated, z: Vector) -> Vector:
    """Return the gradient of the Lagrangian in the columns of a form."""
    gradient = form.objective.q - transposed(form.rows.A) @ z
    for square in form.objective.squares:
        if square.rows.A.nnz:
            r = square.rows.value(x, worth.evaluations)
            gradient = gradient + transposed(square.rows.A) @ weighted(square.weight, r)
    return np.asarray(gradient)


def _supports(
    lowering: Lowering, form: EvaluationForm, z: Vector, gradient: Vector, values: LeafValues, vanishing: float
) -> Supports:
    """Return a minorant of every atom on its convex side, with slopes from the multipliers of its epigraph."""
    start_of = {block.name: int(start) for block, start in zip(form.blocks, form.starts[:-1], strict=True)}
    pulls: dict[Atom, tuple[Vector, Vector]] = {}
    for blocks, one in _all_lowered(lowering):
        heights, slopes = pulls.setdefault(one.atom, (np.zeros(one.atom.size), np.zeros(_argument_size(lowering, one))))
        for k, part in enumerate(one.template.parts):
            start = start_of[blocks[k]]
            mine = z[start : start + part.g.size] if one.rows is None else z[start + one.rows[k]]
            heights[one.entries] += transposed(part.T) @ mine
            slopes[one.index] -= transposed(part.E) @ mine
        if one.columns is not None:
            heights[one.entries] += gradient[one.columns]
    tiny = vanishing * float(np.abs(z).max(initial=0.0))
    return {atom: _support(lowering, atom, *pull, tiny, values) for atom, pull in pulls.items()}


def _square_supports(lowering: Lowering, values: LeafValues) -> Supports:
    """Return the tangents of quadratics of the objective with other atoms inside, which have no epigraph."""
    found: Supports = {}
    for leaf, _ in lowering.program.objective.terms:
        if isinstance(leaf, Atom) and leaf.is_quadratic and not has_affine_argument(leaf):
            found[leaf] = support(leaf, leaf.slopes(values.inner(leaf), leaf.segments))
    return found


def _all_lowered(lowering: Lowering) -> list[tuple[list[str], Lowered]]:
    """Return every lowered epigraph, with the names of the blocks of its parts."""
    found = [([block.name for block in one.blocks], one) for one in lowering.epigraphs.lowered]
    for name, inlined in lowering.inlined.items():
        found += [([name], one) for one in inlined]
    return found


def _argument_size(lowering: Lowering, one: Lowered) -> int:
    return one.at.total if one.atom.function is not None else one.atom.segments.total


def _support(
    lowering: Lowering, atom: Atom, heights: Vector, slopes: Vector, tiny: float, values: LeafValues
) -> Minorant:
    function = atom.function
    if function is None:
        at, e = atom.segments, None
        if (heights <= tiny).any():
            e = atom.nearest(values.inner(atom), at)
        own = np.zeros(slopes.size) if e is None else atom.slopes(e, at)
        known = heights[at.of] > tiny
        return support(atom, np.where(known, slopes / np.where(known, heights[at.of], 1.0), own))
    assert isinstance(atom, Radial)
    if lowering.linear.place_of(function) is not None:
        return Minorant(row_vector(np.zeros(0)), -atom.profile_conjugate(np.zeros(1))[1])
    e = values.function_values(function)
    radius = float(np.linalg.norm(e))
    slope = float(atom.profile_slope(np.array([radius]))[0])
    g = slopes / heights[0] if heights[0] > tiny else slope * e / (radius or 1.0)
    return _radial_support(atom, g, float(np.linalg.norm(g)))


def _radial_support(atom: Radial, g: Vector, length: float) -> Minorant:
    """Return the minorant of a scalar radial atom with slopes in the direction of g, whose norm is `length`."""
    allowed, conjugate = atom.profile_conjugate(np.array([length]))
    return Minorant(row_vector(g * (float(allowed[0]) / (length or 1.0))), -conjugate)


class _Proof:
    """Relaxations of a program at given multipliers of its declared rows."""

    def __init__(
        self,
        lowering: Lowering,
        spaces: Sequence[KernelSpace],
        point: Point,
        worth: Evaluated,
        duals: dict[str, Vector],
        ridge: Sequence[float],
    ) -> None:
        self._ridge = ridge
        self._lowering = lowering
        self._spaces = spaces
        self._point = point
        self._worth = worth
        self._duals = duals

    def relaxation(self, supports: Supports) -> tuple[EvaluationForm, Vector, TermSizes]:
        """Return the relaxation with these minorants, the multipliers of its rows, and the sizes of its gradients."""
        lowering = SupportedLowering(self._lowering, supports, self._duals, self._ridge)
        relaxed = lowering.form()
        return relaxed, _row_multipliers(relaxed, self._duals), lowering.sizes

    def function_supports(self, flat: Supports, supports: Supports) -> Supports:
        """Return minorants of the norms of functions; `flat` holds those with slopes 0.

        They start as tangents. Then each in turn, the one that gains most first, takes what is left of the gradient of
        its function, unless the tangent leaves less.
        """
        found = flat
        if len(flat) > 1:
            found = {atom: self._tangent(atom) for atom in flat}
        pending = list(flat)
        while pending:
            offers = {atom: self._function_support(atom, supports | found | {atom: flat[atom]}) for atom in pending}
            best = min(pending, key=lambda atom: offers[atom][1])
            found = found | {best: offers[best][0]}
            pending = [atom for atom in pending if atom is not best]
        return found

    def _function_support(self, atom: Atom, supports: Supports) -> tuple[Minorant, float]:
        """Return the better of two minorants, and its cost: what it adds to the gap, and what is left of the gradient.

        One takes all of the gradient that slopes of a minorant may take, the other is the tangent. A norm that hardly
        counts may need long slopes for the gradient, and a long slope is far below the atom.
        """
        assert isinstance(atom, Radial)
        k = self._place(atom)
        relaxed, y, _ = self.relaxation(supports)
        flat = supports[atom]
        raised, _, _ = self.relaxation(supports | {atom: Minorant(flat.slopes, flat.constants + 1.0)})
        weight = raised.objective.constant - relaxed.objective.constant - float(y @ (raised.rows.g - relaxed.rows.g))
        if weight <= 0.0:
            return flat, 0.0
        gradient, space, f = self._gradient(relaxed, y, k), self._spaces[k], self._worth.evaluations[k]
        radius = space.norm(self._point.coefficients[k])
        value = float(atom.profile(np.array([radius]))[0])
        offers: list[tuple[Minorant, float]] = []
        g = -gradient / weight
        for one in (_radial_support(atom, g, space.norm(g)), self._tangent(atom)):
            slopes = one.slopes.toarray().ravel()
            below = value - float(slopes @ f) - float(one.constants[0])
            offers.append((one, weight * max(0.0, below) + (1.0 + radius) * space.norm(gradient + weight * slopes)))
        return min(offers, key=lambda offer: offer[1])

    def _tangent(self, atom: Atom) -> Minorant:
        """Return the minorant of the norm of a function that touches it at the point."""
        assert isinstance(atom, Radial)
        k = self._place(atom)
        a = self._point.coefficients[k]
        radius = self._spaces[k].norm(a)
        slope = float(atom.profile_slope(np.array([radius]))[0])
        return _radial_support(atom, a * (slope / (radius or 1.0)), slope if radius else 0.0)

    def _place(self, atom: Atom) -> int:
        assert atom.function is not None
        place = self._lowering.linear.place_of(atom.function)
        assert place is not None
        return place

    def _gradient(self, form: EvaluationForm, y: Vector, k: int) -> Vector:
        """Return the gradient of the Lagrangian in a function, as weights on its points."""
        o, point, worth = form.objective, self._point, self._worth
        pull = o.ridge[k] * point.coefficients[k] + o.p[k] - transposed(form.rows.E[k]) @ y
        for square in o.squares:
            if square.rows.E[k].nnz:
                r = square.rows.value(point.x, worth.evaluations)
                pull = pull + transposed(square.rows.E[k]) @ weighted(square.weight, r)
        return np.asarray(pull)
