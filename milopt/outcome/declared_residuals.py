"""Objective and rows of the declared program at a point, evaluated from values and atoms.

The lowered form (cones, epigraph rows, roots of matrices) is not used, so an inexact lowering appears as a violated row
or as a worse objective. The check is one-sided: rows must hold, and the objective must not be worse than that of the
lowered form. An auxiliary column may be larger than its atom if its row is inactive, so the two are not compared.

In a step of an alternation, entries of atoms on their non-convex side have the values of their minorants. For a
maximum, the minorant is its value at the witness, the instance chosen for its bag; an open witness is not chosen yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Directions, Vector
from milopt.compilation.arguments import argument_directions, has_affine_argument
from milopt.compilation.entry_sides import ABOVE, BELOW
from milopt.compilation.lowering import Lowering
from milopt.compilation.streamed_squares import should_stream
from milopt.declaration.atoms.atom import Atom, SelectionAtom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import matvec, row_lengths
from milopt.outcome.certificate import DeclaredResiduals
from milopt.outcome.point_values import LeafValues


def declared_residuals(lowering: Lowering, values: LeafValues, lowered_objective: float) -> DeclaredResiduals:
    """Evaluate the declared rows and the declared objective at a point.

    `lowered_objective` is the objective of the lowered form. It is returned as the objective if the declared objective
    has no atoms, has a quadratic that is streamed (never stored as a whole), or has an open witness (the step is then a
    relaxation with bounds in place of maxima).
    """
    step = _StepValues(lowering, values)
    scaled, violation = 0.0, 0.0
    for constraint in lowering.program.constraints.values():
        if constraint.expression.has_atoms:
            # Rows without atoms are not changed by the lowering, so the residuals of the lowered form include them.
            rows, scale = step.rows_and_scales(constraint.expression)
            wrong = np.abs(rows) if constraint.equality else np.maximum(-rows, 0.0)
            # If an atom overflows, the row is infinite or NaN; its scaled violation must be infinite too.
            wrong = np.where(np.isfinite(wrong), wrong, np.inf)
            scale = np.where(np.isfinite(scale), np.maximum(scale, 1e-300), 1.0)
            scaled = max(scaled, float(np.max(wrong / scale, initial=0.0)))
            violation = max(violation, float(np.max(wrong, initial=0.0)))
    for atom, distance in step.domain_distances():
        scaled = max(scaled, float(np.max(distance / (1.0 + np.abs(atom.argument.constant)), initial=0.0)))
        violation = max(violation, float(np.max(distance, initial=0.0)))
    objective = step.objective()
    return DeclaredResiduals(scaled, violation, lowered_objective if objective is None else objective)


class _StepValues:
    """Values of declared expressions at a point, with the minorants of a convex step.

    An atom on its convex side is evaluated as declared, an atom on its non-convex side by its minorant. The argument of
    an atom is evaluated by the same rule, so atoms inside atoms may be replaced by minorants too.
    """

    def __init__(self, lowering: Lowering, values: LeafValues) -> None:
        self._lowering = lowering
        self._values = values

    def rows_and_scales(self, expression: Expression) -> tuple[Vector, Vector]:
        """Return (values, scales) of rows `expression >= 0`; a scale is the unit + the largest constant or atom term.

        The unit is the largest coefficient or the largest term, but at most 1. Rows with an open witness are not part
        of the step, and their value counts as 0.
        """
        total, scale = expression.constant.copy(), np.abs(expression.constant)
        unit = np.zeros(total.size)
        kept = np.ones(total.size, dtype=bool)
        for leaf, coefficient in expression.terms:
            if isinstance(leaf, Atom):
                part = self._atom_term(leaf, coefficient, BELOW)
                is_open = self._lowering.other_side.open_entries(leaf)
                if is_open.any():
                    below = self._lowering.other_side.split_by_side(leaf, coefficient, BELOW).below
                    left_out = is_open[below.indices] & (below.data != 0)
                    kept[np.repeat(np.arange(kept.size), row_lengths(below))[left_out]] = False
                scale = np.maximum(scale, np.abs(part))
                scale = np.maximum(scale, self._cancelling_sizes(leaf, coefficient))
            else:
                part = matvec(coefficient.value(), self._values.leaf_values(leaf))
            total += part
            unit = np.maximum(unit, np.maximum(np.abs(part), _largest_entries(coefficient)))
        return np.where(kept, total, 0.0), np.where(unit > 0, np.minimum(unit, 1.0), 1.0) + scale

    def objective(self) -> float | None:
        """Return the objective as a minimisation; None if the objective of the lowered form should be used."""
        expression = self._lowering.program.minimized_objective()
        atoms = [leaf for leaf, _ in expression.terms if isinstance(leaf, Atom)]
        streamed = any(atom.is_quadratic and atom.function is None and should_stream(atom) for atom in atoms)
        open_ = any(self._lowering.other_side.open_entries(atom).any() for atom in atoms)
        if not atoms or streamed or open_:
            return None
        total = float(expression.constant[0])
        for leaf, coefficient in expression.terms:
            if isinstance(leaf, Atom) and not (leaf.is_quadratic and has_affine_argument(leaf)):
                total += float(self._atom_term(leaf, coefficient, ABOVE)[0])
            else:
                total += float(matvec(coefficient.value(), self._values.leaf_values(leaf))[0])
        return total

    def domain_distances(self) -> Iterator[tuple[Atom, Vector]]:
        """Yield each atom with a restricted domain, and the distance of each entry of its argument from the domain."""
        program = self._lowering.program
        rows = [constraint.expression for constraint in program.constraints.values() if constraint.expression.has_atoms]
        expressions = [program.minimized_objective(), *rows]
        with_domain = (
            atom
            for expression in expressions
            for atom in _occurring_atoms(expression)
            if atom.function is None and type(atom).nearest is not Atom.nearest
        )
        for atom in dict.fromkeys(with_domain):
            e = self._values.argument_values(atom)
            yield atom, np.abs(e - atom.nearest(e, atom.segments))

    def _atom_term(self, atom: Atom, coefficient: Coefficient, direction: int | Directions) -> Vector:
        """Return coefficient @ atom in the step: the atom on its convex side, its minorant on its non-convex side.

        `direction` (ABOVE or BELOW, or one per entry): from which side the expression with this term is estimated. It
        decides, with the sign of each coefficient, on which side an entry of the atom is.
        """
        both = self._lowering.other_side.split_by_side(atom, coefficient, direction)
        total = np.zeros(both.above.shape[0])
        if both.above.nnz:
            total += both.above @ self._convex_side_values(atom, both.above.indices)
        if both.below.nnz:
            total += both.below @ self._nonconvex_side_values(atom, both.below.indices)
        return total

    def _convex_side_values(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> Vector:
        """Return the values of an atom on its convex side.

        `entries`: indices of the values that the caller uses; the others may be wrong.
        """
        if has_affine_argument(atom):
            return self._values.atom_values(atom)
        return atom.value(self._argument_values(atom, ABOVE, entries), atom.segments)

    def _nonconvex_side_values(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> Vector:
        """Return the values of the minorant or the expression that replaces an atom on its non-convex side.

        `entries`: indices of the values that the caller uses; the others may be wrong.
        """
        chosen = self._lowering.other_side.stand_in_of(atom)
        if isinstance(chosen, Expression):
            return self._values.value(chosen)
        if atom.function is not None:
            return np.asarray(chosen.slopes @ self._values.norm_vector(atom.function) + chosen.constants)
        return np.asarray(chosen.slopes @ self._argument_values(atom, BELOW, entries) + chosen.constants)

    def _argument_values(self, atom: Atom, side: int, entries: npt.NDArray[np.integer[Any]]) -> Vector:
        """Return the values of the argument of an atom, in which inner atoms may be replaced by minorants.

        `side`: ABOVE if the atom is on its convex side, BELOW if it is on its non-convex side. `entries`: indices of
        the entries of the atom that are needed. Inner atoms that none of these entries depends on count as 0.
        """
        if has_affine_argument(atom):
            return self._values.argument_values(atom)
        directions = (argument_directions(atom, side) * np.isin(atom.segments.run_of_entry, entries)).astype(np.int8)
        total = atom.argument.constant.copy()
        for leaf, coefficient in atom.argument.terms:
            if isinstance(leaf, Atom):
                total += self._atom_term(leaf, coefficient, directions)
            else:
                total += matvec(coefficient.value(), self._values.leaf_values(leaf))
        return total

    def _cancelling_sizes(self, atom: Atom, coefficient: Coefficient) -> Vector:
        """Return |coefficient @ c|, where c is the largest absolute constant inside each entry of the atom.

        Numbers of this size cancel in the value of the atom. Return 0 for maxima, quadratics and atoms of functions.
        """
        if atom.function is not None or isinstance(atom, SelectionAtom) or atom.is_quadratic:
            return np.zeros(coefficient.matrix.shape[0])
        offset = atom.segments.max(np.abs(atom.argument.constant)) if atom.segments.entry_count else np.zeros(atom.size)
        return np.abs(matvec(coefficient.value(), offset))


def _occurring_atoms(expression: Expression) -> Iterator[Atom]:
    """Yield the atoms of an expression with a non-zero coefficient, and the atoms inside them."""
    if not expression.has_atoms:
        return
    for leaf, coefficient in expression.terms:
        if isinstance(leaf, Atom) and coefficient.value().count_nonzero():
            yield leaf
            if leaf.function is None:
                yield from _occurring_atoms(leaf.argument)


def _largest_entries(coefficient: Coefficient) -> Vector:
    """Return the largest absolute entry of each row of a coefficient; 0 for a row without entries."""
    matrix = coefficient.value()
    largest, met = np.zeros(matrix.shape[0]), np.flatnonzero(row_lengths(matrix))
    if met.size:
        largest[met] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[met])
    return largest
