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
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.sparse import from_parts, have_same_pattern, row_lengths
from milopt.errors import DeclarationError

OBJECTIVE = "objective"
"""Name of the objective in `AtomSides.where`."""
ABOVE, BELOW = 1, -1
"""The two directions in which an expression can be estimated."""


@dataclass(frozen=True)
class SplitCoefficient:
    """Coefficient of an atom, split by the sides of the atom's entries (needed from above or below).

    Zeros that are stored in the coefficient are kept.
    """

    above: sp.csr_array
    """Entries of the coefficient at atom entries that are needed from above."""
    below: sp.csr_array
    """Entries of the coefficient at atom entries that are needed from below."""


def split_by_side(atom: Atom, coefficient: Coefficient, direction: int | npt.NDArray[np.int8]) -> SplitCoefficient:
    """Split the coefficient of an atom into the entries needed from above and those needed from below.

    `direction`: +1 if the expression is estimated from above, -1 from below; one number for all rows or one per row. In
    rows with direction 0, no entry is needed.
    """
    signs = signs_of(atom, coefficient)
    # An entry whose parameter is zero now is stored anyway, so that the parameter can change without a rebuild.
    entries = from_parts(_values_at_pattern(coefficient.value(), signs), signs.indices, signs.indptr, signs.shape)
    turned = signs.data * np.repeat(np.broadcast_to(direction, signs.shape[0]), row_lengths(signs))
    return SplitCoefficient(keep_entries(entries, turned > 0), keep_entries(entries, turned < 0))


def signs_of(atom: Atom, coefficient: Coefficient) -> sp.csr_array:
    """Return the sign of every entry of a coefficient that can be non-zero.

    The side of a maximum must not change with a parameter, so for a maximum an undeclared sign of a parameter is an
    error. For other atoms, the present values of parameters are used if the signs are not declared.
    """
    try:
        return coefficient.signs
    except DeclarationError:
        if isinstance(atom, SelectionAtom):
            raise
    signs = coefficient.value().copy()
    signs.eliminate_zeros()
    signs.data = np.sign(signs.data)
    return signs


@dataclass(frozen=True)
class AtomSides:
    """Sides of the entries of one atom in the objective or in one constraint block."""

    where: str
    """Name of the constraint block, or "objective"."""
    atom: Atom
    convex: npt.NDArray[np.intp]
    """Entries on the convex side, which become rows of the epigraph."""
    witness: npt.NDArray[np.intp]
    """Entries on the other side, each of which needs a minorant (for a maximum, its value at a witness)."""
    dropped: npt.NDArray[np.intp]
    """Entries on neither side: their coefficient is zero, or they occur only in unused entries of an outer atom."""


def keep_entries(matrix: sp.csr_array, keep: npt.NDArray[np.bool_]) -> sp.csr_array:
    """Return the matrix with only the stored entries for which `keep` is True; stored zeros count as entries."""
    lengths = row_lengths(matrix)
    counts = np.zeros(lengths.size, dtype=np.intp)
    if keep.size:
        sums = np.add.reduceat(np.append(keep, False).astype(np.intp), matrix.indptr[:-1])
        counts = np.where(lengths > 0, sums, 0)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return from_parts(matrix.data[keep], matrix.indices[keep], indptr, matrix.shape)


def _values_at_pattern(values: sp.csr_array, pattern: sp.csr_array) -> Vector:
    """Return the values of a matrix at the stored entries of `pattern`, a matrix of the same shape."""
    if have_same_pattern(values, pattern):
        return values.data
    places = pattern.tocoo().coords
    return np.asarray(values[places[0], places[1]], dtype=float).ravel() if places[0].size else np.zeros(0)
