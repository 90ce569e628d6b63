"""The declared program at a point: its objective and every declared row, evaluated from values and atoms.

The lowered form (cones, epigraph rows, roots of matrices) is not used, so an inexact lowering shows as a violated row
or as a worse objective. The check is one-sided: rows must hold, and the objective must not be worse than the lowered
form claims. A column behind an atom may be larger than the atom's value where its row is idle: they are not compared.

In a step of an alternation, entries of atoms on their other side have the values of their minorants, which are the
witnesses of maxima.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt.arrays import Vector
from milopt.compilation.arguments import Directions, argument_directions, has_affine_argument
from milopt.compilation.entry_sides import ABOVE, BELOW
from milopt.compilation.lowering import Lowering
from milopt.compilation.streamed import is_large
from milopt.declaration.atoms.atom import Atom, Selecting
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.sparse import row_lengths, times
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
        if constraint.expression.has_atoms:
            # Rows without atoms are lowered as they are, and the lowered form's own residuals speak of them.
            rows, scale = step.rows(constraint.expression)
            wrong = np.abs(rows) if constraint.equality else np.maximum(-rows, 0.0)
            # Atoms that overflow make a row infinite or NaN, which no scale makes small.
            wrong = np.where(np.isfinite(wrong), wrong, np.inf)
            scale = np.where(np.isfinite(scale), np.maximum(scale, 1e-300), 1.0)
            scaled = max(scaled, float(np.max(wrong / scale, initial=0.0)))
            violation = max(violation, float(np.max(wrong, initial=0.0)))
    for atom, distance in step.outside_domains():
        scaled = max(scaled, float(np.max(distance / (1.0 + np.abs(atom.argument.constant)), initial=0.0)))
        violation = max(violation, float(np.max(distance, initial=0.0)))
    objective = step.objective()
    return DeclaredResiduals(scaled, violation, lowered_objective if objective is None else objective)


class _Step:
    """Declared expressions at a point, with the minorants of a step.

    An atom on its convex side is evaluated as declared, one on its other side by the minorant that stands for it. Both
    have the step's own value of their argument: an atom inside another one is evaluated in the same way.
    """

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
            if isinstance(leaf, Atom):
                part = self._atom(leaf, coefficient, BELOW)
                is_open = self._lowering.other_side.is_open(leaf)
                if is_open.any():
                    below = self._lowering.other_side.halves(leaf, coefficient, BELOW).below
                    left_out = is_open[below.indices] & (below.data != 0)
                    kept[np.repeat(np.arange(kept.size), row_lengths(below))[left_out]] = False
                scale = np.maximum(scale, np.abs(part))
                scale = np.maximum(scale, self._offsets(leaf, coefficient))
            else:
                part = times(coefficient.value(), self._values.leaf(leaf))
            total += part
            unit = np.maximum(unit, np.maximum(np.abs(part), _largest_entries(coefficient)))
        return np.where(kept, total, 0.0), np.where(unit > 0, np.minimum(unit, 1.0), 1.0) + scale

    def objective(self) -> float | None:
        """Return the objective as a minimisation; None if the lowered form's own is to be used."""
        expression = self._lowering.program.minimized()
        atoms = [leaf for leaf, _ in expression.terms if isinstance(leaf, Atom)]
        streamed = any(atom.is_quadratic and atom.function is None and is_large(atom) for atom in atoms)
        open_ = any(self._lowering.other_side.is_open(atom).any() for atom in atoms)
        if not atoms or streamed or open_:
            return None
        total = float(expression.constant[0])
        for leaf, coefficient in expression.terms:
            if isinstance(leaf, Atom) and not (leaf.is_quadratic and has_affine_argument(leaf)):
                total += float(self._atom(leaf, coefficient, ABOVE)[0])
            else:
                total += float(times(coefficient.value(), self._values.leaf(leaf))[0])
        return total

    def outside_domains(self) -> Iterator[tuple[Atom, Vector]]:
        """Yield each atom with a domain, and how far each entry of its argument is from the domain."""
        program = self._lowering.program
        rows = [constraint.expression for constraint in program.constraints.values() if constraint.expression.has_atoms]
        expressions = [program.minimized(), *rows]
        with_domain = (
            atom
            for expression in expressions
            for atom in _occurring_atoms(expression)
            if atom.function is None and type(atom).nearest is not Atom.nearest
        )
        for atom in dict.fromkeys(with_domain):
            e = self._values.inner(atom)
            yield atom, np.abs(e - atom.nearest(e, atom.segments))

    def _atom(self, atom: Atom, coefficient: Coefficient, direction: int | Directions) -> Vector:
        """Return coefficient @ atom, for an expression that is estimated in a direction."""
        both = self._lowering.other_side.halves(atom, coefficient, direction)
        total = np.zeros(both.above.shape[0])
        if both.above.nnz:
            total += both.above @ self._above(atom, both.above.indices)
        if both.below.nnz:
            total += both.below @ self._below(atom, both.below.indices)
        return total

    def _above(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> Vector:
        """Return an atom on its convex side; only these entries count."""
        if has_affine_argument(atom):
            return self._values.atom(atom)
        return atom.value(self._argument(atom, ABOVE, entries), atom.segments)

    def _below(self, atom: Atom, entries: npt.NDArray[np.integer[Any]]) -> Vector:
        """Return what stands for an atom on its other side; only these entries count."""
        chosen = self._lowering.other_side.of(atom)
        if isinstance(chosen, Expression):
            return self._values.value(chosen)
        if atom.function is not None:
            return np.asarray(chosen.slopes @ self._values.function_values(atom.function) + chosen.constants)
        return np.asarray(chosen.slopes @ self._argument(atom, BELOW, entries) + chosen.constants)

    def _argument(self, atom: Atom, side: int, entries: npt.NDArray[np.integer[Any]]) -> Vector:
        """Return the argument of an atom, without the atoms inside that only other entries read."""
        if has_affine_argument(atom):
            return self._values.inner(atom)
        directions = (argument_directions(atom, side) * np.isin(atom.segments.of, entries)).astype(np.int8)
        total = atom.argument.constant.copy()
        for leaf, coefficient in atom.argument.terms:
            if isinstance(leaf, Atom):
                total += self._atom(leaf, coefficient, directions)
            else:
                total += times(coefficient.value(), self._values.leaf(leaf))
        return total

    def _offsets(self, atom: Atom, coefficient: Coefficient) -> Vector:
        """Return how large the constants inside an atom are: numbers of this size cancel in its value."""
        if atom.function is not None or isinstance(atom, Selecting) or atom.is_quadratic:
            return np.zeros(coefficient.matrix.shape[0])
        offset = atom.segments.max(np.abs(atom.argument.constant)) if atom.segments.total else np.zeros(atom.size)
        return np.abs(times(coefficient.value(), offset))


def _occurring_atoms(expression: Expression) -> Iterator[Atom]:
    """Yield the atoms of an expression that are not times 0, and those inside them."""
    if not expression.has_atoms:
        return
    for leaf, coefficient in expression.terms:
        if isinstance(leaf, Atom) and coefficient.value().count_nonzero():
            yield leaf
            if leaf.function is None:
                yield from _occurring_atoms(leaf.argument)


def _largest_entries(coefficient: Coefficient) -> Vector:
    """Return the largest absolute entry of each row of a coefficient."""
    matrix = coefficient.value()
    largest, met = np.zeros(matrix.shape[0]), np.flatnonzero(row_lengths(matrix))
    if met.size:
        largest[met] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[met])
    return largest
