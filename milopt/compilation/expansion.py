"""Declared rows with one atom entry each, expanded in place: `rest - w max e >= 0` becomes one row per entry of e."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.epigraphs import Lowered, argument_entry
from milopt.compilation.rows import Rows
from milopt.compilation.template import Template
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.sparse import from_parts, row_lengths, scaled_rows, taken

Entries = list[tuple[Atom, sp.csr_array]]
"""Atoms on their convex side with their coefficients, explicit zeros kept; at most one entry per row in all."""


@dataclass(frozen=True)
class Expansion:
    """Rows as copies of declared ones, and what the atoms add to them."""

    entries: Entries | None
    """The entries that were expanded; None if a parameter or an atom inside makes the expansion valid only once."""
    count: int
    declared: Index
    instance: Index
    group: Index
    values: list[Rows]
    lowered: list[Lowered]

    def serves(self, entries: Entries, count: int) -> bool:
        """Return True if it is the expansion of these very entries."""
        return (
            self.entries is not None
            and (self.count, len(self.entries)) == (count, len(entries))
            and all(a is b and c is d for (a, c), (b, d) in zip(self.entries, entries, strict=True))
        )

    def applied(self, rows: Rows, width: int, points: tuple[int, ...]) -> Rows:
        """Return the expanded rows."""
        total = rows.take(self.declared).widened(width)
        for values in self.values:
            total = total.plus(values.widened(width, points))
        return total


def expand(
    entries: Entries,
    count: int,
    template: Callable[[Atom, Index], tuple[Segments, Index, Template]],
    argument: Callable[[Atom, Index], Rows],
    is_fixed: bool,
) -> Expansion:
    """Expand `count` rows, of which those with an entry get one row per row of the entry's epigraph."""
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
    lowered: list[Lowered] = []
    for atom, coefficient, owner, at, index, read in pieces:
        part = read.parts[0]
        order = np.argsort(part.entry, kind="stable")
        runs = np.bincount(part.entry, minlength=owner.size)
        rank = np.arange(order.size) - np.repeat(np.cumsum(runs) - runs, runs)
        place = np.empty(order.size, dtype=np.intp)
        place[order] = first[owner[part.entry[order]]] + rank
        instance[place] = argument_entry(part, index)
        weight = -coefficient.data[part.entry]
        values.append(_scattered(part.E, part.g, weight, place, declared.size, argument(atom, index)))
        lowered.append(Lowered(atom, at.entries, at, index, read, rows=(place,)))
    group = np.where(instance >= 0, np.cumsum(copies > 1)[declared] - 1, -1)
    group[copies[declared] == 1] = -1
    return Expansion(
        entries=entries if is_fixed else None,
        count=count,
        declared=declared,
        instance=instance,
        group=group,
        values=values,
        lowered=lowered,
    )


def _scattered(E: sp.csr_array, g: Vector, weight: Vector, place: Index, count: int, argument: Rows) -> Rows:
    """Return weight * (E e + g) at some places of `count` rows."""
    weighted = scaled_rows(E, weight)
    if (np.diff(place) <= 0).any():
        weighted = taken(weighted, np.argsort(place))
    lengths = np.zeros(count + 1, dtype=np.intp)
    lengths[np.sort(place) + 1] = row_lengths(weighted)
    matrix = from_parts(weighted.data, weighted.indices, np.cumsum(lengths), (count, E.shape[1]))
    rows = argument.left(matrix)
    offset = np.zeros(count)
    offset[place] = weight * g
    return Rows(rows.A, rows.E, rows.g + offset)
