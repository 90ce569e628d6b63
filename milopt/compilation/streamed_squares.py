"""Squares over very many points, summed block by block, so that memory grows with the number of columns, not points.

    1/2 r'Wr,  r = U theta + h   =   1/2 theta'(U'WU)theta + (U'Wh)'theta + 1/2 h'Wh

Here r is the sum of C f(X), for a function f with a dictionary Z at the points X and a matrix C, and of terms with
other variables. theta are the coefficients of f, followed by the other variables, so that U = [C K(X, Z), ...].
K(X, Z) is computed one block of rows at a time and never stored as a whole; all squares over the same points share one
pass over the points. C is either diagonal (one row of r per point) or combines points in fewer rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Matrix, Vector
from milopt.compilation.affine_lowering import AffineLowering, cached_dictionary_features, dictionary_features
from milopt.compilation.evaluation_form import SquaredTerm
from milopt.compilation.rows import Rows, unit_rows
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.expression import Leaf
from milopt.declaration.programs.leaves import FunctionEvaluation, Variable

MAX_STORED_ENTRIES = 250_000
"""Largest number of entries of K(X, Z) for which the whole matrix is stored and the square is not streamed."""
MAX_BLOCK_ENTRIES = 2**22
"""Largest number of entries of one block of rows of K(X, Z), unless a single row has more."""


@dataclass(frozen=True)
class StreamedSquare:
    """Square 1/2 r'Wr as a function of theta (see the module docstring): its quadratic and its affine part."""

    square: SquaredTerm
    """The term 1/2 theta'(U'WU)theta."""
    linear: Rows
    """One row: (U'Wh)'theta + 1/2 h'Wh."""


def should_stream(atom: Atom) -> bool:
    """Return True if an atom is a square with a diagonal weight whose matrix K(X, Z) is too large to store.

    The argument of the atom must contain exactly one function evaluation, of a function with a dictionary, and
    otherwise only variables.
    """
    if atom.diagonal is None:
        return False
    evaluations = [leaf for leaf, _ in atom.argument.terms if isinstance(leaf, FunctionEvaluation)]
    plain = all(isinstance(leaf, (Variable, FunctionEvaluation)) for leaf, _ in atom.argument.terms)
    if len(evaluations) != 1 or not plain or evaluations[0].function.dictionary is None:
        return False
    return evaluations[0].size * evaluations[0].function.coefficients.size > MAX_STORED_ENTRIES


@dataclass
class _StreamedSum:
    """Running sums for one square over blocks of points (see the module docstring for the symbols)."""

    atom: Atom
    factor: float
    """Factor of the weights: W is this factor times `Atom.diagonal`."""
    leaf: FunctionEvaluation
    """The function values f(X) in the square."""
    C: sp.csr_array
    """Coefficient C of the function values in the argument r of the atom."""
    other_columns: Matrix
    """Columns of U that belong to the other variables, as a dense matrix, because there are few such columns."""
    pointwise: Vector | None
    """Diagonal of C; None if C is not diagonal."""
    gram: Matrix = field(init=False)
    """U'WU summed so far."""
    linear_term: Vector = field(init=False)
    """U'Wh summed so far."""
    constant: float = 0.0
    """1/2 h'Wh summed so far."""
    totals: Matrix | None = field(init=False)
    """C K(X, Z) summed so far; None if C is diagonal."""

    def __post_init__(self) -> None:
        size = self.leaf.function.coefficients.size + self.other_columns.shape[1]
        self.gram, self.linear_term = np.zeros((size, size)), np.zeros(size)
        self.totals = (
            None if self.pointwise is not None else np.zeros((self.C.shape[0], size - self.other_columns.shape[1]))
        )

    def add(self, rows: slice, values: Matrix) -> None:
        """Add the block `values` of K(X, Z), whose rows belong to the points in the slice `rows`."""
        if self.totals is not None:
            self.totals += self.C[:, rows] @ values
            return
        assert self.pointwise is not None
        weight = self.atom.diagonal
        assert weight is not None
        self._add_rows(np.hstack([self.pointwise[rows, None] * values, self.other_columns[rows]]), weight[rows], rows)

    def _add_rows(self, U: Matrix, given: Vector, rows: slice) -> None:
        """Add some rows U of r = U theta + h to the sums U'WU, U'Wh and 1/2 h'Wh.

        `given` contains the atom's own weight of each row, which is multiplied by `factor`. `rows` are the positions of
        these rows in r.
        """
        weight, h = self.factor * given, self.atom.argument.constant[rows]
        one_sign = (weight >= 0).all() or (weight <= 0).all()
        if one_sign:
            # The product of a matrix with its own transpose takes half the work of a general product.
            half = U * np.sqrt(np.abs(weight))[:, None]
            product = half.T @ half
            self.gram += product if weight.max(initial=0.0) > 0 else -product
        else:
            self.gram += U.T @ (weight[:, None] * U)
        self.linear_term += U.T @ (weight * h)
        self.constant += 0.5 * float(weight @ h**2)

    def finish(self, linear: AffineLowering, columns: npt.NDArray[np.intp]) -> StreamedSquare:
        """Return the streamed square over the columns of the program; columns[k] is the column of entry k of theta."""
        if self.totals is not None:
            weight = self.atom.diagonal
            assert weight is not None
            self._add_rows(np.hstack([self.totals, self.other_columns]), weight, slice(None))
        q = np.zeros(linear.width)
        np.add.at(q, columns, self.linear_term)
        empty = tuple(sp.csr_array((1, n)) for n in linear.point_counts)
        return StreamedSquare(
            SquaredTerm(unit_rows(columns, linear.width, linear.point_counts), self.gram, self.atom.describe()),
            Rows(sp.csr_array(q[None, :]), empty, np.array([self.constant])),
        )


