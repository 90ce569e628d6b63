"""An engine holds a program inside a solver between solves, and is updated when the program changes.

The program is in flat form (`StandardForm`: vectors and matrices over all columns and rows).

`update(form, change)` gets the whole new form and a description of the difference from the old one. A persistent engine
applies only the difference; the base class builds the solver's model again and counts it in `rebuilds`.
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


class ChangeKind(Enum):
    """Part of a form that a change affects."""

    LINEAR = "q and the constant"
    OFFSET = "g"
    BOUNDS = "bounds of some columns"
    ROWS_ADDED = "rows appended at the end"
    ROWS_REPLACED = "coefficients and offsets of some rows"
    ROWS_DELETED = "some rows deleted"
    COLUMNS_ADDED = "columns appended at the end"
    EVERYTHING = "everything"


@dataclass(frozen=True)
class Change:
    """Difference between the old and the new form in `Engine.update`.

    Parameters
    ----------
    kind : ChangeKind
        Part of the form that has changed.
    index : ndarray of int, optional
        Affected rows or columns: those of the old form for deleted rows, otherwise those of the new form. For
        ``ChangeKind.EVERYTHING`` it may give the new position of every old column, for a warm start.
    """

    kind: ChangeKind
    index: npt.NDArray[np.intp] | None = None


class Engine(ABC):
    """A flat program inside a solver.

    The base class builds the solver's model again after every change. A persistent engine overrides `update`.

    Parameters
    ----------
    form : StandardForm
        Flat program to solve.
    options : Options
        Options of every solve.

    Attributes
    ----------
    form : StandardForm
        Current form.
    options : Options
        Options of every solve.
    rebuilds : int
        Number of times the solver's own model was built again.

    Examples
    --------
    An engine that knows the answer of one program:

    >>> import numpy as np
    >>> from milopt import Termination
    >>> from milopt.compilation.answer import Answer
    >>> from milopt.solving.engine import Engine
    >>> class OriginEngine(Engine):
    ...     def solve(self, time_limit):
    ...         x, z = np.zeros(self.form.n), np.zeros(self.form.m)
    ...         return Answer(Termination.OPTIMAL, "origin", x, z)
    """

    def __init__(self, form: StandardForm, options: Options) -> None:
        self.form = form
        self.options = options
        self.rebuilds = 0
        """Number of times the solver's own model was built again after the first time."""

    def update(self, form: StandardForm, change: Change) -> None:
        """Replace the current form by a new one.

        Parameters
        ----------
        form : StandardForm
            New form.
        change : Change
            Difference between the old and the new form.
        """
        self.form = form
        self.rebuilds += 1

    @abstractmethod
    def solve(self, time_limit: float | None) -> Answer:
        """Solve the current form.

        Parameters
        ----------
        time_limit : float or None
            Time limit in seconds; None for no limit.

        Returns
        -------
        Answer
            Status, point and multipliers as the solver reports them. milopt certifies them afterwards.
        """

    def close(self) -> None:  # noqa: B027  # not abstract: most engines hold nothing
        """Release the resources of the solver."""
