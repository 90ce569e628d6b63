"""Relaxation for the proof of a bound: affine minorants replace the atoms whose upper bound matters (epigraph).

For a convex atom phi with conjugate phi* and any slopes g,  phi(e) >= g'e - phi*(g).  Such a minorant replaces each
atom that has an epigraph in the original program. The program then has no non-polyhedral cones and no epigraph rows,
and its optimum is a lower bound on the optimum of the original program. A bound that follows from multipliers of the
declared rows is therefore proved with values and conjugates of atoms alone. It does not depend on how the epigraphs
were formulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.arguments import argument_directions, has_affine_argument
from milopt.compilation.entry_sides import ABOVE
from milopt.compilation.evaluation_form import EvaluationForm, LoweredBlock, Objective
from milopt.compilation.expansion import AtomEntries
from milopt.compilation.lowering import Lowering, block_without_epigraphs
from milopt.compilation.minorant import Minorant, slope_matrix
from milopt.compilation.rows import Rows
from milopt.cones import NONNEGATIVE, get_cone
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.sparse import absolute, as_csr, multiply, transpose

Minorants = dict[Atom, Minorant]
"""Minorants by atom."""


@dataclass(frozen=True)
class TermSizes:
    """Sums of the absolute terms that atoms add to the gradient of the Lagrangian, in which they may cancel."""

    columns: Vector
    """One sum per column."""
    points: list[Vector | None]
    """Per function, one sum per point; None if the function's squared norm has a positive weight in the objective."""

    def add(self, rows: Rows, weights: Vector) -> None:
        """Add the absolute coefficients of the rows, each row multiplied by its weight, to the sums in place."""
        for matrix, sizes in ((rows.A, self.columns), *zip(rows.E, self.points, strict=True)):
            if sizes is not None and matrix.nnz:
                sizes[: matrix.shape[1]] += transpose(absolute(matrix)) @ weights


class MinorantLowering(Lowering):
    """Lowering in which minorants also replace the atoms on their convex side, which otherwise have an epigraph.

    The object shares columns and points with `lowering`. `duals` are the multipliers of the declared rows by block, and
    `ridge` the weights of the squared norms of functions in the objective.
    """

    def __init__(
        self, lowering: Lowering, minorants: Minorants, duals: Mapping[str, Vector], ridge: Sequence[float]
    ) -> None:
        self.program, self.affine, self.other_side = lowering.program, lowering.affine, lowering.other_side
        self.minorants = minorants
        self.duals = duals
        self._expansions, self.inlined, self._uses = {}, {}, {}
        counts = zip(self.affine.point_counts, ridge, strict=True)
        points = [np.zeros(n) if weight <= 0 else None for n, weight in counts]
        self.sizes = TermSizes(np.zeros(self.affine.width), points)
        self._weights = np.ones(1)
        """Absolute multipliers of the rows to which `_slope_rows` adds an atom; (1,) for the objective."""

    def form(self, has_objective: bool = True) -> EvaluationForm:
        """Return the evaluation form of the relaxation, with at most one row per declared row and no auxiliary rows.

        Without an objective, its atoms do not count in `sizes` either.
        """
        objective = self.lower_objective() if has_objective else self._zero_objective()
        return self.assemble_without_auxiliary_rows(
            objective, [self.lower_block(name, c) for name, c in self.program.constraints.items()]
        )

    def _zero_objective(self) -> Objective:
        """Return the objective 0."""
        points = tuple(np.zeros(n) for n in self.affine.point_counts)
        return Objective(np.zeros(self.affine.width), points, (0.0,) * len(points), (), 0.0)

    def lower_block(self, name: str, constraint: Constraint) -> LoweredBlock:
        """Return the rows of one declared block, with minorants in place of atoms."""
        self._weights = np.abs(self.duals[name])
        return super().lower_block(name, constraint)

    def stays_quadratic(self, atom: Atom, coefficient: Coefficient) -> bool:
        """Return True if the atom becomes a squared term of the objective: if it is quadratic without inner atoms.

        A quadratic atom with inner atoms is replaced by a minorant, because the square of a lower bound of its argument
        need not be a lower bound of the square.
        """
        return atom.is_quadratic and has_affine_argument(atom)

    def _add_convex_side(self, rows: Rows, atom: Atom, coefficient: sp.csr_array) -> Rows:
        """Return rows + coefficient @ minorant of the atom."""
        if not coefficient.nnz:
            return rows
        added = self._minorant_rows(atom, coefficient, self.minorants[atom], ABOVE)
        width, points = self.affine.width, self.affine.point_counts
        return rows.widen(width, points).plus(added.widen(width, points))

    def _epigraph_block(self, name: str, rows: Rows, above: AtomEntries) -> LoweredBlock:
        """Return the block  rows + sum of coefficient @ minorant >= 0  over the pairs in `above`."""
        for atom, coefficient in above:
            rows = self._add_convex_side(rows, atom, coefficient)
        return block_without_epigraphs(name, NONNEGATIVE, rows)

    def _slope_rows(self, atom: Atom, coefficient: sp.csr_array, slopes: sp.csr_array, side: int) -> Rows:
        """Return slopes @ argument, and add the absolute values of its terms to `sizes`, before they can cancel."""
        outer = self._weights if self._weights.size == slopes.shape[0] else np.zeros(slopes.shape[0])
        if atom.function is not None:
            rows = super()._slope_rows(atom, coefficient, slopes, side)
            self.sizes.add(rows, outer)
            return rows
        magnitudes = absolute(slopes)
        if side == ABOVE and _has_vanishing_slopes(atom):
            magnitudes = as_csr(magnitudes.maximum(multiply(absolute(coefficient), _slopes_at_zero(atom))))
        weights = np.asarray(transpose(magnitudes) @ outer)
        is_affine = has_affine_argument(atom)
        self.sizes.add(
            self.affine.affine_argument(atom) if is_affine else self.affine.separate_atoms(atom.argument)[0], weights
        )
        if not is_affine:
            self._weights = weights[np.isin(atom.segments.run_of_entry, coefficient.indices)]
        rows = super()._slope_rows(atom, coefficient, slopes, side)
        self._weights = outer
        return rows


