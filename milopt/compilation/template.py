"""The epigraph of an atom as matrices, read once from its memberships:  T t + E e + N v + g in K."""

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
from milopt.declaration.programs.sparse import added, row_lengths, zeros
from milopt.errors import DeclarationError


@dataclass(frozen=True)
class NewColumns:
    """Columns that an epigraph adds."""

    name: str
    count: int
    lower: float


@dataclass(frozen=True)
class Part:
    """The rows of one membership."""

    name: str
    cone: Cone
    sizes: Index
    T: sp.csr_array
    E: sp.csr_array
    N: tuple[sp.csr_array, ...]
    """One matrix per block of new columns."""
    g: Vector
    is_lazy: bool
    ends_in_function: bool

    @property
    def entry(self) -> Index:
        """Per row, the entry of t in it; -1 if there is none."""
        found = np.full(self.g.size, -1, dtype=np.intp)
        met = np.flatnonzero(row_lengths(self.T))
        found[met] = self.T.indices[self.T.indptr[met]]
        return found

    @property
    def copies_t(self) -> bool:
        """Return True if each row is one entry of t, plus terms of e: then a declared row can take the place of t."""
        ones = bool((row_lengths(self.T) == 1).all() and (self.T.data == 1.0).all())
        return self.cone.is_polyhedral and self.is_lazy and ones and not self.N


@dataclass(frozen=True)
class Template:
    """The epigraph of some runs of an atom."""

    parts: tuple[Part, ...]
    new: tuple[NewColumns, ...]


class _Placeholder(Leaf):
    """Stands for t, e or new columns while an epigraph is written."""

    def __init__(self, name: str, count: int) -> None:
        super().__init__((count,))
        self.name = name

    def describe(self) -> str:
        """Return the name."""
        return self.name


def read_template(atom: Atom, at: Segments) -> Template:
    """Read the matrices of the epigraph of some runs of an atom."""
    t, e = _Placeholder("t", at.count), _Placeholder("e", at.total)
    new: list[tuple[_Placeholder, NewColumns]] = []

    def make(name: str, count: int, lower: float = -np.inf) -> Leaf:
        new.append((_Placeholder(name, count), NewColumns(name, count, lower)))
        return new[-1][0]

    memberships = atom.epigraph(t, e, at, make)
    known = [t, e, *(leaf for leaf, _ in new)]
    return Template(tuple(_part(atom, one, known) for one in memberships), tuple(columns for _, columns in new))


def _part(atom: Atom, membership: Membership, known: Sequence[Leaf]) -> Part:
    if membership.cone.name not in atom.cones:
        raise DeclarationError(
            f"The epigraph of {atom.describe()} uses the {membership.cone.words}, which is not among the `cones` of "
            f"{type(atom).__name__}."
        )
    rows = membership.rows
    matrices = {id(leaf): zeros(rows.size, leaf.size) for leaf in known}
    for leaf, coefficient in rows.terms:
        if id(leaf) not in matrices:
            raise DeclarationError(
                f"The epigraph of {atom.describe()} contains {leaf.describe()}; it may contain t, e and new variables."
            )
        matrices[id(leaf)] = added(matrices[id(leaf)], coefficient.value())
    T, E, *N = (matrices[id(leaf)] for leaf in known)
    if row_lengths(T).max(initial=0) > 1:
        raise DeclarationError(f"The epigraph of {atom.describe()} has a row with several entries of t.")
    return Part(
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
