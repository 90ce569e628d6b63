"""Minorants: affine lower bounds that replace atoms needed from below (on their other side).

Examples are the value of a maximum at a witness, and tangents.
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
    """Affine minorant  slopes @ e + constants  of an atom with argument e, with one row per entry of the atom.

    If the argument is a function in a kernel's space, the slopes are weights on all points at which the program
    evaluates the function.
    """

    slopes: sp.csr_array
    constants: Vector
    is_open: npt.NDArray[np.bool_] | None = None
    """Per entry of the atom, True if it is open (has no minorant); None if no entry is.

    Rows with an open entry are omitted, and an objective contains an upper bound of the entry instead.
    """

    @property
    def open_entries(self) -> npt.NDArray[np.bool_]:
        """Per entry of the atom, True if it is open (has no minorant)."""
        return np.zeros(self.constants.size, dtype=bool) if self.is_open is None else self.is_open


StandIn: TypeAlias = Minorant | Expression
"""Stand-in that replaces an atom: a minorant, or an expression with one entry per entry of the atom."""
StandIns: TypeAlias = Mapping[Atom, StandIn]
"""Stand-ins by atom."""
Selections: TypeAlias = dict[SelectionAtom, Index]
"""Per maximum, the index of one entry of its argument for each of its entries; -1 leaves it without a minorant."""


def tangent(atom: Atom, e: Vector) -> Minorant:
    """Return the minorant that touches an atom at e, or at the nearest point of the atom's domain."""
    at = atom.segments
    nearest = atom.nearest(e, at)
    g = atom.slopes(nearest, at)
    return Minorant(slope_matrix(atom, g), atom.value(nearest, at) - at.sum(g * nearest))


def slope_matrix(atom: Atom, g: Vector) -> sp.csr_array:
    """Return slopes, given as one number per entry of the argument, as a matrix with one row per entry of the atom."""
    at = atom.segments
    met = np.flatnonzero(g)
    indptr = np.searchsorted(met, at.offsets)
    return from_parts(g[met], met, indptr, (at.count, at.entry_count))


def mean_minorant(atom: SelectionAtom) -> Minorant:
    """Return the minorant of a maximum that is the mean of each run (the argument entries of one maximum)."""
    at = atom.segments
    means = from_parts(
        np.repeat(1.0 / at.sizes, at.sizes), np.arange(at.entry_count), at.offsets, (at.count, at.entry_count)
    )
    return Minorant(means, np.zeros(at.count))


def one_hot_minorant(atom: SelectionAtom, index: Index) -> Minorant:
    """Return the minorant of a maximum that is one entry of the argument per run, given by its index.

    An index of -1 leaves the entry of the maximum open (without a minorant).
    """
    at, fixed = atom.segments, index >= 0
    chosen, indptr = index[fixed], np.concatenate([[0], np.cumsum(fixed)])
    slopes = from_parts(np.ones(chosen.size), chosen, indptr, (at.count, at.entry_count))
    return Minorant(slopes, np.zeros(at.count), None if fixed.all() else ~fixed)


def one_hot_minorants(selections: Selections) -> dict[Atom, StandIn]:
    """Return, for each maximum, the minorant that is the value of its argument at the selected indices."""
    return {atom: one_hot_minorant(atom, index) for atom, index in selections.items()}
