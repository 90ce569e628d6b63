"""Epigraph t >= atom(e) of an atom in terms of matrices:  T t + E e + N v + g in K.

Here e is the argument of the atom, and v are further columns that the epigraph needs. The matrices are read once from
the memberships that `Atom.epigraph` returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.cones import Cone
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.membership import Membership
from milopt.declaration.atoms.segments import Segments
from milopt.declaration.programs.expression import Leaf
from milopt.declaration.programs.sparse import add, row_lengths, zeros
from milopt.errors import DeclarationError


@dataclass(frozen=True)
class NewColumns:
    """Block of columns v that an epigraph adds to the program."""

    name: str
    count: int
    lower: float
    """Lower bound of the columns."""


@dataclass(frozen=True)
class TemplatePart:
    """Rows  T t + E e + N v + g  of one cone membership of an epigraph (see the module docstring)."""

    name: str
    cone: Cone
    sizes: Index
    """Number of rows of each cone."""
    T: sp.csr_array
    E: sp.csr_array
    N: tuple[sp.csr_array, ...]
    """One matrix per block of new columns v."""
    g: Vector
    is_lazy: bool
    """True if the rows may be left out of a program until they are violated."""
    ends_in_function: bool
    """True if the argument e is a function in a kernel's space, which follows the rows as the last part of the cone."""

    @property
    def entry(self) -> Index:
        """Per row, the index of the entry of t that the row contains; -1 if it contains none."""
        entry_of_row = np.full(self.g.size, -1, dtype=np.intp)
        met = np.flatnonzero(row_lengths(self.T))
        entry_of_row[met] = self.T.indices[self.T.indptr[met]]
        return entry_of_row

    @property
    def has_one_t_per_row(self) -> bool:
        """True if each row is one entry of t plus terms of e, so that copies of a declared row can replace t.

        It is False if the rows are not lazy, if their cone is not polyhedral, or if there are new columns v.
        """
        ones = bool((row_lengths(self.T) == 1).all() and (self.T.data == 1.0).all())
        return self.cone.is_polyhedral and self.is_lazy and ones and not self.N


@dataclass(frozen=True)
class EpigraphTemplate:
    """Epigraph of an atom on some runs of its argument: parts (one per cone membership) and new columns."""

    parts: tuple[TemplatePart, ...]
    new: tuple[NewColumns, ...]


class _Placeholder(Leaf):
    """Placeholder for t, e or new columns v in the memberships that `Atom.epigraph` returns."""

    def __init__(self, name: str, count: int) -> None:
        super().__init__((count,))
        self.name = name

    def describe(self) -> str:
        """Return the name, for error messages."""
        return self.name


def read_template(atom: Atom, at: Segments) -> EpigraphTemplate:
    """Return the matrices of the epigraph of an atom on the runs `at` of its argument."""
    t, e = _Placeholder("t", at.count), _Placeholder("e", at.entry_count)
    new: list[tuple[_Placeholder, NewColumns]] = []

    def new_columns(name: str, count: int, lower: float = -np.inf) -> Leaf:
        """Add a block of new columns v, and return its placeholder."""
        new.append((_Placeholder(name, count), NewColumns(name, count, lower)))
        return new[-1][0]

    memberships = atom.epigraph(t, e, at, new_columns)
    known = [t, e, *(leaf for leaf, _ in new)]
    return EpigraphTemplate(
        tuple(_membership_matrices(atom, membership, known) for membership in memberships),
        tuple(columns for _, columns in new),
    )


def _membership_matrices(atom: Atom, membership: Membership, known: Sequence[Leaf]) -> TemplatePart:
    """Return the matrices of one cone membership; `known` are the placeholders of t, of e, and of the new columns.

    Raise a `DeclarationError` if the membership contains other leaves, if the atom does not declare its cone, or if a
    row contains several entries of t.
    """
    if membership.cone.name not in atom.cones:
        raise DeclarationError(
            f"The epigraph of {atom.describe()} uses the {membership.cone.display_name}, which is not among the "
            f"`cones` of {type(atom).__name__}."
        )
    rows = membership.rows
    matrices = {id(leaf): zeros(rows.size, leaf.size) for leaf in known}
    for leaf, coefficient in rows.terms:
        if id(leaf) not in matrices:
            raise DeclarationError(
                f"The epigraph of {atom.describe()} contains {leaf.describe()}; it may contain t, e and new variables."
            )
        matrices[id(leaf)] = add(matrices[id(leaf)], coefficient.value())
    T, E, *N = (matrices[id(leaf)] for leaf in known)
    if row_lengths(T).max(initial=0) > 1:
        raise DeclarationError(f"The epigraph of {atom.describe()} has a row with several entries of t.")
    return TemplatePart(
        membership.name,
        membership.cone,
        membership.sizes,
        T,
        E,
        tuple(N),
        rows.constant,
        membership.lazy,
        membership.ends_in_function,
    )
