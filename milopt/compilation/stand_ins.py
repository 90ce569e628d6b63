"""Stand-ins: minorants or expressions that replace convex atoms where only a concave term is allowed.

There the program needs a lower bound of the atom; this is the other side of the atom (see `entry_sides`). An entry of
an atom for which the minorant gives no bound is called open. In the objective, its upper bound replaces an open entry.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.entry_sides import SplitCoefficient, split_by_side
from milopt.compilation.minorant import StandIn, StandIns, mean_minorant
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import zeros
from milopt.errors import ConvexityError


class OtherSideStandIns:
    """Stand-ins of a program's atoms, and the split of coefficients into entries with an epigraph or a stand-in."""

    def __init__(self, stand_ins: StandIns, both_sides: bool) -> None:
        self.stand_ins: dict[Atom, StandIn] = dict(stand_ins)
        """Stand-in of each atom."""
        self.both_sides = both_sides
        """True if stand-ins replace maxima also on their convex side (alternation, as in some papers)."""
        self.ceilings: dict[Atom, Vector] = {}
        """Per atom, the upper bounds of its entries; they replace the open entries in the objective."""
        self.missing: set[Atom] = set()
        """Maxima that needed a stand-in and had none, so that the means of their runs (bags) replaced them."""
        self._split_cache: dict[tuple[int, int], tuple[Coefficient, SplitCoefficient]] = {}
        """Cached results of `split_by_side` by the id of a constant coefficient and the direction.

        The values contain the coefficient, so that no other object gets its id.
        """

    def split_by_side(
        self, atom: Atom, coefficient: Coefficient, direction: int | npt.NDArray[np.int8]
    ) -> SplitCoefficient:
        """Split a coefficient by the entries of the atom: with an epigraph (`above`) or with a stand-in (`below`).

        `direction` is +1 if the program needs an upper bound of the expression that contains the atom (a minimised
        objective), and -1 if it needs a lower bound (the rows of `expression >= 0`). It is one number, or one per row.
        If `both_sides` is True, all entries of a maximum have a stand-in.
        """
        if self.both_sides and isinstance(atom, SelectionAtom):
            values = coefficient.value()
            return SplitCoefficient(zeros(*values.shape), values)
        if not isinstance(direction, int) or coefficient.products:
            return split_by_side(atom, coefficient, direction)
        key = (id(coefficient), direction)
        if key not in self._split_cache:
            self._split_cache[key] = (coefficient, split_by_side(atom, coefficient, direction))
        return self._split_cache[key][1]

    def stand_in_of(self, atom: Atom) -> StandIn:
        """Return the concave stand-in of a convex atom; if a maximum has none, return the mean of each of its runs.

        Raise a `ConvexityError` if another atom has no stand-in.
        """
        chosen = self.stand_ins.get(atom)
        if chosen is not None:
            return chosen
        if not isinstance(atom, SelectionAtom):
            raise ConvexityError(
                f"{atom.describe()} is convex and stands where only a concave term may: not a convex program. "
                "The convex-concave procedure (scheme='ccp') solves it step by step."
            )
        self.missing.add(atom)
        return mean_minorant(atom)

    def open_entries(self, atom: Atom) -> npt.NDArray[np.bool_]:
        """Return, per entry of an atom, True if its minorant leaves the entry open; all False if it has no minorant."""
        chosen = self.stand_ins.get(atom)
        if chosen is None or isinstance(chosen, Expression):
            return np.zeros(atom.size, dtype=bool)
        return chosen.open_entries

    def ceiling_of_open_terms(self, atom: Atom, below: sp.csr_array) -> float:
        """Return the sum of the objective's terms with open entries of an atom, evaluated at their upper bounds.

        `below` is the part of the atom's coefficient that `split_by_side` returns. An unknown upper bound counts as
        infinite.
        """
        is_open = self.open_entries(atom)
        if not is_open.any() or not below.nnz:
            return 0.0
        bounds = np.where(is_open, self.ceilings.get(atom, np.full(is_open.size, np.inf)), 0.0)
        # Constant zeros are not stored, so they do not multiply infinite bounds; stored zeros of parameters do.
        return float(np.sum(below.data * bounds[below.indices]))
