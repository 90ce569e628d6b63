"""Kind of a program, derived from its declared blocks without evaluating kernels (except in `features`).

An atom on its convex side (needed from above) needs the cones of its epigraph, except quadratics that the objective
keeps. A program with an atom on its other side (needed from below) is DC; its features are those of the convex program
in which minorants replace these atoms.
"""

from __future__ import annotations

from milopt.compilation.features import QUADRATICS, Feature, combine_integer_and_quadratic, kind_name
from milopt.compilation.program_curvature import judge_program_convexity
from milopt.compilation.sides import atom_sides, other_side_atoms
from milopt.cones import get_cone
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.program import Program


def program_kind(program: Program) -> str:
    """Return the kind of a program: "DC" if an atom is needed from below, otherwise a kind as in `kind_name`."""
    return "DC" if other_side_atoms(program) else convex_step_kind(program)


def convex_step_kind(program: Program) -> str:
    """Return the kind of the program in which minorants replace the atoms that are needed from below."""
    return kind_name(declared_features(program), required_cones(program))


def required_features(program: Program) -> frozenset[Feature]:
    """Return the features that a solver must support.

    `NONCONVEX` is added if the quadratic objective is not convex, or if it is too large to be judged.
    """
    declared = declared_features(program)
    is_nonconvex = not declared.isdisjoint(QUADRATICS) and not judge_program_convexity(program).convex
    return declared | {Feature.NONCONVEX} if is_nonconvex else declared


def declared_features(program: Program) -> frozenset[Feature]:
    """Return the features that follow from the declared blocks, without a check of convexity."""
    unique = {Feature.LINEAR}
    if any(isinstance(leaf, Atom) and leaf.is_quadratic and may_be_nonzero(c) for leaf, c in program.objective.terms):
        unique.add(Feature.QUADRATIC)
    if any(variable.integer and variable.size for variable in program.variables.values()):
        unique.add(Feature.INTEGER)
    return combine_integer_and_quadratic(unique)


def required_cones(program: Program) -> frozenset[str]:
    """Return the names of the non-polyhedral cones that a solver must support."""
    names = {name for side in atom_sides(program) if side.convex.size for name in side.atom.cones}
    return frozenset(name for name in names if not get_cone(name).is_polyhedral)


def may_be_nonzero(coefficient: Coefficient) -> bool:
    """Return True unless a coefficient is a constant zero; a parameter that is zero now may change later."""
    return bool(coefficient.products) or bool(coefficient.matrix.count_nonzero())
