"""A linear flat program inside the dense simplex method, and milopt's changes to it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO
from milopt.declaration.programs.sparse import between
from milopt.solvers.native.dense_simplex.dense_simplex import DenseSimplex, Vertex
from milopt.solving.engine import Change, What


class LinearForm:
    """A form without curvature, integers or second-order cones, and its dictionary."""

    def __init__(self, form: StandardForm) -> None:
        self.form = form
        self._simplex = DenseSimplex(form.F.toarray(), form.g, _equality(form, 0), form.q, form.lower, form.upper)

    def apply(self, form: StandardForm, change: Change) -> bool:
        """Become `form`, of which `change` says what is new; False where that takes a dictionary of its own."""
        before, self.form = self.form, form
        simplex, index = self._simplex, change.index
        if change.what is What.LINEAR:
            simplex.set_costs(form.q)
        elif change.what is What.OFFSET:
            simplex.set_offsets(form.g)
        elif change.what is What.ROWS_ADDED:
            rows = between(form.F, before.m, form.m).toarray()
            simplex.add_rows(rows, form.g[before.m :], _equality(form, before.m))
        elif change.what is What.COLUMNS_ADDED:
            new = slice(before.n, form.n)
            simplex.add_columns(form.F[:, new].toarray(), form.q[new], form.lower[new], form.upper[new])
            simplex.set_costs(form.q)
        elif change.what is What.ROWS_REPLACED and index is not None and form.m == before.m:
            simplex.replace_rows(index, form.F[index].toarray(), form.g[index], _equality(form, 0)[index])
        elif change.what is What.ROWS_DELETED and index is not None:
            simplex.delete_rows(index)
        else:
            return False
        return True

    def solve(self, time_limit: float | None) -> Vertex:
        """Go on from the last basis."""
        return self._simplex.solve(time_limit)


def _equality(form: StandardForm, start: int) -> npt.NDArray[np.bool_]:
    """Which rows, from `start` on, are equations."""
    equality = np.zeros(form.m - start, dtype=bool)
    for block in reversed(form.rows):
        if block.stop <= start:
            break
        if block.cone is ZERO:
            equality[max(block.start - start, 0) : block.stop - start] = True
    return equality
