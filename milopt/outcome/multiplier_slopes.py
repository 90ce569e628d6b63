"""Minorants of the atoms of a program, with slopes computed from the multipliers of their epigraphs.

The epigraph of an atom consists of rows  T t + E e + ...  in a cone K, with matrices T and E, the value t of the atom
and its argument e (see `milopt.compilation.template`). The multipliers z of these rows give the slopes -E'z / T'z of
the atom. They are replaced by the nearest slopes that a minorant can have (`Atom.conjugate`). If T'z vanishes, the
slopes of the atom at the point are used. If t is an auxiliary column, T'z is computed from the objective and the other
rows that contain t: it is the weight that they give to the atom. This is more accurate, because at the edge of a domain
the weight may be 1e-10 and the slope 1e10.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from milopt.arrays import Vector
from milopt.compilation.arguments import has_affine_argument
from milopt.compilation.epigraphs import LoweredEpigraph
from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.lowering import Lowering
from milopt.compilation.minorant import Minorant
from milopt.compilation.minorant_lowering import Minorants, nearest_minorant
from milopt.declaration.atoms.atom import Atom, RadialAtom
from milopt.declaration.programs.expression import Constraint
from milopt.declaration.programs.sparse import row_vector, transpose
from milopt.outcome.point_values import LeafValues

NEGLIGIBLE_MULTIPLIER = 1e-14
"""Share of the largest multiplier below which the multiplier of an epigraph counts as 0."""


def declared_duals(constraints: Mapping[str, Constraint], form: EvaluationForm, z: Vector) -> dict[str, Vector]:
    """Return the multipliers of the declared rows by block, from the multipliers z of the lowered rows of `form`."""
    duals: dict[str, Vector] = {name: np.zeros(constraint.expression.size) for name, constraint in constraints.items()}
    for block, start in zip(form.blocks, form.block_starts[:-1], strict=True):
        if block.origin in duals:
            part = z[start : start + block.count]
            np.add.at(duals[block.origin], block.declared, part if block.share is None else part * block.share)
    return duals


def row_multipliers(relaxed: EvaluationForm, duals: Mapping[str, Vector]) -> Vector:
    """Return the multipliers of a relaxation's rows, given those of the declared rows; at least 0 for inequalities."""
    y = np.concatenate([np.zeros(0), *(duals[block.name][block.declared] for block in relaxed.blocks)])
    return np.where(relaxed.is_inequality, np.maximum(y, 0.0), y)


def atom_minorants(
    lowering: Lowering,
    form: EvaluationForm,
    z: Vector,
    gradient: Vector,
    values: LeafValues,
    negligible: float = NEGLIGIBLE_MULTIPLIER,
) -> Minorants:
    """Return a minorant of every atom on its convex side, except quadratics of the objective with affine arguments.

    `gradient` is the gradient of the Lagrangian with respect to the columns of the form. Multipliers below the share
    `negligible` of the largest one count as 0.
    """
    return _epigraph_minorants(lowering, form, z, gradient, values, negligible) | _square_minorants(lowering, values)


def _epigraph_minorants(
    lowering: Lowering, form: EvaluationForm, z: Vector, gradient: Vector, values: LeafValues, negligible: float
) -> Minorants:
    """Return a minorant of every atom with an epigraph, with slopes from the multipliers of the epigraph."""
    start_of = {block.name: int(start) for block, start in zip(form.blocks, form.block_starts[:-1], strict=True)}
    slopes_by_atom: dict[Atom, tuple[Vector, Vector]] = {}
    for blocks, epigraph in _lowered_epigraphs(lowering):
        heights, slopes = slopes_by_atom.setdefault(
            epigraph.atom, (np.zeros(epigraph.atom.size), np.zeros(_argument_size(lowering, epigraph)))
        )
        for k, part in enumerate(epigraph.template.parts):
            start = start_of[blocks[k]]
            mine = z[start : start + part.g.size] if epigraph.rows is None else z[start + epigraph.rows[k]]
            heights[epigraph.entries] += transpose(part.T) @ mine
            slopes[epigraph.index] -= transpose(part.E) @ mine
        if epigraph.columns is not None:
            heights[epigraph.entries] += gradient[epigraph.columns]
    tiny = negligible * float(np.abs(z).max(initial=0.0))
    return {
        atom: _multiplier_minorant(lowering, atom, *heights_and_slopes, tiny, values)
        for atom, heights_and_slopes in slopes_by_atom.items()
    }


def _square_minorants(lowering: Lowering, values: LeafValues) -> Minorants:
    """Return the tangents of quadratics of the objective with other atoms inside, which have no epigraph."""
    minorants: Minorants = {}
    for leaf, _ in lowering.program.objective.terms:
        if isinstance(leaf, Atom) and leaf.is_quadratic and not has_affine_argument(leaf):
            minorants[leaf] = nearest_minorant(leaf, leaf.slopes(values.argument_values(leaf), leaf.segments))
    return minorants


def _lowered_epigraphs(lowering: Lowering) -> list[tuple[list[str], LoweredEpigraph]]:
    """Return every lowered epigraph with the names of the row blocks that contain its rows."""
    named_epigraphs = [([block.name for block in epigraph.blocks], epigraph) for epigraph in lowering.epigraphs.lowered]
    for name, inlined in lowering.inlined.items():
        named_epigraphs += [([name], epigraph) for epigraph in inlined]
    return named_epigraphs


def _argument_size(lowering: Lowering, epigraph: LoweredEpigraph) -> int:
    """Return the number of entries of the argument of the atom of an epigraph."""
    return epigraph.runs.entry_count if epigraph.atom.function is not None else epigraph.atom.segments.entry_count


def _multiplier_minorant(
    lowering: Lowering, atom: Atom, heights: Vector, slopes: Vector, tiny: float, values: LeafValues
) -> Minorant:
    """Return the minorant of one atom from T'z (`heights`) and -E'z (`slopes`), the symbols of the module docstring.

    Entries with T'z <= `tiny`, a multiplier that counts as 0, get the slopes of the atom at the point. The norm of a
    function without a dictionary gets slopes 0, which the caller replaces.
    """
    function = atom.function
    if function is None:
        at, e = atom.segments, None
        if (heights <= tiny).any():
            e = atom.nearest(values.argument_values(atom), at)
        own = np.zeros(slopes.size) if e is None else atom.slopes(e, at)
        known = heights[at.run_of_entry] > tiny
        return nearest_minorant(atom, np.where(known, slopes / np.where(known, heights[at.run_of_entry], 1.0), own))
    assert isinstance(atom, RadialAtom)
    if lowering.affine.free_function_index(function) is not None:
        return Minorant(row_vector(np.zeros(0)), -atom.profile_conjugate(np.zeros(1))[1])
    e = values.norm_vector(function)
    radius = float(np.linalg.norm(e))
    slope = float(atom.profile_slope(np.array([radius]))[0])
    g = slopes / heights[0] if heights[0] > tiny else slope * e / (radius or 1.0)
    return radial_minorant(atom, g, float(np.linalg.norm(g)))


def radial_minorant(atom: RadialAtom, g: Vector, length: float) -> Minorant:
    """Return the minorant of a scalar radial atom with the slopes g, whose norm is `length`.

    If slopes of this length are too steep for a minorant, they are shortened.
    """
    allowed, conjugate = atom.profile_conjugate(np.array([length]))
    return Minorant(row_vector(g * (float(allowed[0]) / (length or 1.0))), -conjugate)
