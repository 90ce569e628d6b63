"""Sides of all atoms of a program (see `entry_sides`), and the atoms that occur somewhere on their other side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from milopt.compilation.arguments import expression_sides
from milopt.compilation.entry_sides import ABOVE, BELOW, OBJECTIVE_PLACE, AtomSides
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.program import Program, leaves
from milopt.errors import UnsupportedError


def atom_sides(program: Program) -> tuple[AtomSides, ...]:
    """Return the sides of the entries of every atom in the objective and in each constraint block.

    Quadratic terms of the objective (see `stays_quadratic`) are left out.
    """
    result: list[AtomSides] = []
    places = [(OBJECTIVE_PLACE, program.minimized_objective(), ABOVE)]
    places += [(name, constraint.expression, BELOW) for name, constraint in program.constraints.items()]
    for where, expression, direction in places:
        result += expression_sides(where, expression, np.full(expression.size, direction, dtype=np.int8))
    return tuple(result)


def maxima_on_other_side(program: Program, operation: str) -> list[SelectionAtom]:
    """Return the maxima that occur somewhere in a program on their other side, where only concave terms are allowed.

    Raise an `UnsupportedError` if an atom of another kind is on its other side, or if one of these maxima contains an
    atom or occurs inside an atom. `operation` is the name of the operation that supports only maxima, for the message.
    """
    maxima: list[SelectionAtom] = []
    for atom in other_side_atoms(program):
        if not isinstance(atom, SelectionAtom):
            raise UnsupportedError(
                f"{program.name!r} has {atom.describe()} on its other side, where {operation} supports only maxima. "
                "The convex-concave procedure (scheme='ccp') supports every atom."
            )
        maxima.append(atom)
    check_maxima_not_nested(program, maxima, operation)
    return maxima


def check_maxima_not_nested(program: Program, maxima: Sequence[SelectionAtom], operation: str) -> None:
    """Raise an `UnsupportedError` if one of the `maxima` occurs inside another atom or contains an atom.

    `operation` is the name of the operation that does not support this, for the error message.
    """
    outer_atom_by_id: dict[int, Atom] = {}
    for expression in (program.objective, *(constraint.expression for constraint in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, Atom) and leaf.function is None:
                outer_atom_by_id |= {id(child): leaf for child, _ in leaf.argument.terms if isinstance(child, Atom)}
    for atom in maxima:
        outer = outer_atom_by_id.get(id(atom)) or next(
            (inner for inner in outer_atom_by_id.values() if inner is atom), None
        )
        if outer is not None:
            raise UnsupportedError(
                f"{operation} supports only maxima of affine expressions outside other atoms, and {program.name!r} has "
                f"{outer.describe()}. The convex-concave procedure (scheme='ccp') supports every atom."
            )


def other_side_atoms(program: Program) -> list[Atom]:
    """Return the atoms that occur somewhere in a program on their other side; the program is DC if there are any."""
    atoms: dict[int, Atom] = {}
    for side in atom_sides(program):
        if side.witness.size:
            atoms[id(side.atom)] = side.atom
    return list(atoms.values())
