"""Declaring the columns of a file: one block of continuous variables and one of integer ones.

A program has a variable block for scale, not one variable per column; `labels` has the names of the columns, so that
`result.values["name"]` is the value of one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Mask, Vector
from milopt.declaration.programs.expression import Constraint, Expression, as_expression
from milopt.declaration.programs.program import Program

CONTINUOUS, INTEGER = "continuous", "integer"
"""Names of the variable blocks."""


class Columns:
    """The columns of a file as variables of a program."""

    def __init__(
        self, program: Program, lower: Vector, upper: Vector, integer: Mask, labels: Sequence[str] | None = None
    ) -> None:
        self._program = program
        self._blocks: list[tuple[Index, Expression]] = []
        for wanted, places in ((CONTINUOUS, np.flatnonzero(~integer)), (INTEGER, np.flatnonzero(integer))):
            if places.size:
                name = _unlike(wanted, labels or ())
                variable = program.variable(
                    name, places.size, lower=lower[places], upper=upper[places], integer=wanted == INTEGER
                )
                self._blocks.append((places, variable))
                if labels is not None:
                    program.labels[name] = tuple(labels[j] for j in places.tolist())

    def times(self, matrix: sp.csr_array) -> Expression:
        """Return matrix @ columns."""
        total = as_expression(np.zeros(matrix.shape[0]))
        wide = sp.csc_array(matrix)
        for places, variable in self._blocks:
            part = sp.csr_array(wide[:, places])
            part.eliminate_zeros()
            if part.nnz:
                total = total + part @ variable
        return total

    def cost(self, cost: Vector) -> Expression:
        """Return the sum of cost_j times column j."""
        total = as_expression(0.0)
        for places, variable in self._blocks:
            if cost[places].any():
                total = total + cost[places] @ variable
        return total

    def picked(self, places: Index) -> Expression:
        """Return these columns as a vector."""
        size = sum(block.size for block, _ in self._blocks)
        entries = (np.ones(places.size), (np.arange(places.size), places))
        return self.times(sp.csr_array(entries, shape=(places.size, size)))

    def subject_to(self, constraint: Constraint, wanted: str, labels: Sequence[str] | None = None) -> None:
        """Add a block of rows under the wanted name, or one like it if a row of the file has that name."""
        name = _unlike(wanted, labels or ())
        self._program.subject_to(constraint, name)
        if labels is not None:
            self._program.labels[name] = tuple(labels)


def _unlike(wanted: str, labels: Sequence[str]) -> str:
    """Return a name for a block that no entry has."""
    while wanted in labels:
        wanted += "_"
    return wanted
