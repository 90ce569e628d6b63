"""Atoms inside atoms: the direction in which each entry of an atom's argument must be estimated.

The direction is +1 (from above) or -1 (from below). The argument of an entry that is needed from above is estimated in
the direction in which the atom is monotone, the argument of an entry that is needed from below in the opposite
direction. Every program that disciplined convex programming accepts is convex by these rules too. In addition, a
maximum may occur inside a monotone atom on either side.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.compilation.entry_sides import ABOVE, BELOW, OBJECTIVE, AtomSides, signs_of
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.ranges import epigraph_range
from milopt.declaration.programs.sparse import row_lengths
from milopt.errors import ConvexityError

Directions = npt.NDArray[np.int8]


def atoms_of(expression: Expression) -> list[Atom]:
    """Return the atoms that are terms of an expression itself, without the atoms inside them."""
    return [leaf for leaf, _ in expression.terms if isinstance(leaf, Atom)]


def has_affine_argument(atom: Atom) -> bool:
    """Return True if the argument of an atom contains no other atom."""
    return atom.function is not None or not atoms_of(atom.argument)


def keeps_quadratic(atom: Atom, coefficient: Coefficient) -> bool:
    """Return True if a minimised objective keeps an atom as a quadratic term.

    If its argument contains other atoms, it is kept only if no coefficient is negative: otherwise the inner atoms would
    be needed from below.
    """
    return atom.is_quadratic and (has_affine_argument(atom) or not (coefficient.value().data < 0).any())


def argument_directions(atom: Atom, side: int) -> Directions:
    """Return the direction in which each entry of the argument is estimated, if the atom is needed from `side`.

    `side` is `ABOVE` or `BELOW`. The direction is 0 if the atom is not known to be monotone in the entry. Raise a
    `ConvexityError`, which names both atoms, if an inner atom occurs at an entry with direction 0.
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


def inner_sides(where: str, expression: Expression, directions: Directions, top: bool = True) -> list[AtomSides]:
    """Return the sides of the atoms of an expression that is estimated in the given directions, with all inner atoms.

    `where` is the name of the constraint block or "objective". Quadratics that the objective keeps are left out. `top`
    is False inside an atom, where quadratics have sides even if the outer atom is a term of the objective.
    """
    sides: list[AtomSides] = []
    for leaf, coefficient in expression.terms:
        if not isinstance(leaf, Atom):
            continue
        keeps = top and where == OBJECTIVE and keeps_quadratic(leaf, coefficient)
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
                    inside = argument_directions(leaf, side) * runs
                    sides += inner_sides(where, leaf.argument, inside.astype(np.int8), top=False)
    return sides
