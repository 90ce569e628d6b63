"""The sides of the atoms of a whole program, and the atoms on their other side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.compilation.arguments import inner_sides
from milopt.compilation.entry_sides import ABOVE, BELOW, OBJECTIVE, Side
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.program import Program, leaves
from milopt.errors import UnsupportedError


def sides(program: Program) -> tuple[Side, ...]:
    """Return the side of every entry of every atom, at every place; quadratics of the objective have no side."""
    found: list[Side] = []
    places = [(OBJECTIVE, program.minimized(), ABOVE)]
    places += [(name, constraint.expression, BELOW) for name, constraint in program.constraints.items()]
    for where, expression, direction in places:
        found += inner_sides(where, expression, np.full(expression.size, direction, dtype=np.int8))
    return tuple(found)


def witnessed_maxima(program: Program, what: str) -> list[Selecting]:
    """Return the maxima on their other side; an error if another atom is there too, with which `what` cannot deal."""
    found: list[Selecting] = []
    for atom in on_other_side(program):
        if not isinstance(atom, Selecting):
            raise UnsupportedError(
                f"{program.name!r} has {atom.describe()} on its other side; {what} takes maxima there, and no other "
                "atom. The convex-concave procedure (scheme='ccp') takes every atom."
            )
        found.append(atom)
    check_plain_maxima(program, found, what)
    return found


def check_plain_maxima(program: Program, maxima: Sequence[Selecting], what: str) -> None:
    """Raise an error if a maximum stands inside another atom or has an atom inside, with which `what` cannot deal."""
    inside: dict[int, Atom] = {}
    for expression in (program.objective, *(constraint.expression for constraint in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, Atom) and leaf.function is None:
                inside |= {id(child): leaf for child, _ in leaf.argument.terms if isinstance(child, Atom)}
    for atom in maxima:
        outer = inside.get(id(atom)) or next((one for one in inside.values() if one is atom), None)
        if outer is not None:
            raise UnsupportedError(
                f"{what} takes maxima of affine expressions that stand in no other atom, and {program.name!r} has "
                f"{outer.describe()}. The convex-concave procedure (scheme='ccp') takes every atom."
            )


def on_other_side(program: Program) -> list[Atom]:
    """Return the atoms that stand on their other side somewhere, so that the program is DC."""
    found: dict[int, Atom] = {}
    for side in sides(program):
        if side.witness.size:
            found[id(side.atom)] = side.atom
    return list(found.values())
