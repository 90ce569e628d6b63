"""The side of each entry of an atom: needed from above (its convex side), or from below (its other side).

An expression is estimated in a direction: +1, from above, for a minimised objective; -1, from below, for the rows of
`expression >= 0`. An entry of an atom with coefficient c is needed from above if c times the direction is positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.sparse import from_parts, row_lengths, same_pattern
from milopt.errors import DeclarationError

OBJECTIVE = "objective"
ABOVE, BELOW = 1, -1


@dataclass(frozen=True)
class Halves:
    """The entries of a coefficient by the side of the atom's entries; explicit zeros are kept."""

    above: sp.csr_array
    below: sp.csr_array


def halves(atom: Atom, coefficient: Coefficient, direction: int | npt.NDArray[np.int8]) -> Halves:
    """Split a coefficient by the sides of the atom's entries; the direction may differ from row to row."""
    signs = signs_of(atom, coefficient)
    # A structural entry whose parameter is zero now keeps its place, so that it can change without a rebuild.
    entries = from_parts(_at(coefficient.value(), signs), signs.indices, signs.indptr, signs.shape)
    turned = signs.data * np.repeat(np.broadcast_to(direction, signs.shape[0]), row_lengths(signs))
    return Halves(only(entries, turned > 0), only(entries, turned < 0))


def signs_of(atom: Atom, coefficient: Coefficient) -> sp.csr_array:
    """Return the sign of every entry of a coefficient that can be non-zero.

    The side of a maximum must not change with a parameter. For other atoms, the present values of parameters decide if
    their signs are not declared.
    """
    try:
        return coefficient.signs
    except DeclarationError:
        if isinstance(atom, Selecting):
            raise
    signs = coefficient.value().copy()
    signs.eliminate_zeros()
    signs.data = np.sign(signs.data)
    return signs


@dataclass(frozen=True)
class Side:
    """The sides of the entries of one atom in one place of a program."""

    where: str
    """The constraint block, or "objective"."""
    atom: Atom
    convex: npt.NDArray[np.intp]
    """Entries on the convex side: they become rows of the epigraph."""
    witness: npt.NDArray[np.intp]
    """Entries on the other side: each needs a minorant, which is a witness for a maximum."""
    dropped: npt.NDArray[np.intp]
    """Entries with coefficient zero."""


def only(matrix: sp.csr_array, keep: npt.NDArray[np.bool_]) -> sp.csr_array:
    """Return the flagged entries, explicit zeros among them included."""
    lengths = row_lengths(matrix)
    counts = np.zeros(lengths.size, dtype=np.intp)
    if keep.size:
        sums = np.add.reduceat(np.append(keep, False).astype(np.intp), matrix.indptr[:-1])
        counts = np.where(lengths > 0, sums, 0)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return from_parts(matrix.data[keep], matrix.indices[keep], indptr, matrix.shape)


def _at(values: sp.csr_array, pattern: sp.csr_array) -> Vector:
    """Return the values at the entries of a pattern."""
    if same_pattern(values, pattern):
        return values.data
    places = pattern.tocoo().coords
    return np.asarray(values[places[0], places[1]], dtype=float).ravel() if places[0].size else np.zeros(0)
