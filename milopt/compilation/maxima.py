"""Lowering of bag_max: witnesses on its other side, epigraph rows on its convex side.

On the convex side a maximum becomes one row an instance: in place when it is the only maximum of its row, through an
epigraph column t >= every instance's value otherwise. On the other side each entry is replaced by its witness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.evaluation_form import Block, Index
from milopt.compilation.linear import Linear
from milopt.compilation.quadratic import Vector
from milopt.compilation.rows import Rows, unit_rows
from milopt.compilation.selection import Witness, Witnesses, instances_of, mean_selection
from milopt.cones import NONNEGATIVE
from milopt.declaration.coefficient import Coefficient
from milopt.declaration.expression import Expression
from milopt.declaration.leaves import BagMax
from milopt.declaration.sparse import csr, from_parts, picked, product, same_pattern, zeros

Entries = list[tuple[BagMax, sp.csr_array]]
"""Maxima on their convex side with their coefficients, explicit zeros kept."""


class Maxima:
    """Lowers the maxima of one program."""

    def __init__(self, linear: Linear, witnesses: Witnesses, both_sides: bool) -> None:
        self.linear = linear
        self.witnesses: dict[BagMax, Witness] = dict(witnesses)
        self.both_sides = both_sides
        """Put witnesses on the convex side too (the papers' alternation)."""
        self.ceilings: dict[BagMax, Vector] = {}
        """Upper bounds of maxima, which stand in the objective for entries whose witness is open."""
        self.without_witness: set[BagMax] = set()
        """Maxima for which the means of the bags stood in, since they had no witness when they were lowered."""
        self.auxiliary: list[Block] = []
        self._epigraphs: list[tuple[BagMax, Index]] = []
        """Of each auxiliary block, the maximum and those of its bags that have their columns in the block."""
        self._columns: dict[BagMax, Index] = {}
        self._halves: dict[tuple[int, int], tuple[Coefficient, sp.csr_array, sp.csr_array]] = {}
        """Results of `sides` for coefficients without parameters, by identity; each keeps its coefficient alive."""
        self._expansions: dict[str, Expansion] = {}
        """The last one of each block: new witnesses leave what is on the convex side as it is."""

    def refresh(self, has_changed: Callable[[BagMax], bool]) -> list[str]:
        """Lower the rows behind epigraph columns again for each changed maximum; return the names of these blocks."""
        names: list[str] = []
        for place, (atom, bags) in enumerate(self._epigraphs):
            if has_changed(atom):
                name = self.auxiliary[place].name
                self.auxiliary[place] = self._epigraph(name, atom, bags)
                names.append(name)
        return names

    def in_objective(self, rows: Rows, atom: BagMax, coefficient: Coefficient) -> Rows:
        """A maximum in a minimised objective."""
        needed, convex = self.sides(coefficient, convex_sign=+1)
        rows = self._witnessed(rows, atom, needed)
        released = self.released(atom)
        if released.any() and needed.nnz:
            ceiling = np.where(released, self.ceilings.get(atom, np.full(released.size, np.inf)), 0.0)
            # A coefficient of zero times an infinite ceiling counts as nothing.
            used = needed.tocoo()
            rows = Rows(rows.A, rows.E, rows.g + float(np.sum(used.data * ceiling[used.coords[1]])))
        return self.through_columns(rows, atom, convex)

    def in_constraint(self, rows: Rows, maxima: list[tuple[BagMax, Coefficient]]) -> tuple[Rows, Entries, Index]:
        """Maxima in `expression >= 0`: (rows with witnesses in place, entries left to expand, rows that stay)."""
        kept = np.ones(rows.count, dtype=bool)
        convex: Entries = []
        for atom, coefficient in maxima:
            needed, mine = self.sides(coefficient, convex_sign=-1)
            released = self.released(atom)
            if released.any():
                kept &= np.asarray(abs(needed) @ released.astype(float)) == 0
            rows = self._witnessed(rows, atom, needed)
            if mine.nnz:
                convex.append((atom, mine))
        return rows, convex, np.flatnonzero(kept)

    def block(self, name: str, rows: Rows, convex: Entries, kept: Index) -> Block:
        """The rows that stay, each with a maximum on its convex side expanded to one row an instance."""
        if kept.size < rows.count:
            rows, convex = rows.take(kept), [(atom, sp.csr_array(c[kept])) for atom, c in convex]
        block = self._expanded(name, rows, convex)
        return replace(block, declared=kept[block.declared])

    def through_columns(self, rows: Rows, atom: BagMax, coefficient: sp.csr_array) -> Rows:
        """Replace entries of a maximum by epigraph columns."""
        if not coefficient.nnz:
            return rows
        columns = self._epigraph_columns(atom, np.unique(coefficient.indices).astype(np.intp))
        shape = (coefficient.shape[0], self.linear.width)
        # Columns are numbered in the order in which bags got them, so the entries of a row may have to be sorted.
        pick = csr(from_parts(coefficient.data, columns[coefficient.indices], coefficient.indptr, shape))
        wide = rows.widened(self.linear.width)
        return Rows(sp.csr_array(wide.A + pick), wide.E, wide.g)

    # -- sides ---------------------------------------------------------------------------------------------------

    def sides(self, coefficient: Coefficient, convex_sign: int) -> tuple[sp.csr_array, sp.csr_array]:
        """(entries that need witnesses, entries on the convex side), each with the coefficient's values."""
        values = coefficient.value()
        if self.both_sides:
            return values, zeros(*values.shape)
        key = (id(coefficient), convex_sign)
        if key in self._halves:
            return self._halves[key][1:]
        signs = coefficient.signs
        # A structural entry whose parameter is zero now keeps its place, so that it can change without a rebuild.
        entries = from_parts(_at(values, signs), signs.indices, signs.indptr, signs.shape)
        convex, other = _only(entries, signs.data == convex_sign), _only(entries, signs.data == -convex_sign)
        if not coefficient.products:
            self._halves[key] = (coefficient, other, convex)
        return other, convex

    def _witnessed(self, rows: Rows, atom: BagMax, coefficient: sp.csr_array) -> Rows:
        if not coefficient.nnz:
            return rows
        chosen = self.stand_in(atom)
        if isinstance(chosen, Expression):
            stand_ins, _ = self.linear.split(chosen)
            added = stand_ins.left(coefficient)
        else:
            added = self.linear.inner(atom).left(product(coefficient, chosen))
        return rows.widened(self.linear.width).plus(added.widened(self.linear.width))

    def stand_in(self, atom: BagMax) -> Witness:
        """Return what stands for the maximum on its other side: its witness, or the mean of each bag without one."""
        chosen = self.witnesses.get(atom)
        if chosen is None:
            self.without_witness.add(atom)
            return mean_selection(atom)
        return chosen

    def released(self, atom: BagMax) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Per bag, whether its witness is open (a zero row of the selection)."""
        chosen = self.witnesses.get(atom)
        if chosen is None or isinstance(chosen, Expression):
            return np.zeros(len(atom.over), dtype=bool)
        return np.asarray(np.diff(chosen.indptr) == 0)

    # -- epigraphs -----------------------------------------------------------------------------------------------

    def _epigraph_columns(self, atom: BagMax, entries: Index) -> Index:
        """Per bag, its epigraph column; new ones are made, with their rows, for bags that have none."""
        known = self._columns.setdefault(atom, np.full(len(atom.over), -1, dtype=np.intp))
        new = entries[known[entries] < 0]
        if new.size:
            name = f"max{len(self.auxiliary)}"
            known[new] = self.linear.add_columns(name, new.size)
            self.auxiliary.append(self._epigraph(f"{name}.epigraph", atom, new))
            self._epigraphs.append((atom, new))
        return known

    def _epigraph(self, name: str, atom: BagMax, bags: Index) -> Block:
        """The rows  column of a bag >= value of each of its instances, at the current values of the parameters."""
        place, instance = instances_of(atom, bags)
        minus = picked(np.arange(instance.size), instance.size, -1.0)
        below = self.linear.inner(atom).take(instance).left(minus)
        above = unit_rows(self._columns[atom][bags][place], self.linear.width, self.linear.point_counts)
        rows = above.plus(below.widened(self.linear.width))
        return Block(name, NONNEGATIVE, rows, "", bags[place], instance, place)

    def _expanded(self, name: str, rows: Rows, convex: Entries) -> Block:
        """Rows with one maximum become one row an instance; rows with more go through epigraph columns."""
        counts = np.zeros(rows.count, dtype=np.intp)
        for _, coefficient in convex:
            counts += np.diff(coefficient.indptr)
        single = convex
        if counts.max(initial=0) > 1:
            single = []
            for atom, coefficient in convex:
                owner = np.repeat(np.arange(rows.count), np.diff(coefficient.indptr))
                rows = self.through_columns(rows, atom, _only(coefficient, counts[owner] > 1))
                single.append((atom, _only(coefficient, counts[owner] == 1)))
        known = self._expansions.get(name)
        if known is None or not known.is_of(single, rows.count):
            known = self._expansions[name] = self._expansion(single, rows.count)
        total = rows.take(known.declared).widened(self.linear.width)
        for values in known.values:
            total = total.plus(values.widened(self.linear.width, self.linear.point_counts))
        return Block(name, NONNEGATIVE, total, name, known.declared, known.instance, known.group)

    def _expansion(self, single: Entries, count: int) -> Expansion:
        """One row an instance where a row has a maximum."""
        copies = np.ones(count, dtype=np.intp)
        for atom, coefficient in single:
            copies[np.diff(coefficient.indptr) > 0] = atom.over.sizes[coefficient.indices]
        declared = np.repeat(np.arange(count), copies)
        instance = np.full(declared.size, -1, dtype=np.intp)
        first = np.cumsum(copies) - copies
        values: list[Rows] = []
        for atom, coefficient in single:
            owner = np.flatnonzero(np.diff(coefficient.indptr))
            place, flat = instances_of(atom, coefficient.indices.astype(np.intp))
            at = first[owner][place] + flat - atom.over.offsets[coefficient.indices][place]
            instance[at] = flat
            shape = (declared.size, int(atom.over.offsets[-1]))
            pick = sp.csr_array((coefficient.data[place], (at, flat)), shape=shape)
            values.append(self.linear.inner(atom).left(pick))
        group = np.where(instance >= 0, np.cumsum(copies > 1)[declared] - 1, -1)
        group[copies[declared] == 1] = -1
        fixed = all(self.linear.is_fixed(atom) for atom, _ in single)
        return Expansion(single if fixed else None, count, declared, instance, group, values)


@dataclass(frozen=True)
class Expansion:
    """Rows as copies of declared ones, an instance each, and what the maxima add to them."""

    single: Entries | None
    """What it is of; None where a parameter stands inside a maximum, so that it serves once."""
    count: int
    declared: Index
    instance: Index
    group: Index
    values: list[Rows]

    def is_of(self, single: Entries, count: int) -> bool:
        """Whether it is the expansion of these very entries."""
        return (
            self.single is not None
            and (self.count, len(self.single)) == (count, len(single))
            and all(a is b and c is d for (a, c), (b, d) in zip(self.single, single, strict=True))
        )


def _only(matrix: sp.csr_array, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> sp.csr_array:
    """The flagged entries, explicit zeros among them kept."""
    counts = np.add.reduceat(np.append(keep, False).astype(np.intp), matrix.indptr[:-1]) if keep.size else None
    lengths = np.diff(matrix.indptr)
    per_row = np.zeros(lengths.size, dtype=np.intp) if counts is None else np.where(lengths > 0, counts, 0)
    indptr = np.concatenate([[0], np.cumsum(per_row)])
    return from_parts(matrix.data[keep], matrix.indices[keep], indptr, matrix.shape)


def _at(values: sp.csr_array, pattern: sp.csr_array) -> Vector:
    """The values at a pattern's entries."""
    if same_pattern(values, pattern):
        return values.data
    places = pattern.tocoo().coords
    return np.asarray(values[places[0], places[1]], dtype=float).ravel() if places[0].size else np.zeros(0)
