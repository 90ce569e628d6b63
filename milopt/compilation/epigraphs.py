"""Epigraphs t >= atom, either with auxiliary columns t and auxiliary rows, or written into declared rows.

If an entry of an atom is used in a single declared row `rest - atom >= 0`, where the rest is affine, its epigraph with
t = rest replaces that row. Any other entry gets one auxiliary column t, however many rows use the entry.
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
from milopt.compilation.template import EpigraphTemplate, TemplatePart, read_template
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import as_csr, from_parts, row_lengths, scale_rows

ArgumentRows = Callable[[Atom, Index], Rows]
"""Function (atom, index) that returns the affine rows of the entries `index` of the atom's argument.

The rows are those of an atom on its convex side, of which the program needs an upper bound.
"""


@dataclass
class LoweredEpigraph:
    """Epigraph of some entries of an atom, as it occurs in the lowered program."""

    atom: Atom
    entries: Index
    """Entries of the atom."""
    runs: Segments
    """Runs (groups of consecutive entries) of the argument; entry k of `entries` depends on run k."""
    index: Index
    """Entries of the argument that are in the runs."""
    template: EpigraphTemplate
    _: KW_ONLY
    blocks: list[LoweredBlock] = field(default_factory=list)
    """Rows of the epigraph, one block per part of the template; empty if the epigraph is in a declared block."""
    name: str = ""
    columns: Index | None = None
    """Auxiliary columns t; None if the rest of a declared row serves as t."""
    new: tuple[Index, ...] = ()
    """Further auxiliary columns of the epigraph, one array per entry of `EpigraphTemplate.new`."""
    rows: tuple[Index, ...] | None = None
    """Per part of the template, the positions of its rows in the declared block; None if these are 0, 1, 2, ..."""


class Epigraphs:
    """Epigraphs of the atoms of one program that have auxiliary columns t, and templates of all epigraphs."""

    def __init__(self, linear: AffineLowering, argument_rows: ArgumentRows) -> None:
        self.affine = linear
        self._argument_rows = argument_rows
        self.lowered: list[LoweredEpigraph] = []
        self._columns: dict[Atom, Index] = {}
        self._templates: dict[tuple[Atom, bytes], tuple[Segments, Index, EpigraphTemplate]] = {}

    @property
    def blocks(self) -> list[LoweredBlock]:
        """Rows of the epigraphs t >= atom of all auxiliary columns t."""
        return [block for epigraph in self.lowered for block in epigraph.blocks]

    def refresh_blocks(self, has_changed: Callable[[Atom], bool]) -> list[str]:
        """Recompute the auxiliary rows of all atoms with `has_changed(atom)`; return the names of their blocks."""
        changed = [epigraph for epigraph in self.lowered if has_changed(epigraph.atom)]
        for epigraph in changed:
            epigraph.blocks = self._epigraph_blocks(epigraph)
        return [block.name for epigraph in changed for block in epigraph.blocks]

    def add_with_columns(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Return rows + coefficient @ t, where the auxiliary columns t stand for the entries of the atom.

        Entries that have no auxiliary column yet get one.
        """
        if not coefficient.nnz:
            return rows
        columns = self._columns_of(atom, np.unique(coefficient.indices).astype(np.intp))
        shape = (coefficient.shape[0], self.affine.width)
        # Entries get their columns in the order of first use, so the column indices of a row may have to be sorted.
        pick = as_csr(from_parts(coefficient.data, columns[coefficient.indices], coefficient.indptr, shape))
        wide = rows.widen(self.affine.width)
        return Rows(sp.csr_array(wide.A + pick), wide.E, wide.g)

    def get_template(self, atom: Atom, entries: Index) -> tuple[Segments, Index, EpigraphTemplate]:
        """Return (runs, index, template) of some entries of an atom, from the cache if possible.

        `runs` are the runs of the argument on which the entries depend, `index` the entries of the argument in these
        runs, and `template` is the template of the epigraph.
        """
        key = (atom, entries.tobytes())
        if key not in self._templates:
            at, index = atom.segments.select(entries)
            self._templates[key] = (at, index, read_template(atom, at))
        return self._templates[key]

    def part_rows(self, part: TemplatePart, t: Rows, e: Rows | None, new: tuple[Index, ...]) -> Rows:
        """Return the affine rows T t + E e + N v + g of one part of a template.

        `t` and `e` are the rows for t and for the argument of the atom (`e` is None if the argument is a free
        function). `new` are the columns v, one array per entry of `EpigraphTemplate.new`.
        """
        width, points = self.affine.width, self.affine.point_counts
        rows = t.widen(width, points).left_multiply(part.T)
        if e is not None and part.E.nnz:
            rows = rows.plus(e.widen(width, points).left_multiply(part.E))
        for matrix, columns in zip(part.N, new, strict=True):
            rows = rows.plus(unit_rows(columns, width, points).left_multiply(matrix))
        return Rows(rows.A, rows.E, rows.g + part.g)

    def argument_rows_or_function(self, atom: Atom, index: Index) -> tuple[Rows | None, int | None]:
        """Return (rows, function_index) for the entries `index` of an atom's argument; one of the two is None.

        If the argument is a free function, `function_index` is its index and `rows` is None. If it is a function f with
        a dictionary, the rows are those of the vector B a with ||B a|| = ||f||.
        """
        if atom.function is None:
            return self._argument_rows(atom, index), None
        place = self.affine.free_function_index(atom.function)
        return (self.affine.dictionary_rows(atom.function), None) if place is None else (None, place)

    def _columns_of(self, atom: Atom, entries: Index) -> Index:
        """Return the auxiliary column of every entry of an atom (-1: none), after adding columns for `entries`."""
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

    def resolve_template(self, atom: Atom, entries: Index) -> tuple[Segments, Index, EpigraphTemplate]:
        """Return (runs, index, template) as `get_template` does, also for a function f with a dictionary as argument.

        Such a function is treated as the vector B a with ||B a|| = ||f||.
        """
        function = atom.function
        if function is None or self.affine.free_function_index(function) is not None:
            return self.get_template(atom, entries)
        size = self.affine.dictionary_rows(function).count
        at = Segments([size])
        vector = atom.with_argument(Expression((size,), np.zeros(size), ()))
        return at, np.arange(size), read_template(vector, at)

    def _epigraph_blocks(self, epigraph: LoweredEpigraph) -> list[LoweredBlock]:
        """Return the rows of an epigraph with auxiliary columns t, at the present parameters and minorants."""
        assert epigraph.columns is not None
        e, space = self.argument_rows_or_function(epigraph.atom, epigraph.index)
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
    """Return, per row of a template part, the only entry of the argument in the row; -1 if it has none or several.

    `index` are the entries of the argument to which the columns of the part's matrix E belong.
    """
    entry = np.full(part.g.size, -1, dtype=np.intp)
    met = np.flatnonzero(row_lengths(part.E) == 1)
    entry[met] = index[part.E.indices[part.E.indptr[met]]]
    return entry


def inlined_epigraph_block(
    name: str, part: TemplatePart, rows: Rows, weights: np.ndarray, space: int | None
) -> LoweredBlock:
    """Return the block of an epigraph that replaces declared rows, where t = rest / weight for `rest - weight * atom`.

    `rows` are the finished rows of the epigraph, and `weights` the weights of the atom's entries. `space` is the index
    of the function that is the argument of the atom; it is used only if the part ends in a function.
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
    """Return the affine rows, each multiplied by its entry of `factors`."""
    return Rows(scale_rows(rows.A, factors), tuple(scale_rows(e, factors) for e in rows.E), rows.g * factors)
