"""The relaxation that proves a bound: every atom on its convex side is replaced by an affine function below it.

For any slopes g' of a minorant, phi(e) >= g'e - phi*(g'). A program in which each atom on its convex side is replaced
by such a function has no cones and no rows of an epigraph, and its optimum is a lower bound of the program's. Its bound
at multipliers of the declared rows is therefore proved by values and conjugates alone, whatever the epigraph said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.arguments import argument_directions, has_affine_argument
from milopt.compilation.entry_sides import ABOVE
from milopt.compilation.evaluation_form import Block, EvaluationForm
from milopt.compilation.expansion import Entries
from milopt.compilation.lowering import Lowering, plain
from milopt.compilation.minorant import Minorant, slope_matrix
from milopt.compilation.rows import Rows
from milopt.cones import NONNEGATIVE, cone_named
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.sparse import absolute, csr, product, transposed

Supports = dict[Atom, Minorant]


@dataclass(frozen=True)
class TermSizes:
    """The sums of the absolute terms that atoms add to the gradient of the Lagrangian; the terms may cancel."""

    columns: Vector
    points: list[Vector | None]
    """Per function, one number per point; None for a function whose square is in the objective."""

    def add(self, rows: Rows, weights: Vector) -> None:
        """Add the absolute entries of rows, times weights."""
        for matrix, sizes in ((rows.A, self.columns), *zip(rows.E, self.points, strict=True)):
            if sizes is not None and matrix.nnz:
                sizes[: matrix.shape[1]] += transposed(absolute(matrix)) @ weights


class SupportedLowering(Lowering):
    """Lowers a program with minorants in place of atoms on their convex side too; columns and points are shared."""

    def __init__(
        self, lowering: Lowering, supports: Supports, duals: Mapping[str, Vector], ridge: Sequence[float]
    ) -> None:
        self.program, self.linear, self.other_side = lowering.program, lowering.linear, lowering.other_side
        self.supports = supports
        self.duals = duals
        self._expansions, self.inlined, self._uses = {}, {}, {}
        counts = zip(self.linear.point_counts, ridge, strict=True)
        points = [np.zeros(n) if weight <= 0 else None for n, weight in counts]
        self.sizes = TermSizes(np.zeros(self.linear.width), points)
        self._weights = np.ones(1)
        """Absolute multipliers of the rows to which an atom is being added."""

    def form(self) -> EvaluationForm:
        """Everything, with one row per declared row."""
        objective = self.objective()
        return self.assemble_blocks(objective, [self.block(name, c) for name, c in self.program.constraints.items()])

    def block(self, name: str, constraint: Constraint) -> Block:
        """The rows of one declared block, with minorants in place of atoms."""
        self._weights = np.abs(self.duals[name])
        return super().block(name, constraint)

    def keeps_quadratic(self, atom: Atom, coefficient: Coefficient) -> bool:
        """Return True if the objective keeps an atom: a square of a lower bound need not be below the square."""
        return atom.is_quadratic and has_affine_argument(atom)

    def _above(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        if not coefficient.nnz:
            return rows
        added = self._minorant_rows(atom, coefficient, self.supports[atom], ABOVE)
        width, points = self.linear.width, self.linear.point_counts
        return rows.widened(width, points).plus(added.widened(width, points))

    def _epigraph_block(self, name: str, rows: Rows, above: Entries) -> Block:
        for atom, coefficient in above:
            rows = self._above(rows, atom, coefficient)
        return plain(name, NONNEGATIVE, rows)

    def _slope_rows(self, atom: Atom, coefficient: sp.csr_array, slopes: sp.csr_array, side: int) -> Rows:
        """Return slopes @ argument; add the size of each of its terms, before terms of several entries cancel."""
        outer = self._weights if self._weights.size == slopes.shape[0] else np.zeros(slopes.shape[0])
        if atom.function is not None:
            rows = super()._slope_rows(atom, coefficient, slopes, side)
            self.sizes.add(rows, outer)
            return rows
        magnitudes = absolute(slopes)
        if side == ABOVE and _may_flatten(atom):
            magnitudes = csr(magnitudes.maximum(product(absolute(coefficient), _slopes_at_zero(atom))))
        weights = np.asarray(transposed(magnitudes) @ outer)
        is_affine = has_affine_argument(atom)
        self.sizes.add(self.linear.inner(atom) if is_affine else self.linear.split(atom.argument)[0], weights)
        if not is_affine:
            self._weights = weights[np.isin(atom.segments.of, coefficient.indices)]
        rows = super()._slope_rows(atom, coefficient, slopes, side)
        self._weights = outer
        return rows


def _may_flatten(atom: Atom) -> bool:
    """Return True if the slopes of an atom may tend to 0 without reaching it: its epigraph is not polyhedral."""
    return not all(cone_named(name).is_polyhedral for name in atom.cones)


def _slopes_at_zero(atom: Atom) -> sp.csr_array:
    """Return the absolute slopes of an atom where all variables and functions are 0, or nearest to it in the domain.

    They count in the scale of residuals as the linear term of a quadratic does. Without them, the residual of a
    logistic loss at an optimum at infinity would be compared with itself. A slope counts as at most 1, so that
    exp(800 + x) does not admit every residual; so does an infinite slope at the edge of a domain.
    """
    at = atom.segments
    with np.errstate(all="ignore"):
        slopes = np.abs(atom.slopes(atom.nearest(_at_zero(atom.argument), at), at))
    return slope_matrix(atom, np.where(slopes < 1.0, slopes, 1.0))


def _at_zero(expression: Expression) -> Vector:
    """Return the value of an expression where all variables and functions are 0."""

    def value(leaf: Leaf) -> Vector:
        if isinstance(leaf, Atom):
            at_zero = np.zeros(leaf.segments.total) if leaf.function is not None else _at_zero(leaf.argument)
            return leaf.value(at_zero, leaf.segments)
        return leaf.current() if leaf.is_parameter else np.zeros(leaf.size)

    return expression.evaluated(value)


def support(atom: Atom, raw: Vector) -> Minorant:
    """Return the minorant of an atom with the slopes nearest to `raw`, one number per entry of the argument.

    Where another atom stands inside, slopes must have the sign in which the atom is monotone: what is below the inner
    atom would otherwise be above the outer one.
    """
    at = atom.segments
    g, conjugate = atom.conjugate(raw, at)
    if not has_affine_argument(atom):
        directions = argument_directions(atom, ABOVE)
        wrong = g * directions < 0
        if wrong.any():
            g, conjugate = atom.conjugate(np.where(wrong, 0.0, g), at)
            conjugate = np.where(at.sum((g * directions < 0).astype(np.float64)) > 0, np.inf, conjugate)
    return Minorant(slope_matrix(atom, g), -conjugate)
