"""Expansion of rows with one maximum each: `rest - w max e >= 0` becomes the rows `rest - w e_i >= 0` for all i."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.epigraphs import LoweredEpigraph, argument_entry_per_row
from milopt.compilation.rows import Rows
from milopt.compilation.template import EpigraphTemplate
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.sparse import from_parts, row_lengths, scale_rows, take_rows

AtomEntries = list[tuple[Atom, sp.csr_array]]
"""Atoms with the parts of their coefficients at entries on the convex side (see `entry_sides`); stored zeros stay.

A row may have several entries of atoms, except in `expand_rows`.
"""


@dataclass(frozen=True)
class RowExpansion:
    """Expansion of declared rows: the copies of each row, and the terms that atoms add to the copies."""

    entries: AtomEntries | None
    """Atom entries that were expanded; None if the expansion has a parameter or inner atom, so it is not reused."""
    count: int
    """Number of declared rows."""
    declared: Index
    """Per expanded row, the declared row that was copied."""
    instance: Index
    """Per expanded row, the only entry of the atom's argument in the row; -1 if the row has none or several."""
    group: Index
    """Per expanded row, the index of its declared row among those with several copies.

    It is -1 for a row that is the only copy or whose `instance` is -1.
    """
    values: list[Rows]
    """Per atom, the rows that it adds to the copies."""
    lowered: list[LoweredEpigraph]
    """Per atom, its epigraph, whose rows are among the expanded rows."""

    def matches(self, entries: AtomEntries, count: int) -> bool:
        """Return True if this expansion can be reused for `count` rows with these entries, compared by identity."""
        return (
            self.entries is not None
            and (self.count, len(self.entries)) == (count, len(entries))
            and all(a is b and c is d for (a, c), (b, d) in zip(self.entries, entries, strict=True))
        )

    def apply(self, declared_rows: Rows, width: int, points: tuple[int, ...]) -> Rows:
        """Return the expanded rows, given the declared rows without atoms.

        `width` and `points` are the numbers of columns and of points (per function) of the result.
        """
        total = declared_rows.take(self.declared).widen(width)
        for values in self.values:
            total = total.plus(values.widen(width, points))
        return total


def expand_rows(
    entries: AtomEntries,
    count: int,
    template: Callable[[Atom, Index], tuple[Segments, Index, EpigraphTemplate]],
    argument: Callable[[Atom, Index], Rows],
    is_reusable: bool,
) -> RowExpansion:
    """Expand `count` declared rows: a row with an atom entry becomes one row per row of the entry's epigraph.

    Each row has at most one atom entry; a row without one gives one row. `template` is `Epigraphs.get_template`.
    `argument` returns the rows of some entries of an atom's argument. `is_reusable` is True if the expansion may be
    reused later.
    """
    copies = np.ones(count, dtype=np.intp)
    pieces = []
    for atom, coefficient in entries:
        owner = np.flatnonzero(row_lengths(coefficient))
        at, index, read = template(atom, coefficient.indices.astype(np.intp))
        copies[owner] = np.bincount(read.parts[0].entry, minlength=owner.size)
        pieces.append((atom, coefficient, owner, at, index, read))
    declared = np.repeat(np.arange(count), copies)
    instance = np.full(declared.size, -1, dtype=np.intp)
    first = np.cumsum(copies) - copies
    values: list[Rows] = []
    lowered: list[LoweredEpigraph] = []
    for atom, coefficient, owner, at, index, read in pieces:
        part = read.parts[0]
        order = np.argsort(part.entry, kind="stable")
        runs = np.bincount(part.entry, minlength=owner.size)
        rank = np.arange(order.size) - np.repeat(np.cumsum(runs) - runs, runs)
        place = np.empty(order.size, dtype=np.intp)
        place[order] = first[owner[part.entry[order]]] + rank
        instance[place] = argument_entry_per_row(part, index)
        weight = -coefficient.data[part.entry]
        values.append(_scatter_rows(part.E, part.g, weight, place, declared.size, argument(atom, index)))
        lowered.append(LoweredEpigraph(atom, at.entries, at, index, read, rows=(place,)))
    group = np.where(instance >= 0, np.cumsum(copies > 1)[declared] - 1, -1)
    group[copies[declared] == 1] = -1
    return RowExpansion(
        entries=entries if is_reusable else None,
        count=count,
        declared=declared,
        instance=instance,
        group=group,
        values=values,
        lowered=lowered,
    )


def _scatter_rows(E: sp.csr_array, g: Vector, weight: Vector, place: Index, count: int, argument: Rows) -> Rows:
    """Return `count` rows: weight * (E e + g), with e = `argument`, at the positions `place`, and 0 elsewhere."""
    weighted = scale_rows(E, weight)
    if (np.diff(place) <= 0).any():
        weighted = take_rows(weighted, np.argsort(place))
    lengths = np.zeros(count + 1, dtype=np.intp)
    lengths[np.sort(place) + 1] = row_lengths(weighted)
    matrix = from_parts(weighted.data, weighted.indices, np.cumsum(lengths), (count, E.shape[1]))
    rows = argument.left_multiply(matrix)
    offset = np.zeros(count)
    offset[place] = weight * g
    return Rows(rows.A, rows.E, rows.g + offset)
