"""Epigraphs of atoms: columns t >= atom with the rows that bind them, or rows in which a declared row takes t's place.

An entry that occurs in one row only is written into that row: `rest - atom >= 0` becomes the epigraph with t = rest.
Any other entry has one column, however many rows it occurs in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.compilation.evaluation_form import Block
from milopt.compilation.linear import Linear
from milopt.compilation.rows import Rows, unit_rows
from milopt.compilation.template import Part, Template, read_template
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import csr, from_parts, row_lengths, scaled_rows

ArgumentRows = Callable[[Atom, Index], Rows]
"""Returns the rows of some entries of the argument of an atom, estimated as its convex side needs them."""


@dataclass
class Lowered:
    """Some entries of an atom whose epigraph is part of the program."""

    atom: Atom
    entries: Index
    at: Segments
    index: Index
    """The entries of the argument that the runs read."""
    template: Template
    _: KW_ONLY
    blocks: list[Block] = field(default_factory=list)
    """The rows, one block per part of the template; empty if rows of a declared block take their place."""
    name: str = ""
    columns: Index | None = None
    """The columns t; None if rows of a declared block take their place."""
    new: tuple[Index, ...] = ()
    rows: tuple[Index, ...] | None = None
    """Per part of the template, the rows of its block in the block; None for all of them in order."""


class Epigraphs:
    """The columns of atoms of one program, and the rows behind them."""

    def __init__(self, linear: Linear, argument_rows: ArgumentRows) -> None:
        self.linear = linear
        self._argument_rows = argument_rows
        self.lowered: list[Lowered] = []
        self._columns: dict[Atom, Index] = {}
        self._templates: dict[tuple[Atom, bytes], tuple[Segments, Index, Template]] = {}

    @property
    def blocks(self) -> list[Block]:
        """The rows that bind columns of atoms."""
        return [block for one in self.lowered for block in one.blocks]

    def refresh(self, has_changed: Callable[[Atom], bool]) -> list[str]:
        """Lower the rows behind columns again for each changed atom; return the names of these blocks."""
        changed = [one for one in self.lowered if has_changed(one.atom)]
        for one in changed:
            one.blocks = self._blocks(one)
        return [block.name for one in changed for block in one.blocks]

    def through_columns(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Add coefficient @ atom to rows, with columns in place of the entries of the atom."""
        if not coefficient.nnz:
            return rows
        columns = self._columns_of(atom, np.unique(coefficient.indices).astype(np.intp))
        shape = (coefficient.shape[0], self.linear.width)
        # Columns are numbered in the order in which entries got them, so the entries of a row may have to be sorted.
        pick = csr(from_parts(coefficient.data, columns[coefficient.indices], coefficient.indptr, shape))
        wide = rows.widened(self.linear.width)
        return Rows(sp.csr_array(wide.A + pick), wide.E, wide.g)

    def template(self, atom: Atom, entries: Index) -> tuple[Segments, Index, Template]:
        """Return the runs of some entries, what they read of the argument, and the template of their epigraph."""
        key = (atom, entries.tobytes())
        if key not in self._templates:
            at, index = atom.segments.taken(entries)
            self._templates[key] = (at, index, read_template(atom, at))
        return self._templates[key]

    def part_rows(self, part: Part, t: Rows, e: Rows | None, new: tuple[Index, ...]) -> Rows:
        """Return T t + E e + N v + g."""
        width, points = self.linear.width, self.linear.point_counts
        rows = t.widened(width, points).left(part.T)
        if e is not None and part.E.nnz:
            rows = rows.plus(e.widened(width, points).left(part.E))
        for matrix, columns in zip(part.N, new, strict=True):
            rows = rows.plus(unit_rows(columns, width, points).left(matrix))
        return Rows(rows.A, rows.E, rows.g + part.g)

    def argument(self, atom: Atom, index: Index) -> tuple[Rows | None, int | None]:
        """Return the rows of an atom's argument, or the place of the function that ends its cone."""
        if atom.function is None:
            return self._argument_rows(atom, index), None
        place = self.linear.place_of(atom.function)
        return (self.linear.dictionary_rows(atom.function), None) if place is None else (None, place)

    def _columns_of(self, atom: Atom, entries: Index) -> Index:
        """Return the column of each entry; entries without a column get one, with its rows."""
        known = self._columns.setdefault(atom, np.full(atom.size, -1, dtype=np.intp))
        missing = entries[known[entries] < 0]
        if missing.size:
            at, index, template = self.resolved(atom, missing)
            name = f"{atom.word}_{len(self.lowered)}"
            columns = known[missing] = self.linear.add_columns(name, missing.size, scalar=not atom.shape)
            new = tuple(self.linear.add_columns(f"{name}.{c.name}", c.count, lower=c.lower) for c in template.new)
            one = Lowered(atom, missing, at, index, template, name=name, columns=columns, new=new)
            self.lowered.append(one)
            one.blocks = self._blocks(one)
        return known

    def resolved(self, atom: Atom, entries: Index) -> tuple[Segments, Index, Template]:
        """Return the template; a function with a dictionary is read as a vector of as many entries as its root has."""
        function = atom.function
        if function is None or self.linear.place_of(function) is not None:
            return self.template(atom, entries)
        size = self.linear.dictionary_rows(function).count
        at = Segments([size])
        vector = atom.of(Expression((size,), np.zeros(size), ()))
        return at, np.arange(size), read_template(vector, at)

    def _blocks(self, one: Lowered) -> list[Block]:
        """Return the rows of column >= atom, at the present values of parameters and minorants."""
        assert one.columns is not None
        e, space = self.argument(one.atom, one.index)
        t = unit_rows(one.columns, self.linear.width, self.linear.point_counts)
        blocks = []
        for part in one.template.parts:
            rows = self.part_rows(part, t, e, one.new)
            entry = part.entry
            none = np.full(rows.count, -1, dtype=np.intp)
            instance = argument_entry(part, one.index) if part.is_lazy else none
            group = entry if part.is_lazy else none
            declared = np.where(entry >= 0, one.entries[entry], 0)
            blocks.append(
                Block(
                    f"{one.name}.{part.name}",
                    part.cone,
                    rows,
                    origin="",
                    declared=declared,
                    instance=instance,
                    group=group,
                    space=space if part.ends_in_function else None,
                    sizes=part.sizes,
                )
            )
        return blocks


def argument_entry(part: Part, index: Index) -> Index:
    """Return per row the entry of the argument in it; -1 if there are none or several."""
    found = np.full(part.g.size, -1, dtype=np.intp)
    met = np.flatnonzero(row_lengths(part.E) == 1)
    found[met] = index[part.E.indices[part.E.indptr[met]]]
    return found


def conic_block(name: str, part: Part, rows: Rows, weights: np.ndarray, space: int | None) -> Block:
    """Return the epigraph of a declared block whose rows, divided by their weights, took the place of t."""
    entry = part.entry
    share = np.zeros(rows.count)
    met = np.flatnonzero(entry >= 0)
    share[met] = part.T.data / weights[entry[met]]
    none = np.full(rows.count, -1, dtype=np.intp)
    return Block(
        name,
        part.cone,
        rows,
        origin=name,
        declared=np.maximum(entry, 0),
        instance=none,
        group=none,
        space=space if part.ends_in_function else None,
        share=share,
        sizes=part.sizes,
    )


def scaled(rows: Rows, factors: np.ndarray) -> Rows:
    """Return rows times one factor each."""
    return Rows(scaled_rows(rows.A, factors), tuple(scaled_rows(e, factors) for e in rows.E), rows.g * factors)
