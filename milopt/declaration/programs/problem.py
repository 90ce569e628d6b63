"""Base class of problems, the argument of `solve`: a program, or a semi-infinite program (a master with oracles).

Code for both kinds uses the parts, the scheme and the scores of a problem, and does not test its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from milopt.arrays import Points
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import Oracle
    from milopt.outcome.result import Result


class Redeclaration(Protocol):
    """Declaration of a problem that can be repeated with other values of its hyper-parameters."""

    @property
    def values(self) -> Mapping[str, float]:
        """Values of the hyper-parameters that are numbers, by name."""

    @property
    def instance_count(self) -> int:
        """Number of training instances."""

    def declare(self, values: Mapping[str, float]) -> Problem:
        """Return the problem with other values of hyper-parameters."""


class Problem(ABC):
    """Base class of problems that a scheme can solve."""

    oracles: tuple[Oracle, ...] = ()
    """Oracles (programs that find violated rows); empty if all rows are declared."""
    bags: Bags | None = None
    """Training bags, if the problem has oracles; a column, which an oracle finds, has one entry per bag."""
    offset: Callable[[npt.NDArray[np.float64]], float] | None = None
    """For an ensemble: function from the scores of the training bags to the constant that is added to every score."""
    nu: float | None = None
    """For an ensemble with a soft margin: fraction of bags that may violate the margin."""
    redeclaration: Redeclaration | None = None
    """How the problem was declared by a model; None if it was declared directly."""
    remarks: tuple[str, ...] = ()
    """Remarks about the declaration of the problem, which reports print."""

    @property
    @abstractmethod
    def default_scheme(self) -> str:
        """Name of the scheme that is used if none is given."""

    @property
    @abstractmethod
    def core(self) -> Program:
        """Program whose values and multipliers are in a result: the program itself, or the master."""

    @property
    @abstractmethod
    def parts(self) -> dict[str, Program]:
        """Programs of which the problem consists, by name; the first one is shown by default."""

    @property
    @abstractmethod
    def scores_bags(self) -> bool:
        """Whether the problem declares a score of bags."""

    @property
    @abstractmethod
    def scores_instances(self) -> bool:
        """Whether the problem declares a score of single instances."""

    @abstractmethod
    def bag_scores(self, result: Result, bags: Bags) -> npt.NDArray[np.float64]:
        """Return one score per bag at the solution of a result."""

    @abstractmethod
    def instance_scores(self, result: Result, points: Points) -> npt.NDArray[np.float64]:
        """Return one score per instance at the solution of a result."""
