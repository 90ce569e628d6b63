"""Lazy epigraph rows: hand a solver only the rows of each maximum that matter, and add those a solution violates.

A layer between a session and any solver's engine. Rows outside maxima are always there; of each maximum (a group of
rows) one row starts, and after each solve the most violated rows of each group join, until none is violated.
"""

from __future__ import annotations

import numpy as np

from milopt.arrays import Index, Vector
from milopt.compilation.evaluation_form import EvaluationForm

WORTHWHILE = 4
"""Rows a maximum, on average, from which laziness pays."""

AT_ONCE = 2
"""Violated rows of one maximum that join together: fewer rounds than with one, and hardly more rows."""
PATIENCE = 4
"""Rounds after which twice as many join together."""


class LazyRows:
    """Which rows of a form the engine has, in the engine's order."""

    def __init__(self, form: EvaluationForm, wanted: bool | None, whole_up_to: int) -> None:
        rows = int((form.group >= 0).sum())
        groups = int(form.group.max(initial=-1)) + 1
        worthwhile = rows > whole_up_to and rows > WORTHWHILE * groups
        self.rounds = 0
        self.lazy = rows > groups and (worthwhile if wanted is None else wanted)
        self.active: Index = self._first(form) if self.lazy else np.arange(form.rows.count)

    def violated(self, form: EvaluationForm, rows: Vector, tolerance: float) -> Index:
        """Of each maximum, its most violated rows that the engine does not have yet."""
        if not self.lazy:
            return np.zeros(0, dtype=np.intp)
        missing = np.ones(form.rows.count, dtype=bool)
        missing[self.active] = False
        wrong = np.flatnonzero(missing & (form.group >= 0) & (rows < -tolerance))
        order = wrong[np.lexsort((rows[wrong], form.group[wrong]))]
        _, first, size = np.unique(form.group[order], return_index=True, return_counts=True)
        place = np.arange(order.size) - np.repeat(first, size)
        return np.asarray(order[place < AT_ONCE << (self.rounds // PATIENCE)], dtype=np.intp)

    def add(self, index: Index) -> None:
        """The engine gets these rows too."""
        self.rounds += 1
        self.active = np.concatenate([self.active, index])

    def everything(self, form: EvaluationForm) -> None:
        """Give up: hand over all rows."""
        self.lazy = False
        self.active = np.arange(form.rows.count)

    @staticmethod
    def sample(form: EvaluationForm) -> Index:
        """Rows with the pattern of the whole: those outside maxima, and two of each maximum (one would hide it)."""
        order = np.argsort(form.group, kind="stable")
        _, first, size = np.unique(form.group[order], return_index=True, return_counts=True)
        place = np.arange(order.size) - np.repeat(first, size)
        return np.sort(order[(place < 2) | (form.group[order] < 0)])

    @staticmethod
    def _first(form: EvaluationForm) -> Index:
        """Rows always needed, and the first row of each maximum."""
        _, first = np.unique(form.group, return_index=True)
        keep = form.group < 0
        keep[first] = True
        return np.flatnonzero(keep)
