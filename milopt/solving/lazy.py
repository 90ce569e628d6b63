"""Lazy epigraph rows: give the solver only some rows of each maximum, and add rows that a solution violates.

This layer lies between a session and the engine of any solver. Rows outside maxima are always active. Of each maximum
(a group of rows) one row is active at first; after each solve the most violated rows of each group are added, until
none is violated.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.compilation.evaluation_form import EvaluationForm

MIN_ROWS_PER_MAXIMUM = 4
"""Average number of rows per maximum above which adding rows lazily saves time."""

MAX_ADDED_ROWS_PER_MAXIMUM = 2
"""Violated rows added per maximum in the first rounds: with two, fewer rounds are needed, at hardly more rows."""
ROUNDS_PER_DOUBLING = 4
"""Number of rounds after which the number of added rows is doubled."""


class LazyRows:
    """The active rows of a form: the rows that the engine has, in the order in which it has them.

    Parameters
    ----------
    form : EvaluationForm
        Form with all rows.
    wanted : bool or None
        Whether rows are lazy; None decides by the number of rows.
    max_eager_rows : int
        Number of epigraph rows up to which all rows are active from the start, if `wanted` is None.
    """

    def __init__(self, form: EvaluationForm, wanted: bool | None, max_eager_rows: int) -> None:
        rows = int((form.maximum_of_row >= 0).sum())
        groups = int(form.maximum_of_row.max(initial=-1)) + 1
        worthwhile = rows > max_eager_rows and rows > MIN_ROWS_PER_MAXIMUM * groups
        self.rounds = 0
        self.is_lazy = rows > groups and (worthwhile if wanted is None else wanted)
        self.active: Index = self._initial_rows(form) if self.is_lazy else np.arange(form.rows.count)

    def find_violated_rows(self, form: EvaluationForm, rows: Vector, tolerance: float) -> Index:
        """Return, for each maximum, its most violated rows that are not active yet; none if rows are not lazy.

        `rows`: value of every row of the form; a row is violated if its value is below -`tolerance`. At most
        `MAX_ADDED_ROWS_PER_MAXIMUM` rows per maximum are returned; the number doubles every `ROUNDS_PER_DOUBLING`
        rounds.
        """
        if not self.is_lazy:
            return np.zeros(0, dtype=np.intp)
        missing = np.ones(form.rows.count, dtype=bool)
        missing[self.active] = False
        wrong = np.flatnonzero(missing & (form.maximum_of_row >= 0) & (rows < -tolerance))
        order = wrong[np.lexsort((rows[wrong], form.maximum_of_row[wrong]))]
        _, first, size = np.unique(form.maximum_of_row[order], return_index=True, return_counts=True)
        place = np.arange(order.size) - np.repeat(first, size)
        return np.asarray(
            order[place < MAX_ADDED_ROWS_PER_MAXIMUM << (self.rounds // ROUNDS_PER_DOUBLING)], dtype=np.intp
        )

    def activate(self, index: Index) -> None:
        """Activate further rows, which the engine appends to the rows that it has."""
        self.rounds += 1
        self.active = np.concatenate([self.active, index])

    def activate_all(self, form: EvaluationForm) -> None:
        """Activate all rows, and stop adding rows lazily."""
        self.is_lazy = False
        self.active = np.arange(form.rows.count)

    @staticmethod
    def pattern_sample(form: EvaluationForm) -> Index:
        """Return a sample of rows with the pattern of all rows: those outside maxima, and two of each maximum.

        One row per maximum would hide that there is a maximum.
        """
        order = np.argsort(form.maximum_of_row, kind="stable")
        _, first, size = np.unique(form.maximum_of_row[order], return_index=True, return_counts=True)
        place = np.arange(order.size) - np.repeat(first, size)
        return np.sort(order[(place < 2) | (form.maximum_of_row[order] < 0)])

    @staticmethod
    def _initial_rows(form: EvaluationForm) -> Index:
        """Return the rows outside maxima and the first row of each maximum."""
        _, first = np.unique(form.maximum_of_row, return_index=True)
        keep = form.maximum_of_row < 0
        keep[first] = True
        return np.flatnonzero(keep)
