"""What stands for atoms on their other side while a program is lowered: minorants, and bounds of open entries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.entry_sides import Halves, halves
from milopt.compilation.minorant import StandIn, StandIns, mean_selection
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import zeros
from milopt.errors import ConvexityError


class OtherSide:
    """The stand-ins of a program, and which entries need them."""

    def __init__(self, stand_ins: StandIns, both_sides: bool) -> None:
        self.stand_ins: dict[Atom, StandIn] = dict(stand_ins)
        self.both_sides = both_sides
        """Put the stand-ins of maxima on the convex side too (the papers' alternation)."""
        self.ceilings: dict[Atom, Vector] = {}
        """Upper bounds of atoms, which stand in the objective for open entries."""
        self.missing: set[Atom] = set()
        """Maxima for which the means of their runs stood in, since they had no stand-in when they were lowered."""
        self._halves: dict[tuple[int, int], tuple[Coefficient, Halves]] = {}
        """Results of `halves` for coefficients without parameters, by identity; each keeps its coefficient alive."""

    def halves(self, atom: Atom, coefficient: Coefficient, direction: int | npt.NDArray[np.int8]) -> Halves:
        """Split a coefficient into the entries that become rows, and those for which a minorant stands in."""
        if self.both_sides and isinstance(atom, Selecting):
            values = coefficient.value()
            return Halves(zeros(*values.shape), values)
        if not isinstance(direction, int) or coefficient.products:
            return halves(atom, coefficient, direction)
        key = (id(coefficient), direction)
        if key not in self._halves:
            self._halves[key] = (coefficient, halves(atom, coefficient, direction))
        return self._halves[key][1]

    def of(self, atom: Atom) -> StandIn:
        """Return what stands for an atom on its other side; the means of its runs for a maximum without a witness."""
        chosen = self.stand_ins.get(atom)
        if chosen is not None:
            return chosen
        if not isinstance(atom, Selecting):
            raise ConvexityError(
                f"{atom.describe()} is convex and stands where only a concave term may: not a convex program. "
                "The convex-concave procedure (scheme='ccp') solves it step by step."
            )
        self.missing.add(atom)
        return mean_selection(atom)

    def is_open(self, atom: Atom) -> npt.NDArray[np.bool_]:
        """Return per entry whether nothing stands for it."""
        chosen = self.stand_ins.get(atom)
        if chosen is None or isinstance(chosen, Expression):
            return np.zeros(atom.size, dtype=bool)
        return chosen.open_entries

    def ceiling(self, atom: Atom, below: sp.csr_array) -> float:
        """Return what the open entries add to an objective at most, given their coefficients."""
        is_open = self.is_open(atom)
        if not is_open.any() or not below.nnz:
            return 0.0
        bounds = np.where(is_open, self.ceilings.get(atom, np.full(is_open.size, np.inf)), 0.0)
        # A coefficient of zero times an infinite bound counts as nothing: it is not stored.
        return float(np.sum(below.data * bounds[below.indices]))
