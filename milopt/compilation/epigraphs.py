"""Epigraphs t >= atom: with auxiliary columns t and rows of their own, or inside declared rows, whose rest is then t.

An entry of an atom that is used in one row only is written into that row: `rest - atom >= 0` becomes the epigraph with
t = rest. Any other entry gets one column, however many rows use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.compilation.affine_lowering import AffineLowering
from milopt.compilation.evaluation_form import LoweredBlock
from milopt.compilation.rows import Rows, unit_rows
from milopt.compilation.template import Template, TemplatePart, read_template
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import as_csr, from_parts, row_lengths, scale_rows

ArgumentRows = Callable[[Atom, Index], Rows]
"""Function (atom, index) that returns the rows of the entries `index` of the atom's argument, for t >= atom."""


@dataclass
class LoweredEpigraph:
    """Some entries of an atom, and their epigraph as it occurs in the lowered program."""

    atom: Atom
    entries: Index
    """Entries of the atom."""
    runs: Segments
    """Runs of the argument (consecutive entries) on which these entries depend."""
    index: Index
    """Entries of the argument that the runs contain."""
    template: Template
    _: KW_ONLY
    blocks: list[LoweredBlock] = field(default_factory=list)
    """Rows of the epigraph, one block per part of the template; empty if they are rows of a declared block."""
    name: str = ""
    columns: Index | None = None
    """Auxiliary columns t; None if the rest of a declared row is t."""
    new: tuple[Index, ...] = ()
    """Further auxiliary columns of the epigraph, one array per block of new columns in the template."""
    rows: tuple[Index, ...] | None = None
    """Per part of the template, the positions of its rows in the declared block; None for all rows in order."""


