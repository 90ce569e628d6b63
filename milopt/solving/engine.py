"""A solver's side of a session: one flat program that stays alive while milopt changes it and solves it again.

`update(form, change)` hands over the whole new form and says what differs from the old one, so that a persistent engine
applies just that, and any other starts afresh (and says how often it did: `rebuilds`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import StandardForm
from milopt.solving.options import Options


class What(Enum):
    """The part of a form that a change touched."""

    LINEAR = "q and the constant"
    OFFSET = "g"
    BOUNDS = "bounds of some columns"
    ROWS_ADDED = "rows appended at the end"
    ROWS_REPLACED = "coefficients and offsets of some rows"
    ROWS_DELETED = "some rows gone"
    COLUMNS_ADDED = "columns appended at the end"
    EVERYTHING = "everything"


@dataclass(frozen=True)
class Change:
    """What `update` must do; `index` names rows or columns, for deleted rows of the old form, else of the new one.

    Where everything changed, `index` may still say where each old column stands now, for a start from the last point.
    """

    what: What
    index: npt.NDArray[np.intp] | None = None


class Engine(ABC):
    """A flat program inside a solver. The base rebuilds on every change; a persistent engine overrides `update`."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        self.form = form
        self.options = options
        self.rebuilds = 0
        """How often the solver's own model was built again after the first time."""

    def update(self, form: StandardForm, change: Change) -> None:
        """Take the new form; `change` says what is different."""
        self.form = form
        self.rebuilds += 1

    @abstractmethod
    def solve(self, time_limit: float | None) -> Answer:
        """Solve the current form within so many seconds."""

    def close(self) -> None:  # noqa: B027  # not abstract: most engines hold nothing
        """Give back what the solver holds."""
