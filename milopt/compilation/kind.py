"""Kind of a program, derived from its declared blocks without evaluating kernels (except in `required_features`).

An atom on its convex side (see `entry_sides`) requires the cones of its epigraph, unless it is a quadratic term of the
objective. A program is DC (difference of convex functions) if an atom is on its other side. The features of a DC
program are those of the convex program in which minorants replace such atoms.
"""

from __future__ import annotations

from milopt.compilation.features import QUADRATIC_FEATURES, Feature, combine_integer_and_quadratic, kind_name
from milopt.compilation.program_curvature import judge_program_convexity
from milopt.compilation.sides import atom_sides, other_side_atoms
from milopt.cones import get_cone
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.program import Program


def program_kind(program: Program) -> str:
    """Return the kind of a program: "DC" if an atom is on its other side, otherwise a kind such as "LP" or "SOCP"."""
    return "DC" if other_side_atoms(program) else convex_step_kind(program)


def convex_step_kind(program: Program) -> str:
    """Return the kind, such as "LP", of the program in which minorants replace atoms on their other side."""
    return kind_name(declared_features(program), required_cones(program))


def required_features(program: Program) -> frozenset[Feature]:
    """Return the features that a solver must support to solve a program.

    `NONCONVEX` is added if the quadratic objective is not convex, or if it is too large to be judged.
    """
    declared = declared_features(program)
    is_nonconvex = not declared.isdisjoint(QUADRATIC_FEATURES) and not judge_program_convexity(program).convex
    return declared | {Feature.NONCONVEX} if is_nonconvex else declared


def declared_features(program: Program) -> frozenset[Feature]:
    """Return the features of a program without a check of convexity, and so without kernel values."""
    unique = {Feature.LINEAR}
    if any(isinstance(leaf, Atom) and leaf.is_quadratic and may_be_nonzero(c) for leaf, c in program.objective.terms):
        unique.add(Feature.QUADRATIC)
    if any(variable.integer and variable.size for variable in program.variables.values()):
        unique.add(Feature.INTEGER)
    return combine_integer_and_quadratic(unique)


def required_cones(program: Program) -> frozenset[str]:
    """Return the names of the non-polyhedral cones that a solver must support to solve a program."""
    names = {name for side in atom_sides(program) if side.convex.size for name in side.atom.cones}
    return frozenset(name for name in names if not get_cone(name).is_polyhedral)


def may_be_nonzero(coefficient: Coefficient) -> bool:
    """Return True unless the coefficient is a constant zero; coefficients with parameters may change, so True."""
    return bool(coefficient.products) or bool(coefficient.matrix.count_nonzero())
