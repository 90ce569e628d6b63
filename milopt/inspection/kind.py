"""What kind of program it is, told by its blocks alone: no parameter needs a value, no kernel is evaluated.

    objective   squares: quadratic        norms: second-order cones     norm1, bag_max: linear, by more rows
    rows        squares and norms: second-order cones

A program with a bag_max on its other side is DC; its features are those of the convex program at each choice of
witnesses.
"""

from __future__ import annotations

from milopt.compilation.analysis import witnessed
from milopt.cones import SECOND_ORDER
from milopt.declaration.coefficient import Coefficient
from milopt.declaration.expression import Expression, Leaf
from milopt.declaration.leaves import (
    Atom,
    BagMax,
    FunctionNorm,
    FunctionNormSquared,
    Norm,
    Norm1,
    QuadForm,
    unknown_atom,
)
from milopt.declaration.program import Program
from milopt.inspection.curvature_verdict import verdict
from milopt.solving.refusal import kind_name
from milopt.solving.solver import Feature

_SQUARES = (QuadForm, FunctionNormSquared)
_NORMS = (Norm, FunctionNorm)


def kind(program: Program) -> str:
    """LP, QP, SOCP, MILP, MIQP, MISOCP or DC."""
    return "DC" if witnessed(program) else step_kind(program)


def step_kind(program: Program) -> str:
    """The kind once witnesses are chosen."""
    return kind_name(block_features(program), block_cones(program))


def features(program: Program) -> frozenset[Feature]:
    """What a solver must take besides cones; a quadratic objective that is not convex adds `NONCONVEX`."""
    found = block_features(program)
    bends = Feature.QUADRATIC in found and not verdict(program).convex
    return found | {Feature.NONCONVEX} if bends else found


def block_features(program: Program) -> frozenset[Feature]:
    """What its blocks say a solver must take, whether the objective is convex left open."""
    _check_atoms(program)
    found = {Feature.LINEAR}
    if _has(program.objective, _SQUARES):
        found.add(Feature.QUADRATIC)
    if any(variable.integer and variable.size for variable in program.variables.values()):
        found.add(Feature.INTEGER)
    return frozenset(found)


def block_cones(program: Program) -> frozenset[str]:
    """Return the names of the cones that a solver must take besides linear rows."""
    _check_atoms(program)
    constraints = [constraint.expression for constraint in program.constraints.values()]
    has_norm = _has(program.objective, _NORMS) or any(_has(e, _SQUARES + _NORMS) for e in constraints)
    return frozenset({SECOND_ORDER.name} if has_norm else ())


def _check_atoms(program: Program) -> None:
    """Raise an error if the program has an atom of which milopt does not know the kind."""
    for expression in (program.objective, *(constraint.expression for constraint in program.constraints.values())):
        for leaf, _ in expression.terms:
            if isinstance(leaf, Atom) and not isinstance(leaf, (*_SQUARES, *_NORMS, Norm1, BagMax)):
                raise unknown_atom(leaf, "tell the kind of a program with")


def _has(expression: Expression, atoms: tuple[type[Leaf], ...]) -> bool:
    return any(isinstance(leaf, atoms) and occurs(coefficient) for leaf, coefficient in expression.terms)


def occurs(coefficient: Coefficient) -> bool:
    """Whether a term is there: not times a plain zero; a parameter may be zero now and something else later."""
    return bool(coefficient.products) or bool(coefficient.matrix.count_nonzero())
