"""The side of each entry of an atom: whether the program needs an upper bound (above) or a lower bound (below) of it.

Atoms are convex, except indefinite quadratic forms, which only objectives may contain. If the program needs an upper
bound of an entry, the entry is on its convex side: the program stays convex if the atom is replaced by its epigraph. If
it needs a lower bound, the entry is on its other side: only a concave term is allowed there, and a minorant must
replace the atom.

An expression has a direction. It is +1 if an upper bound of the expression is needed (a minimised objective), and -1 if
a lower bound is needed (the rows of `expression >= 0`). An entry with coefficient c is on its convex side if c times
the direction is positive, and on its other side if that is negative.
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

OBJECTIVE_PLACE = "objective"
"""Value of `AtomSides.where` for the objective."""
ABOVE, BELOW = 1, -1
"""The two sides of an atom, for an upper and for a lower bound; they are also the two directions of expressions."""


@dataclass(frozen=True)
class SplitCoefficient:
    """Coefficient matrix of an atom, split by the sides of the atom's entries.

    Zeros that are stored in the sparse matrix of the coefficient stay stored.
    """

    above: sp.csr_array
    """Part of the matrix that multiplies entries of the atom on their convex side."""
    below: sp.csr_array
    """Part of the matrix that multiplies entries of the atom on their other side."""


def split_by_side(atom: Atom, coefficient: Coefficient, direction: int | npt.NDArray[np.int8]) -> SplitCoefficient:
    """Split the coefficient of an atom by the sides of the entries of the atom.

    `direction` is +1 if an upper bound of the expression is needed, and -1 if a lower bound is needed: one number for
    all rows, or one per row. In rows with direction 0, no entry is needed, so they are zero in both parts.
    """
    signs = signs_of(atom, coefficient)
    # Store an entry even if its parameter is zero at present, so that the parameter can change without a rebuild.
    entries = from_parts(_values_at_pattern(coefficient.value(), signs), signs.indices, signs.indptr, signs.shape)
    turned = signs.data * np.repeat(np.broadcast_to(direction, signs.shape[0]), row_lengths(signs))
    return SplitCoefficient(keep_entries(entries, turned > 0), keep_entries(entries, turned < 0))


def signs_of(atom: Atom, coefficient: Coefficient) -> sp.csr_array:
    """Return the signs (+1 or -1) of a coefficient as a sparse matrix that stores every entry that can be non-zero.

    The side of a maximum must not change with a parameter, so the coefficient of a maximum may only contain parameters
    with a declared sign; otherwise a `DeclarationError` is raised. For other atoms, the present values of parameters
    are used if the signs are not declared.
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
    """Entries on their convex side, which become rows of the epigraph."""
    witness: npt.NDArray[np.intp]
    """Entries on their other side, which need a minorant (of a maximum: the value at a witness)."""
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
    """Return the values of a matrix at the positions that `pattern`, a matrix of the same shape, stores."""
    if have_same_pattern(values, pattern):
        return values.data
    places = pattern.tocoo().coords
    return np.asarray(values[places[0], places[1]], dtype=float).ravel() if places[0].size else np.zeros(0)
