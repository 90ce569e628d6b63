"""Minorants of the atoms of a program, with slopes from the multipliers of their epigraphs.

The slopes of an atom are read from the multipliers of its epigraph, T t + E e + ... in K, as -E'z / T'z, and then
replaced by the nearest slopes that a minorant may have (`Atom.conjugate`). Where T'z vanishes, they are the slopes at
the point. For an atom behind a column t, T'z is taken from the other rows of t, which give the weight that the declared
rows put on the atom: at the edge of a domain the weight may be 1e-10 and the slope 1e10.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.arguments import has_affine_argument
from milopt.compilation.epigraphs import Lowered
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant
from milopt.compilation.supports import Supports, support
from milopt.declaration.atoms.atom import Atom, Radial
from milopt.declaration.programs.expression import Constraint
from milopt.declaration.programs.sparse import row_vector, transposed
from milopt.outcome.point_values import LeafValues

NEGLIGIBLE_MULTIPLIER = 1e-14
"""Share of the largest multiplier below which the multiplier of an epigraph counts as 0."""


def declared_duals(constraints: Mapping[str, Constraint], form: EvaluationForm, z: Vector) -> dict[str, Vector]:
    """Return the multipliers of declared rows, by block, from those of the lowered rows."""
    duals: dict[str, Vector] = {name: np.zeros(constraint.expression.size) for name, constraint in constraints.items()}
    for block, start in zip(form.blocks, form.starts[:-1], strict=True):
        if block.origin in duals:
            part = z[start : start + block.count]
            np.add.at(duals[block.origin], block.declared, part if block.share is None else part * block.share)
    return duals


def row_multipliers(relaxed: EvaluationForm, duals: Mapping[str, Vector]) -> Vector:
    """Return the multipliers of the rows of a relaxation, at least 0 for inequalities."""
    y = np.concatenate([np.zeros(0), *(duals[block.name][block.declared] for block in relaxed.blocks)])
    return np.where(relaxed.inequality, np.maximum(y, 0.0), y)


def atom_supports(
    lowering: Lowering,
    form: EvaluationForm,
    z: Vector,
    gradient: Vector,
    values: LeafValues,
    negligible: float = NEGLIGIBLE_MULTIPLIER,
) -> Supports:
    """Return a minorant of every atom on its convex side that is not kept as a quadratic of the objective.

    `gradient` is that of the Lagrangian in the columns of the form.
    """
    return _epigraph_supports(lowering, form, z, gradient, values, negligible) | _square_supports(lowering, values)


def _epigraph_supports(
    lowering: Lowering, form: EvaluationForm, z: Vector, gradient: Vector, values: LeafValues, negligible: float
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
    tiny = negligible * float(np.abs(z).max(initial=0.0))
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
    return radial_support(atom, g, float(np.linalg.norm(g)))


def radial_support(atom: Radial, g: Vector, length: float) -> Minorant:
    """Return the minorant of a scalar radial atom with slopes in the direction of g, whose norm is `length`."""
    allowed, conjugate = atom.profile_conjugate(np.array([length]))
    return Minorant(row_vector(g * (float(allowed[0]) / (length or 1.0))), -conjugate)