def stream_squares(linear: AffineLowering, atoms: Sequence[tuple[Atom, float]]) -> list[StreamedSquare]:
    """Return the streamed square 1/2 factor * r'Dr of each pair (atom, factor), where r'Dr is the atom.

    Squares with the same function and the same array of points are summed in one pass.
    """
    sums = [_start_sum(atom, factor) for atom, factor in atoms]
    passes: dict[tuple[int, int], list[_StreamedSum]] = {}
    for running_sum in sums:
        passes.setdefault((id(running_sum.leaf.function), id(running_sum.leaf.points)), []).append(running_sum)
    for together in passes.values():
        leaf = together[0].leaf
        step = max(1, MAX_BLOCK_ENTRIES // leaf.function.coefficients.size)
        for start in range(0, leaf.size, step):
            rows = slice(start, min(start + step, leaf.size))
            values = _feature_values(leaf, rows)
            for running_sum in together:
                running_sum.add(rows, values)
    return [running_sum.finish(linear, _map_theta_to_columns(linear, running_sum)) for running_sum in sums]


def _feature_values(leaf: FunctionEvaluation, rows: slice) -> Matrix:
    """Return K(X, Z) for the points in the slice `rows`; cache it for other programs if these are all points."""
    if rows == slice(0, leaf.size):
        return cached_dictionary_features(leaf.function, leaf.points)
    return dictionary_features(leaf.function, leaf.points[rows])


def _start_sum(atom: Atom, factor: float) -> _StreamedSum:
    """Return the running sums for the square of an atom, before any points are added."""
    leaf = next(leaf for leaf, _ in atom.argument.terms if isinstance(leaf, FunctionEvaluation))
    C = next(c.value() for other, c in atom.argument.terms if other is leaf)
    others = [c.value().toarray() for other, c in atom.argument.terms if other is not leaf]
    other_columns = np.hstack(others) if others else np.zeros((atom.argument.size, 0))
    own = np.arange(C.shape[0])
    diagonal = C.shape[0] == C.shape[1] and np.array_equal(C.indices, own) and np.array_equal(C.indptr[:-1], own)
    return _StreamedSum(atom, factor, leaf, C, other_columns, C.data if diagonal else None)


def _map_theta_to_columns(linear: AffineLowering, running_sum: _StreamedSum) -> npt.NDArray[np.intp]:
    """Return the column of each entry of theta (coefficients of the function, then the other variables)."""
    held: list[Leaf] = [running_sum.leaf.function.coefficients]
    held += [leaf for leaf, _ in running_sum.atom.argument.terms if leaf is not running_sum.leaf]
    return np.concatenate([linear.columns_of(leaf) for leaf in held])
