"""Where the entries of atoms stand in a program: in one declared row alone, or in several places.

The epigraph of an entry in one row only is written into that row. Any other entry gets a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.compilation.arguments import atoms_of
from milopt.compilation.entry_sides import ABOVE, BELOW
from milopt.compilation.stand_ins import OtherSide
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.program import Program

Entries = npt.NDArray[np.integer[Any]]


class EntryUses:
    """The places in which the entries of one atom stand on its convex side."""

    def __init__(self, size: int) -> None:
        self.rows = np.zeros(size, dtype=np.intp)
        """Per entry, the number of declared rows in which it stands."""
        self.elsewhere = np.zeros(size, dtype=bool)
        """Per entry, True if it stands in the objective or inside another atom."""

    def are_in_one_row(self, entries: Entries) -> npt.NDArray[np.bool_]:
        """Return per entry whether it stands in at most one declared row, and nowhere else."""
        return (self.rows[entries] <= 1) & ~self.elsewhere[entries]


def entry_uses(program: Program, other_side: OtherSide) -> dict[Atom, EntryUses]:
    """Return the uses of the entries of every atom of a program."""
    found: dict[Atom, EntryUses] = {}
    for leaf, coefficient in program.minimized().terms:
        if isinstance(leaf, Atom):
            above = other_side.halves(leaf, coefficient, ABOVE).above
            _uses_of(leaf, found).elsewhere[above.indices] = True
            _note_children(leaf, found)
    for constraint in program.constraints.values():
        for leaf, coefficient in constraint.expression.terms:
            if isinstance(leaf, Atom):
                above = other_side.halves(leaf, coefficient, BELOW).above
                _uses_of(leaf, found).rows += np.bincount(above.indices, minlength=leaf.size)
                _note_children(leaf, found)
    return found


def _note_children(atom: Atom, found: dict[Atom, EntryUses]) -> None:
    """Note the atoms that stand inside an atom."""
    if atom.function is None:
        for child in atoms_of(atom.argument):
            _uses_of(child, found).elsewhere[:] = True


def _uses_of(atom: Atom, found: dict[Atom, EntryUses]) -> EntryUses:
    return found.setdefault(atom, EntryUses(atom.size))
