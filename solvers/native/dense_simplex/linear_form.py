"""Adapter between a linear `StandardForm`, with milopt's changes to it, and the dense simplex method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO
from milopt.declaration.programs.sparse import row_slice
from milopt.solvers.native.dense_simplex.dense_simplex import DenseSimplex, SimplexVertex
from milopt.solving.engine import Change, ChangeKind


class LinearForm:
    """A linear `StandardForm` without integers and nonlinear cones, together with its simplex dictionary."""

    def __init__(self, form: StandardForm) -> None:
        self.form = form
        self._simplex = DenseSimplex(form.F.toarray(), form.g, _is_equality(form, 0), form.q, form.lower, form.upper)

    def apply(self, form: StandardForm, change: Change) -> bool:
        """Change to `form`, which differs from the current form by `change`.

        Returns True if the dictionary was updated, and False if the caller must build a new `LinearForm`.
        """
        before, self.form = self.form, form
        simplex, index = self._simplex, change.index
        if change.kind is ChangeKind.LINEAR:
            simplex.set_costs(form.q)
        elif change.kind is ChangeKind.OFFSET:
            simplex.set_offsets(form.g)
        elif change.kind is ChangeKind.ROWS_ADDED:
            rows = row_slice(form.F, before.m, form.m).toarray()
            simplex.add_rows(rows, form.g[before.m :], _is_equality(form, before.m))
        elif change.kind is ChangeKind.COLUMNS_ADDED:
            new = slice(before.n, form.n)
            simplex.add_columns(form.F[:, new].toarray(), form.q[new], form.lower[new], form.upper[new])
            simplex.set_costs(form.q)
        elif change.kind is ChangeKind.ROWS_REPLACED and index is not None and form.m == before.m:
            simplex.replace_rows(index, form.F[index].toarray(), form.g[index], _is_equality(form, 0)[index])
        elif change.kind is ChangeKind.ROWS_DELETED and index is not None:
            simplex.delete_rows(index)
        else:
            return False
        return True

    def solve(self, time_limit: float | None) -> SimplexVertex:
        """Run the simplex method from the last basis, for at most `time_limit` seconds (no limit if None)."""
        return self._simplex.solve(time_limit)


def _is_equality(form: StandardForm, start: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the equality rows, from row `start` on."""
    equality = np.zeros(form.m - start, dtype=bool)
    for block in reversed(form.rows):
        if block.stop <= start:
            break
        if block.cone is ZERO:
            equality[max(block.start - start, 0) : block.stop - start] = True
    return equality
