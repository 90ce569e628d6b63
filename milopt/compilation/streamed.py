"""Squares over very many points, added up by blocks: what a solver gets has as many entries as columns, not as points.

    1/2 r'Wr,  r = U theta + h   =   1/2 theta'(U'WU)theta + (U'Wh)'theta + 1/2 h'Wh

where r holds functions with a dictionary, so that U = C K(X, Z): K(X, Z) is made a block of rows at a time and never
kept, all squares over the same points in one pass. C is diagonal (one row a point), or adds points up into fewer rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Matrix, Vector
from milopt.compilation.evaluation_form import Square
from milopt.compilation.linear import Linear, features, known_features
from milopt.compilation.rows import Rows, unit_rows
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.expression import Leaf
from milopt.declaration.programs.leaves import Evaluation, FeatureWeight, Variable

LARGE = 250_000
"""Entries of K(X, Z) above which it is not kept."""
BLOCK = 2**22
"""Entries of one block."""


@dataclass(frozen=True)
class Streamed:
    """1/2 theta'(U'WU)theta as a square over theta, and the linear rest with its constant as one row."""

    square: Square
    linear: Rows


def is_large(atom: Atom) -> bool:
    """Whether a square is better streamed: over one function with a large dictionary, weights on the diagonal."""
    if atom.diagonal is None:
        return False
    found = [leaf for leaf, _ in atom.argument.terms if isinstance(leaf, Evaluation)]
    plain = all(isinstance(leaf, (Variable, Evaluation)) for leaf, _ in atom.argument.terms)
    if len(found) != 1 or not plain or found[0].function.dictionary is None:
        return False
    return found[0].size * found[0].function.coefficients.size > LARGE


@dataclass
class _Sum:
    """One square as it is added up: its rows without the function, C, and what the blocks have given so far."""

    atom: Atom
    factor: float
    leaf: Evaluation
    C: sp.csr_array
    rest: Matrix
    """The columns besides the function's coefficients, dense: there are few."""
    pointwise: Vector | None
    """C's diagonal where it has one."""
    gram: Matrix = field(init=False)
    pull: Vector = field(init=False)
    constant: float = 0.0
    totals: Matrix | None = field(init=False)

    def __post_init__(self) -> None:
        size = self.leaf.function.coefficients.size + self.rest.shape[1]
        self.gram, self.pull = np.zeros((size, size)), np.zeros(size)
        self.totals = None if self.pointwise is not None else np.zeros((self.C.shape[0], size - self.rest.shape[1]))

    def add(self, rows: slice, values: Matrix) -> None:
        """A block of K(X, Z) R."""
        if self.totals is not None:
            self.totals += self.C[:, rows] @ values
            return
        assert self.pointwise is not None
        given = self.atom.diagonal
        assert given is not None
        weight = given.of(rows, values) if isinstance(given, FeatureWeight) else given[rows]
        self._add(np.hstack([self.pointwise[rows, None] * values, self.rest[rows]]), weight, rows)

    def _add(self, U: Matrix, given: Vector, rows: slice) -> None:
        weight, h = self.factor * given, self.atom.argument.constant[rows]
        one_sign = (weight >= 0).all() or (weight <= 0).all()
        if one_sign:
            # A product of a matrix with its own transpose takes half the work.
            half = U * np.sqrt(np.abs(weight))[:, None]
            product = half.T @ half
            self.gram += product if weight.max(initial=0.0) > 0 else -product
        else:
            self.gram += U.T @ (weight[:, None] * U)
        self.pull += U.T @ (weight * h)
        self.constant += 0.5 * float(weight @ h**2)

    def finished(self, linear: Linear, columns: npt.NDArray[np.intp]) -> Streamed:
        """Over the program's columns."""
        if self.totals is not None:
            self._add(np.hstack([self.totals, self.rest]), np.asarray(self.atom.diagonal), slice(None))
        q = np.zeros(linear.width)
        np.add.at(q, columns, self.pull)
        empty = tuple(sp.csr_array((1, n)) for n in linear.point_counts)
        return Streamed(
            Square(unit_rows(columns, linear.width, linear.point_counts), self.gram, self.atom.describe()),
            Rows(sp.csr_array(q[None, :]), empty, np.array([self.constant])),
        )


def stream(linear: Linear, atoms: Sequence[tuple[Atom, float]]) -> list[Streamed]:
    """Each square times its factor, those over the same points in one pass."""
    sums = [_begun(atom, factor) for atom, factor in atoms]
    passes: dict[tuple[int, int], list[_Sum]] = {}
    for one in sums:
        passes.setdefault((id(one.leaf.function), id(one.leaf.points)), []).append(one)
    for together in passes.values():
        leaf = together[0].leaf
        step = max(1, BLOCK // leaf.function.coefficients.size)
        for start in range(0, leaf.size, step):
            rows = slice(start, min(start + step, leaf.size))
            values = _values(leaf, rows)
            for one in together:
                one.add(rows, values)
    return [one.finished(linear, _columns(linear, one)) for one in sums]


def _values(leaf: Evaluation, rows: slice) -> Matrix:
    """K(X, Z) R at some points; kept for the next program where one block holds all, for so much is kept gladly."""
    if rows == slice(0, leaf.size):
        return known_features(leaf.function, leaf.points)
    return features(leaf.function, leaf.points[rows])


def _begun(atom: Atom, factor: float) -> _Sum:
    leaf = next(leaf for leaf, _ in atom.argument.terms if isinstance(leaf, Evaluation))
    C = next(c.value() for one, c in atom.argument.terms if one is leaf)
    others = [c.value().toarray() for one, c in atom.argument.terms if one is not leaf]
    rest = np.hstack(others) if others else np.zeros((atom.argument.size, 0))
    own = np.arange(C.shape[0])
    diagonal = C.shape[0] == C.shape[1] and np.array_equal(C.indices, own) and np.array_equal(C.indptr[:-1], own)
    return _Sum(atom, factor, leaf, C, rest, C.data if diagonal else None)


def _columns(linear: Linear, one: _Sum) -> npt.NDArray[np.intp]:
    """The program's columns behind theta: the coefficients, then the other variables in order."""
    held: list[Leaf] = [one.leaf.function.coefficients]
    held += [leaf for leaf, _ in one.atom.argument.terms if leaf is not one.leaf]
    return np.concatenate([linear.columns_of(leaf) for leaf in held])
