"""Atoms inside atoms: the direction in which each entry of an atom's argument must be estimated.

The direction is +1 (an upper bound of the entry is needed) or -1 (a lower bound is needed). If an upper bound of the
outer atom is needed, and the atom increases in an entry of its argument, then an upper bound of that entry is needed;
if the atom decreases in the entry, a lower bound. If a lower bound of the outer atom is needed, the directions are
reversed. Every program that disciplined convex programming accepts is convex by these rules too. In addition, a maximum
may occur inside a monotone atom even if a lower bound of the maximum is needed.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Directions
from milopt.compilation.entry_sides import ABOVE, BELOW, OBJECTIVE_PLACE, AtomSides, signs_of
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.ranges import epigraph_range
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import ConvexityError


def atoms_of(expression: Expression) -> list[Atom]:
    """Return the atoms that are terms of the expression; atoms inside the arguments of these atoms are not included."""
    return [leaf for leaf, _ in expression.terms if isinstance(leaf, Atom)]


def has_affine_argument(atom: Atom) -> bool:
    """Return True if the argument of an atom contains no other atom."""
    return atom.function is not None or not atoms_of(atom.argument)


def stays_quadratic(atom: Atom, coefficient: Coefficient) -> bool:
    """Return True if a minimised objective contains an atom as a quadratic term, without an epigraph or a minorant.

    An atom whose argument contains other atoms is a quadratic term only if none of its coefficients is negative:
    otherwise the inner atoms would be on their other side (see `entry_sides`).
    """
    return atom.is_quadratic and (has_affine_argument(atom) or not (coefficient.value().data < 0).any())


def argument_directions(atom: Atom, side: int) -> Directions:
    """Return, per entry of the argument of an atom, the direction (+1 or -1) in which the entry must be estimated.

    `side` is `ABOVE` if the program needs an upper bound of the atom, and `BELOW` for a lower bound. The direction is 0
    if the atom is not known to be monotone in the entry. Raise a `ConvexityError` that names both atoms if an inner
    atom occurs at an entry with direction 0.
    """
    low, high = epigraph_range(atom.argument)
    directions = (side * atom.monotone(low, high, atom.segments)).astype(np.int8)
    for leaf, coefficient in atom.argument.terms:
        if isinstance(leaf, Atom):
            used = row_lengths(signs_of(leaf, coefficient)) > 0
            if (used & (directions == 0)).any():
                raise ConvexityError(
                    f"{leaf.describe()} stands inside {atom.describe()}, which is not monotone over the range of its "
                    f"argument, so that neither an upper nor a lower bound of {leaf.word} gives a bound of "
                    f"{atom.word}: not a convex program. Bound {leaf.word} by a variable, or give its argument bounds."
                )
    return directions


def expression_sides(
    where: str, expression: Expression, directions: Directions, is_top_level: bool = True
) -> list[AtomSides]:
    """Return the sides of all atoms in an expression, including inner atoms.

    `directions` has one entry per row of the expression: the direction in which the row must be estimated. `where` is
    the name of the constraint block or "objective". Quadratic terms of the objective (see `stays_quadratic`) are left
    out. `is_top_level` is False if the expression is the argument of an atom; its quadratics are then not left out,
    even if the outer atom is a term of the objective.
    """
    sides: list[AtomSides] = []
    for leaf, coefficient in expression.terms:
        if not isinstance(leaf, Atom):
            continue
        keeps = is_top_level and where == OBJECTIVE_PLACE and stays_quadratic(leaf, coefficient)
        if keeps:
            above, below = np.arange(leaf.size), np.zeros(0, dtype=np.intp)
        else:
            signs = signs_of(leaf, coefficient)
            turned = signs.data * np.repeat(directions, row_lengths(signs))
            above, below = np.unique(signs.indices[turned > 0]), np.unique(signs.indices[turned < 0])
            dropped = np.setdiff1d(np.arange(leaf.size), np.concatenate([above, below]))
            sides.append(AtomSides(where, leaf, above.astype(np.intp), below.astype(np.intp), dropped))
        if not has_affine_argument(leaf):
            for side, entries in ((ABOVE, above), (BELOW, below)):
                if entries.size:
                    runs = np.isin(leaf.segments.run_of_entry, entries)
                    inner_directions = argument_directions(leaf, side) * runs
                    sides += expression_sides(
                        where, leaf.argument, inner_directions.astype(np.int8), is_top_level=False
                    )
    return sides
