"""The declared program at a point: its objective and every declared row, evaluated from values and atoms.

The lowered form (cones, epigraph rows, roots of matrices) is not used, so an inexact lowering shows as a violated row
or as a worse objective. The check is one-sided: rows must hold, and the objective must not be worse than the lowered
form claims. A column behind an atom may be larger than the atom's value where its row is idle: they are not compared.

In a step of an alternation, entries of maxima on their other side have the values of their witnesses.
"""

from __future__ import annotations

import numpy as np

from milopt.compilation.lowering import Lowering
from milopt.compilation.quadratic import Vector
from milopt.compilation.streamed import is_large
from milopt.declaration.coefficient import Coefficient
from milopt.declaration.expression import Expression
from milopt.declaration.leaves import Atom, BagMax, Norm, Norm1, QuadForm
from milopt.declaration.sparse import times
from milopt.outcome.certificate import DeclaredResiduals
from milopt.outcome.point_values import LeafValues


def declared_residuals(lowering: Lowering, values: LeafValues, lowered_objective: float) -> DeclaredResiduals:
    """Evaluate the declared rows and the declared objective at a point.

    `lowered_objective` is the objective of the lowered form. It is kept if no atom of the objective is lowered through
    columns, or if a witness in the objective is open (a relaxation, whose objective has bounds in place of maxima).
    """
    step = _Step(lowering, values)
    scaled, violation = 0.0, 0.0
    for constraint in lowering.program.constraints.values():
        if any(isinstance(leaf, Atom) for leaf, _ in constraint.expression.terms):
            # Rows without atoms are lowered as they are, and the lowered form's own residuals speak of them.
            rows, scale = step.rows(constraint.expression)
            wrong = np.abs(rows) if constraint.equality else np.maximum(-rows, 0.0)
            scaled = max(scaled, float(np.max(wrong / np.maximum(scale, 1e-300), initial=0.0)))
            violation = max(violation, float(np.max(wrong, initial=0.0)))
    objective = step.objective()
    return DeclaredResiduals(scaled, violation, lowered_objective if objective is None else objective)


class _Step:
    """Declared expressions at a point, with the witnesses of a step."""

    def __init__(self, lowering: Lowering, values: LeafValues) -> None:
        self._lowering = lowering
        self._values = values

    def rows(self, expression: Expression) -> tuple[Vector, Vector]:
        """Return the entries of `expression >= 0`, and the scale of each: its unit + the largest number added up in it.

        The unit is the largest coefficient or the largest number, but at most 1.

        Entries with an open witness are not in the step: they count as 0.
        """
        total, scale = expression.constant.copy(), np.abs(expression.constant)
        unit = np.zeros(total.size)
        kept = np.ones(total.size, dtype=bool)
        for leaf, coefficient in expression.terms:
            if isinstance(leaf, BagMax):
                part = self._maximum(leaf, coefficient, convex_sign=-1)
                needed, _ = self._lowering.maxima.sides(coefficient, convex_sign=-1)
                is_open = self._lowering.maxima.released(leaf)[needed.indices] & (needed.data != 0)
                kept[np.repeat(np.arange(kept.size), np.diff(needed.indptr))[is_open]] = False
            else:
                part = times(coefficient.value(), self._values.leaf(leaf))
            total += part
            unit = np.maximum(unit, np.maximum(np.abs(part), _largest_entries(coefficient)))
            if isinstance(leaf, Atom):
                scale = np.maximum(scale, np.abs(part))
            if isinstance(leaf, (Norm, Norm1)):
                offset = float(np.max(np.abs(leaf.inner.constant), initial=0.0))
                scale = np.maximum(scale, np.abs(times(coefficient.value(), np.array([offset]))))
        return np.where(kept, total, 0.0), np.where(unit > 0, np.minimum(unit, 1.0), 1.0) + scale

    def objective(self) -> float | None:
        """Return the objective as a minimisation; None if the lowered form's own is to be used."""
        expression = self._lowering.program.minimized()
        atoms = [(leaf, coefficient) for leaf, coefficient in expression.terms if isinstance(leaf, Atom)]
        streamed = any(isinstance(atom, QuadForm) and is_large(atom) for atom, _ in atoms)
        open_ = any(self._lowering.maxima.released(atom).any() for atom, _ in atoms if isinstance(atom, BagMax))
        if not atoms or streamed or open_:
            return None
        total = float(expression.constant[0])
        for leaf, coefficient in expression.terms:
            if isinstance(leaf, BagMax):
                total += float(self._maximum(leaf, coefficient, convex_sign=+1)[0])
            else:
                total += float(times(coefficient.value(), self._values.leaf(leaf))[0])
        return total

    def _maximum(self, atom: BagMax, coefficient: Coefficient, convex_sign: int) -> Vector:
        """Return coefficient @ maxima, with the values of witnesses where the coefficient needs them."""
        needed, convex = self._lowering.maxima.sides(coefficient, convex_sign)
        inner = self._values.inner(atom)
        total = np.asarray(convex @ atom.over.max(inner))
        if needed.nnz:
            chosen = self._lowering.maxima.stand_in(atom)
            value = self._values.value(chosen) if isinstance(chosen, Expression) else chosen @ inner
            total = total + needed @ value
        return total


def _largest_entries(coefficient: Coefficient) -> Vector:
    """Return the largest absolute entry of each row of a coefficient."""
    matrix = coefficient.value()
    largest, met = np.zeros(matrix.shape[0]), np.flatnonzero(np.diff(matrix.indptr))
    if met.size:
        largest[met] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[met])
    return largest
