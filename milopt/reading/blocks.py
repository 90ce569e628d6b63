"""Declaration of the columns of a file as two variable blocks, one continuous and one integer.

One block of variables is faster than many single variables. `program.labels` has the names of the columns in the file,
so that `result.values["name"]` is the value of a single column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Mask, Vector
from milopt.declaration.programs.expression import Constraint, Expression, as_expression
from milopt.declaration.programs.program import Program

CONTINUOUS_BLOCK, INTEGER_BLOCK = "continuous", "integer"
"""Names of the two variable blocks."""


class FileColumns:
    """Columns of a file, declared as one or two variable blocks of a program.

    `labels` are the names of the columns in the file, or None if the file has no names.
    """

    def __init__(
        self, program: Program, lower: Vector, upper: Vector, integer: Mask, labels: Sequence[str] | None = None
    ) -> None:
        self._program = program
        self._blocks: list[tuple[Index, Expression]] = []
        for wanted, places in ((CONTINUOUS_BLOCK, np.flatnonzero(~integer)), (INTEGER_BLOCK, np.flatnonzero(integer))):
            if places.size:
                name = _unused_name(wanted, labels or ())
                variable = program.variable(
                    name, places.size, lower=lower[places], upper=upper[places], integer=wanted == INTEGER_BLOCK
                )
                self._blocks.append((places, variable))
                if labels is not None:
                    program.labels[name] = tuple(labels[j] for j in places.tolist())

    def times(self, matrix: sp.csr_array) -> Expression:
        """Return the expression matrix @ x, where x are all columns in the order of the file."""
        total = as_expression(np.zeros(matrix.shape[0]))
        wide = sp.csc_array(matrix)
        for places, variable in self._blocks:
            part = sp.csr_array(wide[:, places])
            part.eliminate_zeros()
            if part.nnz:
                total = total + part @ variable
        return total

    def cost_expression(self, cost: Vector) -> Expression:
        """Return the expression sum_j cost_j x_j, where x_j is column j of the file."""
        total = as_expression(0.0)
        for places, variable in self._blocks:
            if cost[places].any():
                total = total + cost[places] @ variable
        return total

    def select(self, places: Index) -> Expression:
        """Return the vector expression x[places], where x are all columns in the order of the file."""
        size = sum(block.size for block, _ in self._blocks)
        entries = (np.ones(places.size), (np.arange(places.size), places))
        return self.times(sp.csr_array(entries, shape=(places.size, size)))

    def subject_to(self, constraint: Constraint, wanted: str, labels: Sequence[str] | None = None) -> None:
        """Add a constraint block with the name `wanted`, with underscores appended if a row of the block has this name.

        `labels` are the names of the rows of the block in the file, and are stored in `program.labels`. The names of
        other rows are not checked.
        """
        name = _unused_name(wanted, labels or ())
        self._program.subject_to(constraint, name)
        if labels is not None:
            self._program.labels[name] = tuple(labels)


def _unused_name(wanted: str, labels: Sequence[str]) -> str:
    """Return the wanted name, with underscores appended until it is not one of the `labels`."""
    while wanted in labels:
        wanted += "_"
    return wanted
