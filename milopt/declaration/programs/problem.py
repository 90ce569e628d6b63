"""A problem: what `solve` takes. A program is one, and a master with oracles is one.

Code that deals with both asks the problem for its parts, its scheme and its scores, and never for its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from milopt.arrays import Points
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import Oracle
    from milopt.outcome.result import Result


class Problem(ABC):
    """What a scheme solves."""

    oracles: tuple[Oracle, ...] = ()
    """The programs that find violated rows; empty if all rows are declared."""
    bags: Bags | None = None
    """The bags of the training columns, if it has oracles."""
    offset: Callable[[npt.NDArray[np.float64]], float] | None = None
    """For an ensemble, the function that shifts every score, from the scores of the training bags without it."""
    nu: float | None = None
    """For an ensemble with a soft margin, the share of bags that may fall short of it."""
    remarks: tuple[str, ...] = ()
    """Sentences for reports about how the problem came about."""

    @property
    @abstractmethod
    def default_scheme(self) -> str:
        """The name of the scheme that solves it if none is asked for."""

    @property
    @abstractmethod
    def core(self) -> Program:
        """The program whose values and multipliers a result has."""

    @property
    @abstractmethod
    def parts(self) -> dict[str, Program]:
        """The programs that it consists of by the names of the parts, the first one first to be looked at."""

    @property
    @abstractmethod
    def scores_bags(self) -> bool:
        """Whether bags have a score."""

    @property
    @abstractmethod
    def scores_instances(self) -> bool:
        """Whether single instances have a score."""

    @abstractmethod
    def bag_scores(self, result: Result, bags: Bags) -> npt.NDArray[np.float64]:
        """Return one score per bag, with the solution in a result."""

    @abstractmethod
    def instance_scores(self, result: Result, points: Points) -> npt.NDArray[np.float64]:
        """Return one score per instance, with the solution in a result."""
