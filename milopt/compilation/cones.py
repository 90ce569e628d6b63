"""Lowering of scalar atoms: norms and quadratics as second-order cones, 1-norms as linear rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from milopt.compilation.curvature import symmetric_root
from milopt.compilation.evaluation_form import Block, Index
from milopt.compilation.linear import Linear
from milopt.compilation.rows import Rows, stack, unit_rows
from milopt.cones import NONNEGATIVE, SECOND_ORDER, ZERO, Cone
from milopt.declaration.coefficient import Coefficient
from milopt.declaration.leaves import Atom, FunctionNorm, FunctionNormSquared, Norm, Norm1, QuadForm, unknown_atom
from milopt.declaration.sparse import row_vector
from milopt.errors import ConvexityError

Scalars = list[tuple[Atom, Coefficient]]


class Cones:
    """Lowers the scalar atoms of one program."""

    def __init__(self, linear: Linear) -> None:
        self.linear = linear
        self._epigraphs: dict[Atom, Epigraph] = {}

    @property
    def auxiliary(self) -> list[Block]:
        """The rows that bind the columns of atoms."""
        return [block for epigraph in self._epigraphs.values() for block in epigraph.blocks]

    def refresh(self, has_changed: Callable[[Atom], bool]) -> list[str]:
        """Lower the rows behind columns again for each changed atom; return the names of these blocks."""
        names: list[str] = []
        for atom, epigraph in self._epigraphs.items():
            if has_changed(atom):
                epigraph.blocks = self._epigraph_blocks(atom, epigraph)
                names += [block.name for block in epigraph.blocks]
        return names

    def in_constraint(self, name: str, rows: Rows, scalars: Scalars) -> Block:
        """rows + atoms >= 0, in which every atom must be subtracted; alone in a scalar row it is its own cone."""
        for atom, coefficient in scalars:
            if (coefficient.value().data > 0).any():
                raise ConvexityError(wrong_side(atom, f"constraint {name!r}"))
        if rows.count == 1 and len(scalars) == 1 and not isinstance(scalars[0][0], Norm1):
            atom, coefficient = scalars[0]
            weight = -float(coefficient.value().toarray()[0, 0])
            if weight > 0:
                cone = self._cone(name, name, atom, rows.left(sp.csr_array(np.array([[1.0 / weight]]))))
                share = np.zeros(cone.count)
                share[:2] = (0.5, -0.5) if _is_square(atom) else (1.0, 0.0)[: cone.count]
                return replace(cone, share=share / weight)
        for atom, coefficient in scalars:
            rows = self.through_column(rows, atom, coefficient.value())
        return plain(name, NONNEGATIVE, rows)

    def through_column(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Add coefficient * t, with a column t >= atom."""
        column = np.array([self._column(atom)])
        unit = unit_rows(column, self.linear.width, self.linear.point_counts)
        return rows.widened(self.linear.width).plus(unit.left(coefficient))

    def _column(self, atom: Atom) -> int:
        if atom not in self._epigraphs:
            name = f"{atom.word}_{len(self._epigraphs)}"
            column = self.linear.add_columns(name, 1, scalar=True)
            parts = np.zeros(0, dtype=np.intp)
            if isinstance(atom, Norm1):
                signs = ("plus", "minus")
                added = [self.linear.add_columns(f"{name}.{sign}", atom.inner.size, lower=0.0) for sign in signs]
                parts = np.concatenate(added)
            epigraph = self._epigraphs[atom] = Epigraph(name, column, parts, [])
            epigraph.blocks = self._epigraph_blocks(atom, epigraph)
        return int(self._epigraphs[atom].column[0])

    def _epigraph_blocks(self, atom: Atom, epigraph: Epigraph) -> list[Block]:
        """The rows of  column >= atom  at the current values of the parameters."""
        bound = unit_rows(epigraph.column, self.linear.width, self.linear.point_counts)
        if isinstance(atom, Norm1):
            return self._absolute(epigraph.name, atom, bound, epigraph.parts)
        return [self._cone(f"{epigraph.name}.cone", "", atom, bound)]

    def _absolute(self, name: str, atom: Norm1, bound: Rows, parts: Index) -> list[Block]:
        """e = p - m with p, m >= 0, bound >= sum (p + m): fewer rows for the simplex method than |e| <= s has.

        `parts` are the columns of p, then those of m.
        """
        count = atom.inner.size
        width, points = self.linear.width, self.linear.point_counts
        both = unit_rows(parts, width, points)
        apart = sp.hstack([-sp.eye_array(count), sp.eye_array(count)], format="csr")
        split = self.linear.inner(atom).widened(width).plus(both.left(apart))
        total = both.left(row_vector(-np.ones(2 * count)))
        return [
            plain(f"{name}.split", ZERO, split, ""),
            plain(f"{name}.sum", NONNEGATIVE, bound.widened(width).plus(total), ""),
        ]

    def _cone(self, name: str, origin: str, atom: Atom, bound: Rows) -> Block:
        """bound >= atom as one second-order cone; a square e'e <= b through ((1+b)/2, (1-b)/2, e)."""
        if not isinstance(atom, (Norm, QuadForm, FunctionNorm, FunctionNormSquared)):
            raise unknown_atom(atom, "lower")
        head = bound.widened(self.linear.width)
        if _is_square(atom):
            half = head.left(sp.csr_array(np.array([[0.5], [-0.5]])))
            head = Rows(half.A, half.E, half.g + 0.5)
        space: int | None = None
        parts = [head]
        if isinstance(atom, (FunctionNorm, FunctionNormSquared)):
            space = self.linear.place_of(atom.function)
            if space is None:
                parts.append(self.linear.dictionary_rows(atom.function))
        elif isinstance(atom, Norm):
            parts.append(self.linear.inner(atom))
        else:
            root = sp.csr_array(symmetric_root(atom.weight, atom.describe()))
            parts.append(self.linear.inner(atom).left(root))
        rows = stack([part.widened(self.linear.width) for part in parts])
        none = np.full(rows.count, -1, dtype=np.intp)
        return Block(name, SECOND_ORDER, rows, origin, np.zeros(rows.count, dtype=np.intp), none, none, space)


@dataclass
class Epigraph:
    """The auxiliary column of a scalar atom, and the rows that bind it."""

    name: str
    column: Index
    """One column, which is at least the atom."""
    parts: Index
    """The positive, then the negative parts of the entries of a 1-norm; empty for every other atom."""
    blocks: list[Block]


def plain(name: str, cone: Cone, rows: Rows, origin: str | None = None) -> Block:
    """Rows as they are, each its own declared entry."""
    none = np.full(rows.count, -1, dtype=np.intp)
    return Block(name, cone, rows, name if origin is None else origin, np.arange(rows.count), none, none)


def wrong_side(atom: Atom, where: str) -> str:
    """Why a convex atom cannot stand there."""
    return f"{atom.describe()} in {where} is convex and stands where only a concave term may: not a convex program."


def _is_square(atom: Atom) -> bool:
    return isinstance(atom, (QuadForm, FunctionNormSquared))
