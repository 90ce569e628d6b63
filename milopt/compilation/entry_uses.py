"""Where a program needs an upper bound of each entry of an atom: in a single declared row, or in several places.

If an upper bound of an entry is used in a single row, its epigraph is written into that row. Any other entry gets an
auxiliary column.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.arrays import Integers
from milopt.compilation.arguments import atoms_of
from milopt.compilation.entry_sides import ABOVE, BELOW
from milopt.compilation.stand_ins import OtherSideStandIns
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.program import Program


class EntryUses:
    """Where a program needs an upper bound (the epigraph) of each entry of one atom."""

    def __init__(self, size: int) -> None:
        self.rows = np.zeros(size, dtype=np.intp)
        """Per entry, the number of declared rows that use it."""
        self.elsewhere = np.zeros(size, dtype=bool)
        """Per entry, True if it is used in the objective or inside another atom."""

    def are_in_one_row(self, entries: Integers) -> npt.NDArray[np.bool_]:
        """Return, per given entry, True if it is used in at most one declared row and nowhere else."""
        return (self.rows[entries] <= 1) & ~self.elsewhere[entries]


def find_entry_uses(program: Program, other_side: OtherSideStandIns) -> dict[Atom, EntryUses]:
    """Return the uses of the entries of every atom of a program.

    All entries of atoms inside other atoms count as used elsewhere.
    """
    uses: dict[Atom, EntryUses] = {}
    for leaf, coefficient in program.minimized_objective().terms:
        if isinstance(leaf, Atom):
            above = other_side.split_by_side(leaf, coefficient, ABOVE).above
            _get_or_create_uses(leaf, uses).elsewhere[above.indices] = True
            _mark_inner_atoms(leaf, uses)
    for constraint in program.constraints.values():
        for leaf, coefficient in constraint.expression.terms:
            if isinstance(leaf, Atom):
                above = other_side.split_by_side(leaf, coefficient, BELOW).above
                _get_or_create_uses(leaf, uses).rows += np.bincount(above.indices, minlength=leaf.size)
                _mark_inner_atoms(leaf, uses)
    return uses


def _mark_inner_atoms(atom: Atom, uses: dict[Atom, EntryUses]) -> None:
    """Mark all entries of the atoms in the argument of an atom as used elsewhere."""
    if atom.function is None:
        for child in atoms_of(atom.argument):
            _get_or_create_uses(child, uses).elsewhere[:] = True


def _get_or_create_uses(atom: Atom, uses: dict[Atom, EntryUses]) -> EntryUses:
    """Return the uses of an atom from `uses`, after adding an entry without uses if the atom is missing."""
    return uses.setdefault(atom, EntryUses(atom.size))