class Epigraphs:
    """Auxiliary columns t for the atoms of one program, and their rows t >= atom."""

    def __init__(self, linear: AffineLowering, argument_rows: ArgumentRows) -> None:
        self.affine = linear
        self._argument_rows = argument_rows
        self.lowered: list[LoweredEpigraph] = []
        self._columns: dict[Atom, Index] = {}
        self._templates: dict[tuple[Atom, bytes], tuple[Segments, Index, Template]] = {}

    @property
    def blocks(self) -> list[LoweredBlock]:
        """Rows t >= atom of all auxiliary columns t."""
        return [block for epigraph in self.lowered for block in epigraph.blocks]

    def refresh(self, has_changed: Callable[[Atom], bool]) -> list[str]:
        """Compute the rows of auxiliary columns again if `has_changed(atom)`, and return the names of their blocks."""
        changed = [epigraph for epigraph in self.lowered if has_changed(epigraph.atom)]
        for epigraph in changed:
            epigraph.blocks = self._epigraph_blocks(epigraph)
        return [block.name for epigraph in changed for block in epigraph.blocks]

    def add_with_columns(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Return rows + coefficient @ t, with auxiliary columns t in place of the entries of the atom.

        Entries without an auxiliary column get one.
        """
        if not coefficient.nnz:
            return rows
        columns = self._columns_of(atom, np.unique(coefficient.indices).astype(np.intp))
        shape = (coefficient.shape[0], self.affine.width)
        # Columns are numbered in the order in which entries got them, so the entries of a row may have to be sorted.
        pick = as_csr(from_parts(coefficient.data, columns[coefficient.indices], coefficient.indptr, shape))
        wide = rows.widen(self.affine.width)
        return Rows(sp.csr_array(wide.A + pick), wide.E, wide.g)

    def get_template(self, atom: Atom, entries: Index) -> tuple[Segments, Index, Template]:
        """Return the runs of some entries, the entries of the argument in them, and the template of their epigraph."""
        key = (atom, entries.tobytes())
        if key not in self._templates:
            at, index = atom.segments.select(entries)
            self._templates[key] = (at, index, read_template(atom, at))
        return self._templates[key]

    def part_rows(self, part: TemplatePart, t: Rows, e: Rows | None, new: tuple[Index, ...]) -> Rows:
        """Return the rows T t + E e + N v + g of one part of a template.

        `e` are the rows of the argument (None if it is a function), and `new` the columns v, one array per block.
        """
        width, points = self.affine.width, self.affine.point_counts
        rows = t.widen(width, points).left_multiply(part.T)
        if e is not None and part.E.nnz:
            rows = rows.plus(e.widen(width, points).left_multiply(part.E))
        for matrix, columns in zip(part.N, new, strict=True):
            rows = rows.plus(unit_rows(columns, width, points).left_multiply(matrix))
        return Rows(rows.A, rows.E, rows.g + part.g)

    def argument(self, atom: Atom, index: Index) -> tuple[Rows | None, int | None]:
        """Return (rows, None) for the entries `index` of an atom's argument, or (None, k) for the function of index k.

        The rows of a function with a dictionary are those of the vector B a with ||B a|| = ||f||.
        """
        if atom.function is None:
            return self._argument_rows(atom, index), None
        place = self.affine.free_function_index(atom.function)
        return (self.affine.dictionary_rows(atom.function), None) if place is None else (None, place)

    def _columns_of(self, atom: Atom, entries: Index) -> Index:
        """Return the auxiliary column of every entry of an atom (-1: none), after adding missing ones of `entries`."""
        known = self._columns.setdefault(atom, np.full(atom.size, -1, dtype=np.intp))
        missing = entries[known[entries] < 0]
        if missing.size:
            at, index, template = self.resolve_template(atom, missing)
            name = f"{atom.word}_{len(self.lowered)}"
            columns = known[missing] = self.affine.add_columns(name, missing.size, scalar=not atom.shape)
            new = tuple(self.affine.add_columns(f"{name}.{c.name}", c.count, lower=c.lower) for c in template.new)
            epigraph = LoweredEpigraph(atom, missing, at, index, template, name=name, columns=columns, new=new)
            self.lowered.append(epigraph)
            epigraph.blocks = self._epigraph_blocks(epigraph)
        return known

    def resolve_template(self, atom: Atom, entries: Index) -> tuple[Segments, Index, Template]:
        """Return the runs, argument entries and template of some entries of an atom, as `get_template` does.

        If the argument is a function with a dictionary, it is treated as the plain vector B a with ||B a|| = ||f||.
        """
        function = atom.function
        if function is None or self.affine.free_function_index(function) is not None:
            return self.get_template(atom, entries)
        size = self.affine.dictionary_rows(function).count
        at = Segments([size])
        vector = atom.of(Expression((size,), np.zeros(size), ()))
        return at, np.arange(size), read_template(vector, at)

    def _epigraph_blocks(self, epigraph: LoweredEpigraph) -> list[LoweredBlock]:
        """Return the rows of t >= atom for auxiliary columns t, at the present values of parameters and minorants."""
        assert epigraph.columns is not None
        e, space = self.argument(epigraph.atom, epigraph.index)
        t = unit_rows(epigraph.columns, self.affine.width, self.affine.point_counts)
        blocks = []
        for part in epigraph.template.parts:
            rows = self.part_rows(part, t, e, epigraph.new)
            entry = part.entry
            none = np.full(rows.count, -1, dtype=np.intp)
            instance = argument_entry_per_row(part, epigraph.index) if part.is_lazy else none
            group = entry if part.is_lazy else none
            declared = np.where(entry >= 0, epigraph.entries[entry], 0)
            blocks.append(
                LoweredBlock(
                    f"{epigraph.name}.{part.name}",
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


def argument_entry_per_row(part: TemplatePart, index: Index) -> Index:
    """Return, per row of a template part, the entry of the argument in it; -1 if there are none or several.

    `index`: the entries of the argument to which the columns of the part's matrix E belong.
    """
    entry = np.full(part.g.size, -1, dtype=np.intp)
    met = np.flatnonzero(row_lengths(part.E) == 1)
    entry[met] = index[part.E.indices[part.E.indptr[met]]]
    return entry


def inlined_epigraph_block(
    name: str, part: TemplatePart, rows: Rows, weights: np.ndarray, space: int | None
) -> LoweredBlock:
    """Return a block of epigraph rows in which t is the rest of a declared row, divided by the weight of its atom.

    `rows` are the finished epigraph rows, and `weights` the negated coefficients of the atom entries. `space` is the
    index of the function that ends the cone; it is used only if the part ends in a function.
    """
    entry = part.entry
    share = np.zeros(rows.count)
    met = np.flatnonzero(entry >= 0)
    share[met] = part.T.data / weights[entry[met]]
    none = np.full(rows.count, -1, dtype=np.intp)
    return LoweredBlock(
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


def multiply_rows(rows: Rows, factors: np.ndarray) -> Rows:
    """Return the rows, each multiplied by its factor."""
    return Rows(scale_rows(rows.A, factors), tuple(scale_rows(e, factors) for e in rows.E), rows.g * factors)
