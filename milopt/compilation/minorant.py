"""Minorants: affine lower bounds that replace convex atoms where only a concave term is allowed (their other side).

Examples are the value of a maximum at one instance per bag (the witness), and tangents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import from_parts


@dataclass(frozen=True)
class Minorant:
    """Affine minorant  slopes @ e + constants  of an atom with argument e; `slopes` has one row per entry of the atom.

    If the argument is a function f in a kernel's space, e is the vector of values of f at all points at which the
    program evaluates f or, if f has a dictionary, the vector B a of `AffineLowering.dictionary_rows`.
    """

    slopes: sp.csr_array
    constants: Vector
    is_open: npt.NDArray[np.bool_] | None = None
    """Per entry of the atom, True if the entry is open (has no minorant); None if no entry is open.

    Rows with an open entry are omitted from the program. In the objective, an upper bound replaces an open entry.
    """

    @property
    def open_entries(self) -> npt.NDArray[np.bool_]:
        """Per entry of the atom, True if the entry is open (has no minorant)."""
        return np.zeros(self.constants.size, dtype=bool) if self.is_open is None else self.is_open


StandIn: TypeAlias = Minorant | Expression
"""Minorant or expression that replaces an atom; the expression has one entry per entry of the atom."""
StandIns: TypeAlias = Mapping[Atom, StandIn]
"""Stand-ins by atom."""
Selections: TypeAlias = dict[SelectionAtom, Index]
"""Per maximum, one index per bag: the entry of the argument that replaces the maximum; -1 for no minorant."""


def tangent(atom: Atom, e: Vector) -> Minorant:
    """Return the tangent of an atom at e, or at the point of the atom's domain that is nearest to e."""
    at = atom.segments
    nearest = atom.nearest(e, at)
    g = atom.slopes(nearest, at)
    return Minorant(slope_matrix(atom, g), atom.value(nearest, at) - at.sum(g * nearest))


def slope_matrix(atom: Atom, g: Vector) -> sp.csr_array:
    """Return the matrix of slopes, with one row per entry of the atom, from one number per entry of the argument."""
    at = atom.segments
    met = np.flatnonzero(g)
    indptr = np.searchsorted(met, at.offsets)
    return from_parts(g[met], met, indptr, (at.count, at.entry_count))


def mean_minorant(atom: SelectionAtom) -> Minorant:
    """Return the minorant of a maximum that is the mean of each run (the entries over which a maximum is taken)."""
    at = atom.segments
    means = from_parts(
        np.repeat(1.0 / at.sizes, at.sizes), np.arange(at.entry_count), at.offsets, (at.count, at.entry_count)
    )
    return Minorant(means, np.zeros(at.count))


def one_hot_minorant(atom: SelectionAtom, index: Index) -> Minorant:
    """Return the minorant of a maximum that is one entry of the argument per run; `index` are these entries.

    If an index is -1, the entry of the maximum is open (it has no minorant).
    """
    at, fixed = atom.segments, index >= 0
    chosen, indptr = index[fixed], np.concatenate([[0], np.cumsum(fixed)])
    slopes = from_parts(np.ones(chosen.size), chosen, indptr, (at.count, at.entry_count))
    return Minorant(slopes, np.zeros(at.count), None if fixed.all() else ~fixed)


def one_hot_minorants(selections: Selections) -> dict[Atom, StandIn]:
    """Return `one_hot_minorant` of each maximum at its selected indices."""
    return {atom: one_hot_minorant(atom, index) for atom, index in selections.items()}
