"""What kind of program it is, told by its blocks alone: no parameter needs a value, no kernel is evaluated.

An atom on its convex side needs the cones of its epigraph, except quadratics, which an objective keeps. A program with
an atom on its other side is DC; its features are those of the convex program at each choice of minorants.
"""

from __future__ import annotations

from milopt.compilation.curvature_verdict import verdict
from milopt.compilation.features import QUADRATICS, Feature, kind_name, with_integers
from milopt.compilation.sides import on_other_side, sides
from milopt.cones import cone_named
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.program import Program


def kind(program: Program) -> str:
    """LP, QP, SOCP, exponential cone program, their kinds with integers, or DC."""
    return "DC" if on_other_side(program) else step_kind(program)


def step_kind(program: Program) -> str:
    """The kind once minorants are chosen."""
    return kind_name(block_features(program), block_cones(program))


def features(program: Program) -> frozenset[Feature]:
    """What a solver must take besides cones; a quadratic objective that is not convex adds `NONCONVEX`."""
    found = block_features(program)
    bends = not found.isdisjoint(QUADRATICS) and not verdict(program).convex
    return found | {Feature.NONCONVEX} if bends else found


def block_features(program: Program) -> frozenset[Feature]:
    """What its blocks say a solver must take, whether the objective is convex left open."""
    found = {Feature.LINEAR}
    if any(isinstance(leaf, Atom) and leaf.is_quadratic and occurs(c) for leaf, c in program.objective.terms):
        found.add(Feature.QUADRATIC)
    if any(variable.integer and variable.size for variable in program.variables.values()):
        found.add(Feature.INTEGER)
    return with_integers(found)


def block_cones(program: Program) -> frozenset[str]:
    """Return the names of the cones that a solver must take besides linear rows."""
    names = {name for side in sides(program) if side.convex.size for name in side.atom.cones}
    return frozenset(name for name in names if not cone_named(name).is_polyhedral)


def occurs(coefficient: Coefficient) -> bool:
    """Return True if a term is not times a plain zero; a parameter may be zero now and something else later."""
    return bool(coefficient.products) or bool(coefficient.matrix.count_nonzero())