def _has_vanishing_slopes(atom: Atom) -> bool:
    """Return True if the slopes of an atom may tend to 0 without reaching 0: if its epigraph is not polyhedral."""
    return not all(get_cone(name).is_polyhedral for name in atom.cones)


def _slopes_at_zero(atom: Atom) -> sp.csr_array:
    """Return the absolute slopes of an atom, at most 1, at the point where all variables and functions are 0.

    If that point is not in the domain of the atom, the nearest point of the domain is used. The slopes are part of the
    scale with which residuals are compared, as the linear term of a quadratic is. Without them, the residual of a
    logistic loss whose optimum is at infinity would be compared with itself. Slopes are limited to 1, so that
    exp(800 + x) does not make every residual acceptable; so are infinite slopes at the edge of a domain.
    """
    at = atom.segments
    with np.errstate(all="ignore"):
        slopes = np.abs(atom.slopes(atom.nearest(_value_at_zero(atom.argument), at), at))
    return slope_matrix(atom, np.where(slopes < 1.0, slopes, 1.0))


def _value_at_zero(expression: Expression) -> Vector:
    """Return the value of an expression at the point where all variables and functions are 0."""

    def value(leaf: Leaf) -> Vector:
        if isinstance(leaf, Atom):
            is_norm = leaf.function is not None
            at_zero = np.zeros(leaf.segments.entry_count) if is_norm else _value_at_zero(leaf.argument)
            return leaf.value(at_zero, leaf.segments)
        return leaf.current_value() if leaf.is_parameter else np.zeros(leaf.size)

    return expression.evaluate(value)


def nearest_minorant(atom: Atom, raw: Vector) -> Minorant:
    """Return the minorant of an atom whose slopes are the nearest to `raw` with a finite conjugate (`Atom.conjugate`).

    `raw` has one number per entry of the argument. If the argument contains other atoms, a slope must have the sign in
    which the atom is monotone: otherwise a lower bound of an inner atom would not give a lower bound of the atom.
    Slopes of the wrong sign are replaced by 0, and the nearest slopes with a finite conjugate are computed again; if
    these have a wrong sign too, the constant of the minorant is -inf.
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
