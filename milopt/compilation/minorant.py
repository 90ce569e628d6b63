"""Affine functions in place of atoms on their other side: the witnesses of a maximum, or tangents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import from_parts


@dataclass(frozen=True)
class Minorant:
    """slopes @ e + constants, one row per entry of an atom of e.

    If the argument is a function of a kernel's space, the slopes are weights on all points of the program at which the
    function is evaluated.
    """

    slopes: sp.csr_array
    constants: Vector
    is_open: npt.NDArray[np.bool_] | None = None
    """Per entry, True if nothing stands for it: rows with it are left out, and an objective takes its upper bound."""

    @property
    def open_entries(self) -> npt.NDArray[np.bool_]:
        """Per entry, True if nothing stands for it."""
        return np.zeros(self.constants.size, dtype=bool) if self.is_open is None else self.is_open


StandIn: TypeAlias = Minorant | Expression
"""A minorant, or an expression with one entry per entry of the atom."""
StandIns: TypeAlias = Mapping[Atom, StandIn]
Selections: TypeAlias = dict[Selecting, Index]
"""Per maximum, one index of its argument per entry; -1 leaves the entry open."""


def tangent(atom: Atom, e: Vector) -> Minorant:
    """Return the minorant that touches an atom at e."""
    at = atom.segments
    nearest = atom.nearest(e, at)
    g = atom.slopes(nearest, at)
    return Minorant(slope_matrix(atom, g), atom.value(nearest, at) - at.sum(g * nearest))


def slope_matrix(atom: Atom, g: Vector) -> sp.csr_array:
    """Return slopes, given as one number per entry of the argument, as a matrix with one row per entry of the atom."""
    at = atom.segments
    met = np.flatnonzero(g)
    indptr = np.searchsorted(met, at.offsets)
    return from_parts(g[met], met, indptr, (at.count, at.total))


def mean_selection(atom: Selecting) -> Minorant:
    """Return the mean of each run."""
    at = atom.segments
    means = from_parts(np.repeat(1.0 / at.sizes, at.sizes), np.arange(at.total), at.offsets, (at.count, at.total))
    return Minorant(means, np.zeros(at.count))


def one_hot_selection(atom: Selecting, index: Index) -> Minorant:
    """Return one entry of the argument per run; -1 leaves the run open."""
    at, fixed = atom.segments, index >= 0
    chosen, indptr = index[fixed], np.concatenate([[0], np.cumsum(fixed)])
    slopes = from_parts(np.ones(chosen.size), chosen, indptr, (at.count, at.total))
    return Minorant(slopes, np.zeros(at.count), None if fixed.all() else ~fixed)


def one_hot(selections: Selections) -> dict[Atom, StandIn]:
    """Return selections as minorants."""
    return {atom: one_hot_selection(atom, index) for atom, index in selections.items()}
